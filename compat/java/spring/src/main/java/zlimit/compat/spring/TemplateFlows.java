package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongFunction;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ZSetOperations;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The first document's four calls on StringRedisTemplate, in milliseconds. The count is taken before the hit is added,
 * and a refused hit leaves no trace.
 */
final class TemplateFlows {
    private static final long PERIOD_MS = 60_000;
    private static final int THRESHOLD = 3;

    private static final List<Long> INSTANTS = Instants.afterBase(
            // Three pass, two of them in one millisecond; the fourth does not.
            0, 0, 1, 2,
            // 1 ms before the first two leave, and the moment they leave.
            59_999, 60_000,
            // The third leaves; its place is taken, and there is no other.
            60_001, 60_002, 60_002,
            // The clock stepping back, and far ahead.
            30_000, 200_000);

    private TemplateFlows() {
    }

    /** Each hit is a member of its own. */
    static Flow unique(RedisConnectionFactory connections) {
        return new Flow("template-unique", INSTANTS, (key, instants, out) -> {
            int[] serial = {0};
            body(connections, now -> now + "-" + ++serial[0]).run(key, instants, out);
        });
    }

    /** Each hit is the same member, as the document's placeholder makes it: hits merge, and nothing is ever refused. */
    static Flow constant(RedisConnectionFactory connections) {
        // Not ASCII, as the document's is not.
        return new Flow("template-constant", INSTANTS, body(connections, now -> "请求标识"));
    }

    private static Flow.Body body(RedisConnectionFactory connections, LongFunction<String> member) {
        return (key, instants, out) -> {
            StringRedisTemplate template = new StringRedisTemplate(connections);
            ZSetOperations<String, String> hits = template.opsForZSet();
            template.delete(key);
            for (long now : instants) {
                hits.removeRangeByScore(key, 0, now - PERIOD_MS);
                Long count = hits.zCard(key);
                boolean allowed = count < THRESHOLD;
                if (allowed) {
                    hits.add(key, member.apply(now), now);
                    template.expire(key, PERIOD_MS, TimeUnit.MILLISECONDS);
                }
                out.hit(now, allowed, field("count", count), field("ttl", template.getExpire(key)));
            }
        };
    }
}
