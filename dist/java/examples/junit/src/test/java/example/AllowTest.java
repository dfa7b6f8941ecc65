package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Decision;
import io.zlimit.Server;
import io.zlimit.junit.ZlimitServer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

@ZlimitServer(frozen = true)
class AllowTest {
    @Test
    void aBatchWaits(Server server) {
        Duration minute = Duration.ofMinutes(1);
        assertTrue(server.allow("user:42", 100, minute, 60).ok());
        Decision denied = server.allow("user:42", 100, minute, 60);
        assertFalse(denied.ok());
        assertEquals(40, denied.remaining());
        server.clock().advance(denied.retryAfter());
        assertTrue(server.allow("user:42", 100, minute, 60).ok());
    }
}
