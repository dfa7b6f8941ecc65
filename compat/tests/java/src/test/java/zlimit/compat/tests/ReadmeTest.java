package zlimit.compat.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;

/** The README's example in Java. */
class ReadmeTest {
    static boolean allow(Jedis client, String user) {
        // granted, limit, remaining, retry after ms, reset after ms
        List<?> reply = (List<?>) client.sendCommand(
                () -> "RL.ALLOW".getBytes(StandardCharsets.US_ASCII), "user:" + user, "100", "1m");
        return (Long) reply.get(0) > 0;
    }

    @Test
    void readme(@TempDir Path folder) throws Exception {
        try (Server server = new Server(folder)) {
            for (int i = 0; i <= 100; i++) {
                assertEquals(i < 100, allow(server.client, "42"));
            }
        }
    }
}
