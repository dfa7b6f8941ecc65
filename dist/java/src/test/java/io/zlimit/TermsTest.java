package io.zlimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.junit.ZlimitServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Calls with several terms, their reservations and settlements. */
@ZlimitServer(frozen = true)
class TermsTest {
    private static final List<String> KEYS = List.of("{u7}:rpm", "{u7}:tpm", "{u7}:jobs");
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration DAY = Duration.ofDays(1);

    private final Server server;
    private final ServerClock clock;

    TermsTest(Server server) {
        this.server = server;
        clock = server.clock();
    }

    private static TermDecision decision(
            int term, long allowed, long limit, long remaining, Duration retryAfter, Duration resetAfter) {
        return new TermDecision(term, new Decision(allowed, limit, remaining, retryAfter, resetAfter));
    }

    private TermDecision reserve(long tokens, String id) {
        return server.allowAll(List.of(
                Term.of(KEYS.get(0), 60, MINUTE),
                Term.of(KEYS.get(1), 90, MINUTE).and(1000, DAY).cost(tokens),
                Term.slots(KEYS.get(2), 2, MINUTE.multipliedBy(2))), MINUTE, id);
    }

    /** Checks what is left of the requests and of the tokens, and the ids with slots. */
    private void assertRemaining(long requests, long tokens, String... ids) {
        assertEquals(requests, server.allow(KEYS.get(0), 60, MINUTE, 0).remaining());
        assertEquals(tokens, server.allow(KEYS.get(1), 90, MINUTE, 0).remaining());
        assertEquals(List.of(ids), server.command("ZRANGE", KEYS.get(2), "0", "-1"));
    }

    @Test
    void allTermsAdmitTheCallOrItConsumesNothing() {
        List<Term> terms = List.of(Term.of("rpm", 60, MINUTE), Term.of("tpm", 90, MINUTE).and(100, DAY).cost(60));
        TermDecision admitted = server.allowAll(terms);
        assertEquals(decision(2, 60, 90, 30, Duration.ZERO, MINUTE), admitted);
        assertTrue(admitted.ok());
        clock.advance(10_000);
        TermDecision denied = server.allowAll(terms);
        Duration rest = DAY.minusSeconds(10);
        assertEquals(decision(2, 0, 100, 40, rest, rest), denied);
        assertFalse(denied.ok());
        assertEquals(59, server.allow("rpm", 60, MINUTE, 0).remaining());
        clock.advance(denied.decision().retryAfter());
        assertEquals(60, server.allowAll(terms).decision().allowed());
    }

    @Test
    void algorithms() {
        assertEquals(decision(1, 2, 60, 3, Duration.ZERO, Duration.ofSeconds(2)), server.allowAll(List.of(
                Term.of("g", 60, MINUTE).algorithm("GCRA 5").cost(2),
                Term.of("f", 9, DAY).algorithm("FIXED"))));
        assertEquals(List.of("algorithm", "FIXED"), ((List<?>) server.command("RL.INFO", "f")).subList(0, 2));
    }

    @Test
    void slots() {
        List<Term> terms = List.of(Term.of("rpm", 60, MINUTE), Term.slots("jobs", 1, MINUTE));
        assertEquals(decision(2, 1, 1, 0, Duration.ZERO, MINUTE), server.allowAll(terms, "one"));
        assertEquals(decision(2, 0, 1, 0, MINUTE, MINUTE), server.allowAll(terms, "two"));
        clock.advance(MINUTE);
        assertTrue(server.allowAll(terms, "two").ok());
        assertEquals(List.of("two"), server.command("ZRANGE", "jobs", "0", "-1"));
    }

    @Test
    void settle() {
        assertTrue(reserve(60, "one").ok());
        assertRemaining(59, 30, "one");
        TermDecision denied = reserve(31, "two");
        assertEquals(decision(2, 0, 90, 30, MINUTE, MINUTE), denied);
        assertRemaining(59, 30, "one");
        assertEquals(List.of(), server.settle(KEYS, "two", 1, 1, 0));

        List<Settlement> settled = List.of(new Settlement(1, 0), new Settlement(14, 0), new Settlement(0, 0));
        assertEquals(settled, server.settle(KEYS, "one", 1, 14, 0));
        assertRemaining(59, 76);
        assertEquals(settled, server.settle(KEYS, "one", 1, 50, 0), "the first settlement counts");
        assertRemaining(59, 76);

        assertTrue(reserve(60, "two").ok());
        assertEquals(new Settlement(80, 20), server.settle(KEYS, "two", 1, 80, 0).get(1));
        assertRemaining(58, 0);
    }

    @Test
    void cancel() {
        assertTrue(reserve(60, "one").ok());
        for (int i = 0; i < 2; i++) {
            assertEquals(List.of(1L, 60L, 1L), server.cancel(KEYS, "one"));
            assertRemaining(60, 90);
        }
        assertEquals(List.of(), server.cancel(KEYS, "none"));
        assertTrue(reserve(60, "two").ok());
        clock.advance(MINUTE.plusMillis(1));
        assertEquals(List.of(), server.cancel(KEYS, "two"), "the hold has passed");
    }

    @Test
    void theServerRefuses() {
        reserve(60, "one");
        Object keys = server.command("DBSIZE");
        Term term = Term.of("k", 1, MINUTE);
        Term slots = Term.slots("k", 1, MINUTE);
        for (Map.Entry<String, Executable> each : Map.<String, Executable>of(
                "ERR wrong number of arguments", () -> server.allowAll(List.of()),
                "ERR key 'k' is named twice", () -> server.allowAll(List.of(term, slots), "two"),
                "ERR limit must not be negative", () -> server.allowAll(List.of(Term.of("k", -1, MINUTE))),
                "ERR COST of a term must be at least 1", () -> server.allowAll(List.of(Term.of("k", 1, MINUTE).cost(0))),
                "ERR syntax error, SLOTS needs an ID", () -> server.allowAll(List.of(slots)),
                "ERR syntax error, ID goes with SLOTS", () -> server.allowAll(List.of(term), "two"),
                "ERR ID must not be empty", () -> server.allowAll(List.of(slots), MINUTE, ""),
                "ERR ALGO 'NOPE' is not", () -> server.allowAll(List.of(Term.of("k", 1, MINUTE).algorithm("NOPE"))),
                "ERR 3 keys need as many actual costs, not 1", () -> server.settle(KEYS, "one", 1)).entrySet()) {
            String message = assertThrows(ReplyException.class, each.getValue()).getMessage();
            assertTrue(message.startsWith(each.getKey()), message);
        }
        assertEquals(keys, server.command("DBSIZE"));
        assertRemaining(59, 30, "one");
    }

    @Test
    void wholeMilliseconds() {
        Duration part = Duration.ofNanos(1_500_000);
        List<Term> slots = List.of(Term.slots("k", 1, MINUTE));
        for (Executable call : List.<Executable>of(
                () -> server.allowAll(List.of(Term.of("k", 1, MINUTE).and(2, part))),
                () -> server.allowAll(List.of(Term.slots("k", 1, part)), "one"),
                () -> server.allowAll(slots, part, "one"))) {
            String message = assertThrows(IllegalArgumentException.class, call).getMessage();
            assertEquals("allowAll: PT0.0015S is not a whole number of milliseconds", message);
        }
    }
}
