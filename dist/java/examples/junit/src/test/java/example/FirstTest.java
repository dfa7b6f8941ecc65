package example;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Server;
import io.zlimit.junit.ZlimitServer;
import java.util.List;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

@ZlimitServer(frozen = true)
class FirstTest {
    private static boolean allow(Jedis client) {
        List<?> reply = (List<?>) client.sendCommand(() -> "RL.ALLOW".getBytes(), "user:42", "3", "1m");
        return (Long) reply.get(0) > 0;
    }

    @Test
    void threeRequestsAMinute(Server server) {
        try (Jedis client = new Jedis(server.host(), server.port())) {
            assertTrue(allow(client) && allow(client) && allow(client));
            assertFalse(allow(client));
            server.clock().advance(59_999);
            assertFalse(allow(client));
            server.clock().advance(1);
            assertTrue(allow(client));
        }
    }
}
