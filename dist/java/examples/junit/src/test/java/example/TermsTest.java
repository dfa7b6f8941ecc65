package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Server;
import io.zlimit.Term;
import io.zlimit.TermDecision;
import io.zlimit.junit.ZlimitServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

@ZlimitServer(frozen = true)
class TermsTest {
    private static final List<String> KEYS = List.of("{u7}:rpm", "{u7}:tpm", "{u7}:jobs");

    private static TermDecision reserve(Server server, String id) {
        Duration minute = Duration.ofMinutes(1);
        return server.allowAll(List.of(
                Term.of(KEYS.get(0), 60, minute),
                Term.of(KEYS.get(1), 90_000, minute).and(1_000_000, Duration.ofDays(1)).cost(50_000),
                Term.slots(KEYS.get(2), 10, Duration.ofMinutes(2))), Duration.ofMinutes(2), id);
    }

    @Test
    void callsOfAModel(Server server) {
        assertTrue(reserve(server, "job-1").ok());
        TermDecision denied = reserve(server, "job-2");
        assertFalse(denied.ok());
        assertEquals(2, denied.term());
        assertEquals(40_000, denied.decision().remaining());
        assertEquals(1430, server.settle(KEYS, "job-1", 1, 1430, 0).get(1).counted());
        assertTrue(reserve(server, "job-2").ok());
        assertEquals(List.of(1L, 50_000L, 1L), server.cancel(KEYS, "job-2"));
    }
}
