package zlimit.compat.jedis;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The fourth document: the hit is written first and counted afterwards, so a refused hit stays in the window and keeps
 * later hits out. Scores and members are milliseconds; hits of one millisecond are one member, which lets more through
 * than the limit.
 */
final class PipelineFlows {
    private static final int PERIOD_SECONDS = 60;
    private static final int MAX = 5;

    /** Where the count stands among the four replies of EXEC. */
    private static final int ZCARD_REPLY = 2;

    private static final String LUA = """
            local now = tonumber(ARGV[1])
            local period = tonumber(ARGV[2])
            local max = tonumber(ARGV[3])
            redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1])
            redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - period * 1000)
            local count = redis.call('ZCARD', KEYS[1])
            redis.call('EXPIRE', KEYS[1], ARGV[2])
            return {count <= max and 1 or 0, count}
            """;

    private PipelineFlows() {
    }

    /** Every hit has a millisecond of its own. */
    static Flow distinct(Target target) {
        return new Flow("pipeline-multi", distinctInstants(), (key, instants, out) -> {
            target.commands().del(key);
            for (long now : instants) {
                long count = addAndCount(target, key, now);
                out.hit(now, count <= MAX, field("count", count), field("ttl", target.commands().ttl(key)));
            }
        });
    }

    /** Two hits share each millisecond: ten pass where five should. */
    static Flow colliding(Target target) {
        List<Long> instants = Instants.afterBase(
                0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6,
                // The upper ends of both windows, where merged hits leave together.
                60_003, 60_003, 60_004, 60_006);
        return new Flow("pipeline-collision", instants, distinct(target).body());
    }

    /** The same steps as one script. */
    static Flow lua(Target target) {
        return new Flow("pipeline-lua", distinctInstants(), (key, instants, out) -> {
            target.commands().del(key);
            CachedScript script = new CachedScript(target, LUA);
            for (long now : instants) {
                CachedScript.Call call = script.call(
                        key, String.valueOf(now), String.valueOf(PERIOD_SECONDS), String.valueOf(MAX));
                List<?> reply = (List<?>) call.reply();
                out.hit(now, reply.get(0).equals(1L),
                        field("count", reply.get(1)), field("ttl", target.commands().ttl(key)), field("via", call.via()));
            }
        });
    }

    private static long addAndCount(Target target, String key, long now) {
        List<?> replies = target.multi(key, queue -> {
            queue.zadd(key, now, String.valueOf(now));
            queue.zremrangeByScore(key, 0, now - PERIOD_SECONDS * 1000L);
            queue.zcard(key);
            queue.expire(key, PERIOD_SECONDS);
        });
        return (Long) replies.get(ZCARD_REPLY);
    }

    private static List<Long> distinctInstants() {
        return Instants.afterBase(
                // Five pass; the refused sixth stays in the window.
                0, 1, 2, 3, 4, 5,
                // Around the edge: 1 ms early nothing leaves, at 60 s exactly the first hit does.
                59_999, 60_000,
                // The rest of the first burst leaves together.
                60_005, 60_006, 60_007, 60_008,
                // The same millisecond again, and the clock stepping back.
                60_008, 30_000);
    }
}
