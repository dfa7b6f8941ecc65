package example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.Fault;
import io.zlimit.InjectedFault;
import io.zlimit.Server;
import io.zlimit.junit.ZlimitServer;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisException;

/** What a limiter does when the server fails. */
@ZlimitServer
class FaultTest {
    // Admits if the server cannot decide.
    private static boolean allowOrOpen(Jedis client) {
        try {
            return client.incr("user:42") <= 1;
        } catch (JedisException e) {
            return true;
        }
    }

    @Test
    void failsOpen(Server server) {
        try (Jedis client = new Jedis(server.uri())) {
            assertTrue(allowOrOpen(client));
            for (Fault fault : new Fault[] {Fault.outOfMemory(), Fault.loading(), Fault.refuse("ERR it broke")}) {
                InjectedFault injected = server.inject(fault.on("INCR"));
                assertTrue(allowOrOpen(client));
                assertEquals(1, injected.hits());
            }
        }
    }

    @Test
    void aHitWhoseReplyIsLostHasCounted(Server server) {
        server.inject(Fault.dropReply().on("INCR"));
        try (Jedis client = new Jedis(server.uri())) {
            assertThrows(JedisConnectionException.class, () -> client.incr("user:42"));
        }
        assertEquals("1", server.command("GET", "user:42"));
    }
}
