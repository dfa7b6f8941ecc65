package zlimit.compat.libraries;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;
import zlimit.compat.libraries.Limiter.Answer;
import zlimit.compat.libraries.Limiter.Hit;

/** The scenario every library goes through; compat/libraries/README.md says what its lines mean. */
final class Scenario {
    private static final int LIMIT = 5;
    private static final int LONG = 3600;
    private static final int EDGE_LIMIT = 4;
    private static final int EDGE_WINDOW = 2;
    private static final int CALLERS = 1000;
    private static final int CROWD_LIMIT = 50;

    /** Every limit that is asked for, with its seconds. */
    static final int[][] LIMITS = {{LIMIT, LONG}, {EDGE_LIMIT, EDGE_WINDOW}, {CROWD_LIMIT, LONG}};

    /**
     * How far the clock goes on within the short window before each step, in milliseconds, and how often to call. It is
     * four seconds in all: some limiters know no less than one.
     */
    private static final int[][] EDGE_PLAN = {{0, 5}, {1250, 3}, {1500, 5}, {1250, 0}};

    /** What befalls the server between two calls. */
    private interface Disturbance {
        void strike();
    }

    private final Jedis server;
    private final HeldClock clock;
    private final String key;
    private final Limiter limiter;
    private int printed; // hits are numbered from 1: the libraries take no instants

    Scenario(Jedis server, HeldClock clock, String key, Limiter limiter) {
        this.server = server;
        this.clock = clock;
        this.key = key;
        this.limiter = limiter;
    }

    void run() throws Exception {
        Hit hit = limiter.of(LIMIT, LONG);
        hits(repeat(hit, key + "-over", LIMIT + 3));
        hits(edge(limiter.of(EDGE_LIMIT, EDGE_WINDOW)));
        hits(afterFirst(hit, "flushed", server::scriptFlush));
        hits(afterFirst(hit, "severed", this::sever));
        hits(afterFirst(hit, "emptied", server::flushAll));
        line("broken", broken(hit));
        line("crowd", crowd(limiter.of(CROWD_LIMIT, LONG)));
    }

    private void line(String decision, Map<String, Object> fields) {
        printed++;
        String named = fields.entrySet().stream()
                .map(field -> " " + field.getKey() + "=" + field.getValue())
                .collect(Collectors.joining());
        System.out.println(printed + " " + decision + named);
    }

    private void hits(List<Answer> answers) {
        answers.forEach(answer -> line(answer.allowed() ? "allowed" : "denied", answer.fields()));
    }

    private static List<Answer> repeat(Hit hit, String key, int count) throws Exception {
        List<Answer> answers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            answers.add(hit.call(key));
        }
        return answers;
    }

    private List<Answer> edge(Hit hit) throws Exception {
        List<Answer> answers = new ArrayList<>();
        for (int[] step : EDGE_PLAN) {
            clock.advance(step[0]);
            answers.addAll(repeat(hit, key + "-edge", step[1]));
        }
        return answers;
    }

    private List<Answer> afterFirst(Hit hit, String suffix, Disturbance disturbance) throws Exception {
        List<Answer> answers = repeat(hit, key + "-" + suffix, 1);
        disturbance.strike();
        answers.addAll(repeat(hit, key + "-" + suffix, LIMIT + 1));
        return answers;
    }

    /** Closes every connection but this one, and gives a client that connects again by itself the time to do so. */
    private void sever() {
        long connected = connections();
        server.clientKill(new ClientKillParams().type(ClientType.NORMAL).skipMe(ClientKillParams.SkipMe.YES));
        while (limiter.reconnects() && connections() < connected) {
            Thread.onSpinWait(); // the server's answer is what is waited for; the comparator ends who waits for ever
        }
    }

    private long connections() {
        return server.clientList(ClientType.NORMAL).lines().filter(line -> !line.isBlank()).count();
    }

    /** Leaves a hash under every key the limiter has made, as an older limiter might have; in a hash's place a list. */
    private Map<String, Object> broken(Hit hit) throws Exception {
        String name = key + "-broken";
        hit.call(name);
        TreeSet<String> left = new TreeSet<>(server.keys("*" + name + "*"));
        if (left.isEmpty()) {
            throw new IllegalStateException("the limiter made no key with " + name + " in its name");
        }
        for (String each : left) {
            boolean hash = server.type(each).equals("hash");
            server.del(each);
            if (hash) {
                server.rpush(each, "left", "over");
            } else {
                server.hset(each, "left", "over");
            }
            server.expire(each, 2 * LONG); // far from LONG, at which a script may turn
        }
        try {
            Map<String, Object> fields = hit.call(name).fields();
            fields.put("error", "none");
            return fields;
        } catch (Exception error) {
            return Map.of("error", worded(error));
        }
    }

    /** Redisson adds which connection it was and what is on its way, which is different in every run. */
    private static String worded(Exception error) {
        String text = error.getClass().getSimpleName() + ":" + error.getMessage();
        return text.replaceFirst("\\s+channel: .*", "").replaceAll("\\s", "_");
    }

    private Map<String, Object> crowd(Hit hit) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CALLERS);
        CountDownLatch ready = new CountDownLatch(CALLERS);
        List<Future<Answer>> calls = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            calls.add(threads.submit(() -> {
                ready.countDown();
                ready.await();
                return hit.call(key + "-crowd");
            }));
        }
        int allowed = 0;
        for (Future<Answer> call : calls) {
            allowed += call.get().allowed() ? 1 : 0;
        }
        threads.shutdown();
        if (allowed != CROWD_LIMIT) {
            throw new IllegalStateException(
                    allowed + " of " + CALLERS + " concurrent callers were allowed instead of " + CROWD_LIMIT);
        }
        return Answer.of(true, "allowed", allowed, "denied", CALLERS - allowed).fields();
    }
}
