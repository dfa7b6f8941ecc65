package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.StringRedisTemplate;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The fifth document's fixed windows: one counter per 5 s, expiring 1 s after its window would end had it just begun.
 * Twice the limit fits around a boundary, which the document names as its weakness.
 */
final class RollingFlow {
    private static final long WINDOW_MS = 5_000;
    private static final long EXPIRE_SECONDS = 6;
    private static final long MAX = 10;

    private static final List<Long> INSTANTS = Instants.afterBase(
            // Ten pass, spread over the window or in one millisecond; the next two do not.
            0, 1, 1, 1, 1_000, 2_000, 3_000, 4_000, 4_900, 4_998, 4_999, 4_999,
            // The next window begins empty.
            5_000, 5_000, 5_001, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100, 5_100,
            // The clock stepping back finds the full window; far ahead is an empty one.
            2_500, 60_000);

    private RollingFlow() {
    }

    static Flow rolling(RedisConnectionFactory connections) {
        return new Flow("rolling", INSTANTS, (key, instants, out) -> {
            RedisTemplate<String, String> template = new StringRedisTemplate(connections);
            for (long now : instants) {
                template.delete(windowKey(key, now));
            }
            for (long now : instants) {
                String windowKey = windowKey(key, now);
                Long count = template.opsForValue().increment(windowKey, 1);
                if (count == 1) {
                    template.expire(windowKey, EXPIRE_SECONDS, TimeUnit.SECONDS);
                }
                out.hit(now, count <= MAX, field("count", count), field("ttl", template.getExpire(windowKey)));
            }
        });
    }

    private static String windowKey(String key, long now) {
        return key + ':' + Math.floorDiv(now, WINDOW_MS);
    }
}
