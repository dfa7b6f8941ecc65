package io.zlimit.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.zlimit.Server;
import io.zlimit.ServerClock;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@ZlimitServer(arguments = {"--maxclients", "77"})
class ZlimitExtensionTest {
    private static Server first;

    @BeforeAll
    static void beforeAll(Server server) {
        first = server;
    }

    @BeforeEach
    void write(Server server) {
        server.command("INCR", "hits");
    }

    @RepeatedTest(2)
    void emptyBeforeEachTest(Server server, ServerClock clock, @ServerHost String host, @ServerPort int port) {
        assertSame(first, server);
        assertSame(server.clock(), clock);
        assertEquals(server.host(), host);
        assertEquals(server.port(), port);
        assertEquals("1", server.command("GET", "hits"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "b"})
    void besideOtherParameters(String key, Server server) {
        assertEquals(1L, server.command("INCR", key));
    }

    @Test
    void arguments(Server server) {
        assertEquals("[maxclients, 77]", server.command("CONFIG", "GET", "maxclients").toString());
    }

    @Nested
    class Inner {
        @Test
        void hasTheServerOfTheOuterClass(Server server) {
            assertSame(first, server);
            assertEquals("1", server.command("GET", "hits"));
        }
    }
}
