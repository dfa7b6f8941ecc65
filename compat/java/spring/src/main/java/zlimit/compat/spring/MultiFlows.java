package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.describe;
import static zlimit.compat.runner.Transcript.field;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.BoundZSetOperations;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;

/**
 * The third document's counter: read the count, and when there is room, clear, add and expire between MULTI and EXEC.
 *
 * <p>Hits leave only when another is let in, so a full counter stays full until its key expires. Each step is tried and
 * shown on its own; the sequence, and which failure ends it, are the document's.
 */
final class MultiFlows {
    private static final int WINDOW_SECONDS = 60;
    private static final long MAX_COUNT = 3;

    private static final List<Long> INSTANTS = Instants.afterBase(
            0, 1,
            // The edge takes the first hit out, 1 ms later the second goes; both by way of a hit that is let in.
            60_000, 60_001, 60_001,
            // Full: from here on nothing is let in, not even far ahead.
            60_002, 120_000, 200_000,
            // The clock stepping back.
            30_000);

    private MultiFlows() {
    }

    /** As the document writes it: outside of a SessionCallback each call may take a connection of its own. */
    static Flow asWritten(RedisConnectionFactory connections, SentCommands sent) {
        return new Flow("multi-as-written", INSTANTS, body(connections, sent, MultiFlows::increment));
    }

    /** The same calls inside of a SessionCallback, which holds them to one connection. */
    static Flow session(RedisConnectionFactory connections, SentCommands sent) {
        return new Flow("multi-session", INSTANTS, body(connections, sent, (template, hit) ->
                template.execute(new SessionCallback<Steps>() {
                    // Spring declares the callback for any key type; the template it hands in is the one it was given to.
                    @Override
                    @SuppressWarnings("unchecked")
                    public <K, V> Steps execute(RedisOperations<K, V> operations) {
                        return increment((RedisTemplate<String, String>) operations, hit);
                    }
                })));
    }

    private static Flow.Body body(RedisConnectionFactory connections, SentCommands sent, Increment increment) {
        return (key, instants, out) -> {
            RedisTemplate<String, String> template = new StringRedisTemplate(connections);
            template.delete(key);
            int serial = 0;
            for (long now : instants) {
                sent.take();
                List<String> fields = new ArrayList<>();
                Long count = template.boundZSetOps(key).zCard();
                fields.add(field("count", count));
                boolean allowed = count < MAX_COUNT;
                String decision = allowed ? "allowed" : "denied";
                if (allowed) {
                    Steps steps = increment.run(template, new Hit(key, now, now + "_" + serial++));
                    fields.addAll(steps.fields);
                    // A failing discard leaves the document's method by an exception: its caller gets no answer.
                    decision = steps.thrown ? "threw" : decision;
                }
                fields.add(field("ttl", template.getExpire(key)));
                fields.add(field("members", template.boundZSetOps(key).zCard()));
                fields.add(field("sent", sent.take()));
                out.hit(now, decision, fields.toArray(String[]::new));
            }
        };
    }

    private static Steps increment(RedisTemplate<String, String> template, Hit hit) {
        Steps steps = new Steps();
        boolean ran = steps.attempt("multi", () -> {
            template.multi();
            return "done";
        });
        if (ran) {
            BoundZSetOperations<String, String> bound = template.boundZSetOps(hit.key);
            ran = steps.attempt("removed", () -> bound.removeRangeByScore(0, hit.now - WINDOW_SECONDS * 1000L))
                    && steps.attempt("added", () -> bound.add(hit.member, hit.now))
                    && steps.attempt("expire", () -> bound.expire(WINDOW_SECONDS, TimeUnit.SECONDS))
                    && steps.attempt("exec", template::exec);
        }
        if (!ran) {
            steps.thrown = !steps.attempt("discard", () -> {
                template.discard();
                return "done";
            });
        }
        return steps;
    }

    private interface Increment {
        Steps run(RedisTemplate<String, String> template, Hit hit);
    }

    private record Hit(String key, long now, String member) {
    }

    /** What became of each step, in order. */
    private static final class Steps {
        final List<String> fields = new ArrayList<>();
        boolean thrown;

        /** Returns whether the step went without an exception. */
        boolean attempt(String name, Supplier<Object> step) {
            try {
                fields.add(field(name, step.get()));
                return true;
            } catch (RuntimeException e) {
                fields.add(field(name, describe(e)));
                return false;
            }
        }
    }
}
