package zlimit.compat.libraries;

import io.github.bucket4j.BandwidthBuilder.BandwidthBuilderBuildStage;
import io.github.bucket4j.BandwidthBuilder.BandwidthBuilderRefillStage;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.ConsumptionProbe;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.distributed.serialization.Mapper;
import io.github.bucket4j.redis.jedis.Bucket4jJedis;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;

/** Bucket4j's compare-and-swap buckets, on either client, with the client's clock held. */
final class Bucket4jLimiter implements Limiter {
    private static final ExpirationAfterWriteStrategy EXPIRY =
            ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(Duration.ofSeconds(10));

    private static final TimeMeter CLOCK = new TimeMeter() {
        @Override
        public long currentTimeNanos() {
            return TimeUnit.MILLISECONDS.toNanos(HeldClock.currentTimeMillis());
        }

        @Override
        public boolean isWallClockBased() {
            return true;
        }
    };

    /** How a bucket is filled again: bit by bit, or all at once at the window's end. */
    interface Refill {
        BandwidthBuilderBuildStage apply(BandwidthBuilderRefillStage bucket, long tokens, Duration window);
    }

    private final ProxyManager<String> proxies;
    private final AutoCloseable client;
    private final Refill refill;

    private Bucket4jLimiter(ProxyManager<String> proxies, AutoCloseable client, Refill refill) {
        this.proxies = proxies;
        this.client = client;
        this.refill = refill;
    }

    static Limiter onLettuce(String host, int port, boolean cluster, Refill refill) {
        RedisURI uri = RedisURI.builder().withHost(host).withPort(port)
                .withTimeout(Duration.ofMillis(Main.PATIENCE_MS)).build();
        RedisCodec<String, byte[]> codec = RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE);
        AutoCloseable client;
        Bucket4jLettuce.LettuceBasedProxyManagerBuilder<String> builder;
        if (cluster) {
            RedisClusterClient nodes = RedisClusterClient.create(uri);
            builder = Bucket4jLettuce.casBasedBuilder(nodes.connect(codec));
            client = nodes;
        } else {
            RedisClient server = RedisClient.create(uri);
            builder = Bucket4jLettuce.casBasedBuilder(server.connect(codec));
            client = server;
        }
        ProxyManager<String> proxies = builder
                .expirationAfterWrite(EXPIRY)
                .clientClock(CLOCK)
                .build();
        return new Bucket4jLimiter(proxies, client, refill);
    }

    static Limiter onJedis(String host, int port, Refill refill) {
        GenericObjectPoolConfig<Jedis> config = new GenericObjectPoolConfig<>();
        config.setMaxTotal(64);
        config.setTestOnBorrow(true); // Jedis does not connect again by itself
        JedisPool pool = new JedisPool(config, host, port, Main.PATIENCE_MS);
        ProxyManager<String> proxies = Bucket4jJedis.casBasedBuilder(pool)
                .keyMapper(Mapper.STRING)
                .expirationAfterWrite(EXPIRY)
                .clientClock(CLOCK)
                .build();
        return new Bucket4jLimiter(proxies, pool, refill);
    }

    @Override
    public Hit of(int limit, int seconds) {
        BucketConfiguration configuration = BucketConfiguration.builder()
                .addLimit(bucket -> refill.apply(bucket.capacity(limit), limit, Duration.ofSeconds(seconds)))
                .build();
        return key -> {
            ConsumptionProbe probe = proxies.getProxy(key, () -> configuration).tryConsumeAndReturnRemaining(1);
            return Answer.of(probe.isConsumed(), "remaining", probe.getRemainingTokens(),
                    "retry_ms", TimeUnit.NANOSECONDS.toMillis(probe.getNanosToWaitForRefill()),
                    "reset_ms", TimeUnit.NANOSECONDS.toMillis(probe.getNanosToWaitForReset()));
        };
    }

    @Override
    public void close() throws Exception {
        client.close();
    }
}
