package io.zlimit.spring;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.zlimit.Decision;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;

/**
 * RL.ALLOW through Spring Data, over Lettuce or Jedis.
 *
 * <p>{@code RedisTemplate.execute(c -> c.execute("RL.ALLOW", ...))} throws over Lettuce: Spring expects bytes from a
 * command that it does not know, and the reply is a list of integers. The server has counted the call by then.
 */
public final class RateLimits {
    private RateLimits() {}

    /** Asks for units of a key, on a connection outside of transactions, in which no reply would come. */
    public static Decision allow(
            RedisConnectionFactory factory, String key, long limit, Duration window, long cost) {
        byte[][] args = Stream.of(key, Long.toString(limit), Long.toString(window.toMillis()), "COST", Long.toString(cost))
                .map(s -> s.getBytes(StandardCharsets.UTF_8))
                .toArray(byte[][]::new);
        try (RedisConnection connection = factory.getConnection()) {
            Object reply = connection instanceof LettuceConnection lettuce
                    ? lettuce.execute("RL.ALLOW", new NestedMultiOutput<>(ByteArrayCodec.INSTANCE), args)
                    : connection.execute("RL.ALLOW", args);
            return Decision.of((List<?>) reply);
        }
    }
}
