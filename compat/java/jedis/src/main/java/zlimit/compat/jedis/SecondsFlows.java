package zlimit.compat.jedis;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.JedisClusterCRC16;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The fifth document's script: whole seconds as scores and members, so that hits of one second are one member, and keys
 * that outlive the window by a second. The window is the document's 10 s; its limit of 100 could never be reached with
 * at most ten members, so the limit here is 5.
 */
final class SecondsFlows {
    private static final int WINDOW_SECONDS = 10;
    private static final int MAX = 5;

    /** The document's key: whatever a user calls, the braces keep that user's keys in one slot. */
    private static final String TAGGED_KEY = "rate_limit:{user_123}:/api/login";

    // The window reaches EXPIRE by adding to a string, as the document does it: Lua makes it a number.
    private static final String LUA = """
            local oldest = tonumber(ARGV[2]) - tonumber(ARGV[1])
            redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, oldest)
            if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
              return 0
            end
            redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2])
            redis.call('EXPIRE', KEYS[1], ARGV[1] + 1)
            return 1
            """;

    private static final List<Long> INSTANTS = Instants.afterBase(
            // Five hits in two seconds are two members.
            0, 400, 999, 1_000, 1_999,
            // The limit, in members.
            2_000, 3_000, 4_000, 4_999, 5_000,
            // The last millisecond of the window, its edge, and the edge's second again.
            9_999, 10_000, 10_999, 11_000,
            // The clock stepping back, and far ahead.
            6_000, 40_000);

    private SecondsFlows() {
    }

    static Flow plain(Target target) {
        return new Flow("script-seconds", INSTANTS, (key, instants, out) -> {
            target.commands().del(key);
            CachedScript script = new CachedScript(target, LUA);
            for (long now : instants) {
                CachedScript.Call call = hit(script, key, now);
                out.hit(now, call.reply().equals(1L), field("count", target.commands().zcard(key)),
                        field("ttl", target.commands().ttl(key)), field("via", call.via()));
            }
        });
    }

    /**
     * The key asked for on the command line is not used: this flow is about a spelling of the key. {@code slot} is what
     * the server says, {@code expected} what Jedis computes.
     */
    static Flow hashTag(Target target) {
        return new Flow("hash-tag", INSTANTS, (key, instants, out) -> {
            target.commands().del(TAGGED_KEY);
            CachedScript script = new CachedScript(target, LUA);
            String slot = slot(target, TAGGED_KEY);
            for (long now : instants) {
                out.hit(now, hit(script, TAGGED_KEY, now).reply().equals(1L),
                        field("count", target.commands().zcard(TAGGED_KEY)), field("ttl", target.commands().ttl(TAGGED_KEY)),
                        field("slot", slot), field("expected", JedisClusterCRC16.getSlot(TAGGED_KEY)));
            }
        });
    }

    private static CachedScript.Call hit(CachedScript script, String key, long nowMs) {
        long nowSeconds = Math.floorDiv(nowMs, 1000L);
        return script.call(
                key, String.valueOf(WINDOW_SECONDS), String.valueOf(nowSeconds), String.valueOf(MAX));
    }

    /** Redis answers in cluster mode only; its refusal is shown like an answer, for the flow itself needs no cluster. */
    private static String slot(Target target, String key) {
        try {
            return String.valueOf(target.slot(key));
        } catch (JedisDataException e) {
            return e.getMessage();
        }
    }
}
