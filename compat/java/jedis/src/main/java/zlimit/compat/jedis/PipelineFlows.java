package zlimit.compat.jedis;

import static zlimit.compat.runner.Transcript.field;

import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.Response;
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
    static Flow distinct(Jedis jedis) {
        return new Flow("pipeline-multi", distinctInstants(), (key, instants, out) -> {
            jedis.del(key);
            for (long now : instants) {
                long count = addAndCount(jedis, key, now);
                out.hit(now, count <= MAX, field("count", count), field("ttl", jedis.ttl(key)));
            }
        });
    }

    /** Two hits share each millisecond: ten pass where five should. */
    static Flow colliding(Jedis jedis) {
        List<Long> instants = Instants.afterBase(
                0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 6,
                // The upper ends of both windows, where merged hits leave together.
                60_003, 60_003, 60_004, 60_006);
        return new Flow("pipeline-collision", instants, distinct(jedis).body());
    }

    /** The same steps as one script. */
    static Flow lua(Jedis jedis) {
        return new Flow("pipeline-lua", distinctInstants(), (key, instants, out) -> {
            jedis.del(key);
            CachedScript script = new CachedScript(jedis, LUA);
            for (long now : instants) {
                CachedScript.Call call = script.call(
                        key, String.valueOf(now), String.valueOf(PERIOD_SECONDS), String.valueOf(MAX));
                List<?> reply = (List<?>) call.reply();
                out.hit(now, reply.get(0).equals(1L),
                        field("count", reply.get(1)), field("ttl", jedis.ttl(key)), field("via", call.via()));
            }
        });
    }

    /**
     * Jedis took MULTI and EXEC off its Pipeline, so both are sent by name; the six commands still leave in one write.
     * Inside MULTI the single replies say QUEUED only: the count is in EXEC's reply.
     */
    private static long addAndCount(Jedis jedis, String key, long now) {
        Response<Object> exec;
        try (Pipeline pipeline = jedis.pipelined()) {
            pipeline.sendCommand(Command.MULTI, new String[0]);
            pipeline.zadd(key, now, String.valueOf(now));
            pipeline.zremrangeByScore(key, 0, now - PERIOD_SECONDS * 1000L);
            pipeline.zcard(key);
            pipeline.expire(key, PERIOD_SECONDS);
            exec = pipeline.sendCommand(Command.EXEC, new String[0]);
        }
        return (Long) ((List<?>) exec.get()).get(ZCARD_REPLY);
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
