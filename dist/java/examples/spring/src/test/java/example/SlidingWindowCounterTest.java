package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Server;
import io.zlimit.ServerClock;
import io.zlimit.junit.ZlimitServer;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;

/** The counter over the edge of its window of 60 seconds, without sleeping. */
@SpringBootTest
@ZlimitServer(frozen = true, at = "2030-01-01T00:00:00Z")
@Import(ServerTime.class)
class SlidingWindowCounterTest {
    private static final String ADDRESS = "192.0.2.1";

    @Autowired
    private SlidingWindowCounter counter;

    private boolean access() {
        return counter.access(ADDRESS, 3, 60);
    }

    @Test
    void hitsLeaveAtTheEdge(ServerClock clock) {
        assertTrue(access());
        clock.advance(1);
        assertTrue(access());
        clock.advance(59_999); // the first hit is 60 s ago, the second 59.999 s
        assertTrue(access());
        assertEquals(2, counter.count(ADDRESS));
    }

    @Test
    void aFullCounterOpensWhenItsKeyExpires(ServerClock clock, Server server) {
        for (int i = 0; i < 3; i++) {
            assertTrue(access());
        }
        assertFalse(access());
        assertEquals(60, counter.lastTime(ADDRESS));
        clock.advance(59_999);
        assertFalse(access());
        clock.advance(2); // Redis keeps a key until its last millisecond is over
        assertEquals(0L, server.command("EXISTS", ADDRESS));
        assertTrue(access());
    }
}
