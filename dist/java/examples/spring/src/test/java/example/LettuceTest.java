package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisClient;
import io.lettuce.core.codec.StringCodec;
import io.zlimit.Decision;
import io.zlimit.Server;
import io.zlimit.junit.ZlimitServer;
import io.zlimit.lettuce.LettuceRateLimits;
import io.zlimit.spring.RateLimits;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/** RL.ALLOW through Spring Boot's default client, and through that client without Spring. */
@SpringBootTest
@ZlimitServer(frozen = true)
class LettuceTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    @Autowired
    private RedisConnectionFactory factory;

    @Autowired
    private StringRedisTemplate template;

    static boolean allow(RedisConnectionFactory factory, String user) {
        return RateLimits.allow(factory, "user:" + user, 100, Duration.ofMinutes(1), 1).ok();
    }

    @Test
    void throughSpringData(Server server) {
        assertInstanceOf(LettuceConnectionFactory.class, factory);
        for (int i = 0; i <= 100; i++) {
            assertEquals(i < 100, allow(factory, "42"));
        }
        Decision denied = RateLimits.allow(factory, "user:42", 100, MINUTE, 1);
        assertEquals(MINUTE, denied.retryAfter());
        server.clock().advance(MINUTE);
        assertTrue(allow(factory, "42"));
    }

    @Test
    void throughSpringDataOverJedis(Server server) {
        var jedis = new JedisConnectionFactory(new RedisStandaloneConfiguration(server.host(), server.port()));
        jedis.start();
        try {
            for (int i = 0; i <= 100; i++) {
                assertEquals(i < 100, allow(jedis, "42"));
            }
        } finally {
            jedis.destroy();
        }
    }

    /** Spring expects bytes from a command that it does not know. */
    @Test
    void withoutTypeTheReplyIsLostAfterTheUnitIsTaken(Server server) {
        RedisCallback<Object> call = c -> c.execute("RL.ALLOW", "k".getBytes(), "1".getBytes(), "1m".getBytes());
        Exception thrown = assertThrows(Exception.class, () -> template.execute(call));
        assertTrue(causes(thrown).contains("ByteArrayOutput does not support"), causes(thrown));
        assertFalse(server.allow("k", 1, MINUTE).ok());
    }

    private static String causes(Throwable thrown) {
        return thrown == null ? "" : thrown + "\n" + causes(thrown.getCause());
    }

    @Test
    void throughLettuce(Server server) {
        try (RedisClient client = RedisClient.create(server.uri().toString())) {
            var commands = client.connect().async();
            var first = LettuceRateLimits.allow(commands, StringCodec.UTF8, "user:42", 3, MINUTE, 3);
            var second = LettuceRateLimits.allow(commands, StringCodec.UTF8, "user:42", 3, MINUTE, 1);
            assertEquals(3, first.toCompletableFuture().join().allowed());
            assertEquals(MINUTE, second.toCompletableFuture().join().retryAfter());
        }
    }
}
