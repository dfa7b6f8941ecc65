package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Server;
import io.zlimit.ServerClock;
import io.zlimit.junit.ZlimitServer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Jedis;

/** A limiter's window edge, without sleeping. */
@ZlimitServer(frozen = true)
class WindowTest {
    private final Jedis client;
    private final ServerClock clock;

    WindowTest(Server server) {
        client = new Jedis(server.uri());
        clock = server.clock();
    }

    @AfterEach
    void disconnect() {
        client.close();
    }

    private List<?> ask(String key, int limit) {
        return (List<?>) client.sendCommand(
                () -> "RL.ALLOW".getBytes(StandardCharsets.US_ASCII), key, Integer.toString(limit), "10s");
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
        clock.advance(passed);
        assertEquals(admitted, allow("user:42", 3));
    }

    @Test
    void retryAfterIsExact() {
        assertTrue(allow("user:42", 1));
        clock.advance(1_234);
        List<?> denied = ask("user:42", 1);
        assertEquals(List.of(0L, 1L, 0L, 8_766L), denied.subList(0, 4));
        clock.advance(8_765);
        assertFalse(allow("user:42", 1));
        clock.advance(1);
        assertTrue(allow("user:42", 1));
    }

    @Test
    void expiryFollowsTheSameClock() {
        client.setex("session", 60, "x");
        clock.advance(59_000);
        assertEquals(1, client.ttl("session"));
        clock.advance(1_001);
        assertEquals(0, client.dbSize());
    }
}
