package example;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.zlimit.junit.ServerHost;
import io.zlimit.junit.ServerPort;
import io.zlimit.junit.ZlimitServer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** The README's example in Java. */
@ZlimitServer
class ReadmeTest {
    static boolean allow(Jedis client, String user) {
        // granted, limit, remaining, retry after ms, reset after ms
        List<?> reply = (List<?>) client.sendCommand(
                () -> "RL.ALLOW".getBytes(StandardCharsets.US_ASCII), "user:" + user, "100", "1m");
        return (Long) reply.get(0) > 0;
    }

    @Test
    void readme(@ServerHost String host, @ServerPort int port) {
        try (Jedis client = new Jedis(host, port)) {
            for (int i = 0; i <= 100; i++) {
                assertEquals(i < 100, allow(client, "42"));
            }
        }
    }
}
