package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The first document's script, in milliseconds, answering with strings. Spring asks by digest and sends the text when the
 * server does not know it. The script sets no expiry, so the key has none.
 */
final class ScriptFlow {
    private static final long PERIOD_MS = 60_000;
    private static final int THRESHOLD = 3;

    private static final String LUA = """
            local now = tonumber(ARGV[1])
            local window = tonumber(ARGV[2])
            local threshold = tonumber(ARGV[3])
            redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
            local used = redis.call('ZCARD', KEYS[1])
            if used >= threshold then
              return tostring(0)
            end
            redis.call('ZADD', KEYS[1], tostring(now), now)
            return tostring(1)
            """;

    private static final List<Long> INSTANTS = Instants.afterBase(
            // The same millisecond is the same member; three members pass, the fourth does not.
            0, 0, 1, 2, 3,
            // 1 ms before the first leaves, the moment it leaves, the next one's moment.
            59_999, 60_000, 60_000, 60_001,
            // The clock stepping back, and far ahead.
            30_000, 200_000);

    private ScriptFlow() {
    }

    static Flow millis(RedisConnectionFactory connections, SentCommands sent) {
        return new Flow("script-millis", INSTANTS, (key, instants, out) -> {
            StringRedisTemplate template = new StringRedisTemplate(connections);
            template.delete(key);
            template.execute((RedisCallback<Void>) connection -> {
                connection.scriptingCommands().scriptFlush();
                return null;
            });
            DefaultRedisScript<String> script = new DefaultRedisScript<>(LUA, String.class);
            for (long now : instants) {
                sent.take();
                String reply = template.execute(script, List.of(key),
                        String.valueOf(now), String.valueOf(PERIOD_MS), String.valueOf(THRESHOLD));
                String via = sent.take();
                out.hit(now, "1".equals(reply), field("reply", reply),
                        field("count", template.opsForZSet().zCard(key)), field("ttl", template.getExpire(key)),
                        field("via", via));
            }
        });
    }
}
