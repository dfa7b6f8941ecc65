package zlimit.compat.libraries;

import java.time.Duration;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;

/** Redisson's RRateLimiter. */
final class RedissonLimiter implements Limiter {
    private final RedissonClient redisson;

    RedissonLimiter(String host, int port, boolean cluster) {
        Config config = new Config();
        config.setUseScriptCache(true);
        String address = "redis://" + host + ":" + port;
        BaseConfig<?> server = cluster ? config.useClusterServers().addNodeAddress(address)
                : config.useSingleServer().setAddress(address);
        server.setTimeout(Main.PATIENCE_MS) // a script whose answer is late would be run again
                .setRetryAttempts(100); // a thousand callers share its connections
        redisson = Redisson.create(config);
    }

    @Override
    public Hit of(int limit, int seconds) {
        return key -> {
            RRateLimiter limiter = redisson.getRateLimiter(key);
            limiter.trySetRate(RateType.OVERALL, limit, Duration.ofSeconds(seconds));
            return Answer.of(limiter.tryAcquire(), "remaining", limiter.availablePermits());
        };
    }

    @Override
    public boolean reconnects() {
        return true;
    }

    @Override
    public void close() {
        redisson.shutdown();
    }
}
