package zlimit.compat.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A limiter's window edge, without sleeping. */
class WindowTest {
    private Server server;

    @BeforeEach
    void start(@TempDir Path folder) throws Exception {
        server = new Server(folder);
    }

    @AfterEach
    void stop() throws Exception {
        server.close();
    }

    private List<?> ask(String key, int limit) {
        return (List<?>) server.call("RL.ALLOW", key, Integer.toString(limit), "10s");
    }

    private boolean allow(String key, int limit) {
        return (Long) ask(key, limit).get(0) > 0;
    }

    @ParameterizedTest
    @CsvSource({"0, false", "9999, false", "10000, true", "3600000, true"})
    void windowEdge(long passed, boolean admitted) {
        for (boolean want : new boolean[] {true, true, true, false}) {
            assertEquals(want, allow("user:42", 3));
        }
        server.advance(passed);
        assertEquals(admitted, allow("user:42", 3));
    }

    @Test
    void retryAfterIsExact() {
        assertTrue(allow("user:42", 1));
        server.advance(1_234);
        List<?> denied = ask("user:42", 1);
        assertEquals(List.of(0L, 1L, 0L, 8_766L), denied.subList(0, 4));
        server.advance(8_765);
        assertFalse(allow("user:42", 1));
        server.advance(1);
        assertTrue(allow("user:42", 1));
    }

    @Test
    void expiryFollowsTheSameClock() {
        server.client.setex("session", 60, "x");
        server.advance(59_000);
        assertEquals(1, server.client.ttl("session"));
        server.advance(1_001);
        assertEquals(0, server.client.dbSize());
    }
}
