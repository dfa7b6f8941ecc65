package io.zlimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.zlimit.junit.ZlimitServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The clock and faults. */
@ZlimitServer(at = "2030-01-01T00:00:00.007Z")
class ControlTest {
    private static final Instant NOW = Instant.parse("2030-01-01T00:00:00.007Z");

    private final Server server;
    private final ServerClock clock;

    ControlTest(Server server) {
        this.server = server;
        clock = server.clock();
    }

    @Test
    void advance() {
        clock.advance(Duration.ofSeconds(3));
        clock.advance(5);
        assertEquals(NOW.plusMillis(3_005), clock.instant());
        for (Duration step : new Duration[] {
            Duration.ofMillis(-1), Duration.ofNanos(1), Duration.ofMillis(1).plusNanos(1)
        }) {
            assertThrows(IllegalArgumentException.class, () -> clock.advance(step));
        }
        var error = assertThrows(IllegalArgumentException.class, () -> clock.advance(Long.MAX_VALUE));
        assertTrue(error.getMessage().startsWith("advance: ERR milliseconds must be"), error::getMessage);
        assertEquals(NOW.plusMillis(3_005), clock.instant());
    }

    @Test
    void setGoesBackOnlyWithoutKeys() {
        server.command("SET", "k", "v");
        assertThrows(IllegalArgumentException.class, () -> clock.set(NOW.minusMillis(1)));
        server.command("DEL", "k");
        clock.set(NOW.minusMillis(1));
        assertEquals(NOW.minusMillis(1), clock.instant());
        clock.resume();
        assertTrue(!clock.instant().isBefore(NOW.minusMillis(1)));
    }

    @Test
    void itIsAJavaClock() {
        Clock zoned = clock.withZone(ZoneId.of("Europe/Zurich"));
        clock.advance(1);
        assertEquals(NOW.toEpochMilli() + 1, zoned.millis());
        assertEquals("2030-01-01T01:00:00.008+01:00[Europe/Zurich]", zoned.instant().atZone(zoned.getZone()).toString());
    }

    private static Decision decision(long allowed, long limit, long remaining, long retryAfterMs, long resetAfterMs) {
        return new Decision(
                allowed, limit, remaining, Duration.ofMillis(retryAfterMs), Duration.ofMillis(resetAfterMs));
    }

    @Test
    void allow() {
        Duration minute = Duration.ofMinutes(1);
        Decision admitted = server.allow("k", 10, minute, 4);
        assertEquals(decision(4, 10, 6, 0, 60_000), admitted);
        assertTrue(admitted.ok());
        clock.advance(10_000);
        assertEquals(1, server.allow("k", 10, minute).allowed());
        clock.advance(10_000);
        Decision denied = server.allow("k", 10, minute, 7);
        assertEquals(decision(0, 10, 5, 40_000, 50_000), denied);
        assertFalse(denied.ok());
        assertEquals(decision(1, 10, 5, 0, 50_000), server.allow("k", 10, minute, 0));
        Decision never = server.allow("k", 10, minute, 11);
        assertEquals(new Decision(0, 10, 5, Decision.NEVER, Duration.ofSeconds(50)), never);
        assertThrows(IllegalArgumentException.class, () -> clock.advance(never.retryAfter()));
        assertEquals(decision(2, 60, 3, 0, 2_000), server.allow("g", 60, minute, 2, "GCRA 5"));
    }

    @Test
    void allowRefuses() {
        Duration minute = Duration.ofMinutes(1);
        for (Map.Entry<String, Executable> each : Map.<String, Executable>of(
                "ERR limit must not be negative", () -> server.allow("k", -1, minute),
                "ERR window must be", () -> server.allow("k", 1, Duration.ofMillis(-1)),
                "ERR ALGO 'NOPE' is not", () -> server.allow("k", 1, minute, 1, "NOPE")).entrySet()) {
            String message = assertThrows(ReplyException.class, each.getValue()).getMessage();
            assertTrue(message.startsWith(each.getKey()), message);
        }
        assertThrows(IllegalArgumentException.class, () -> server.allow("k", 1, Duration.ofNanos(1_500_000)));
        assertEquals(0L, server.command("EXISTS", "k"));
    }

    @Test
    void clientsThatATestKills() {
        server.command("CLIENT", "KILL", "TYPE", "normal");
        clock.advance(1);
        assertEquals(NOW.plusMillis(1), clock.instant());
    }

    @Test
    void faults() {
        InjectedFault fault = server.inject(Fault.refuse("ERR it broke").on("SET").times(2));
        assertEquals("ERR it broke", assertThrows(ReplyException.class, () -> server.command("SET", "k", "v")).getMessage());
        assertEquals(1, fault.hits());
        fault.remove();
        server.command("SET", "k", "v");

        server.inject(Fault.outOfMemory().always());
        for (int i = 0; i < 3; i++) {
            assertThrows(ReplyException.class, () -> server.command("SET", "k", "v"));
        }
        server.clearFaults();
        server.inject(Fault.delay(Duration.ofMillis(1)).on("GET"));
        assertEquals("v", server.command("GET", "k"));
        server.inject(Fault.close().on("GET"));
        assertThrows(UncheckedIOException.class, () -> server.command("GET", "k"));
        assertEquals("v", server.command("GET", "k"));
        server.inject(Fault.loading().always());
        server.reset();
        assertEquals("OK", server.command("SET", "k", "v"));
        assertThrows(IllegalArgumentException.class, () -> Fault.close().times(0));
        assertThrows(IllegalArgumentException.class, () -> server.inject(Fault.refuse("two\r\nlines")));
    }

    @Test
    void whatAClientSeesAndWhatHasRun() {
        for (Map.Entry<Fault, String> each : Map.of(Fault.dropReply(), "1", Fault.close(), "0").entrySet()) {
            server.command("SET", "n", "0");
            InjectedFault fault = server.inject(each.getKey().on("INCR"));
            assertThrows(UncheckedIOException.class, () -> server.command("INCR", "n"));
            assertEquals(1, fault.hits());
            assertEquals(each.getValue(), server.command("GET", "n"));
        }
        for (Map.Entry<Fault, String> each : Map.of(Fault.loading(), "LOADING", Fault.outOfMemory(), "OOM",
                Fault.readOnly(), "READONLY", Fault.refuse("MINE no"), "MINE").entrySet()) {
            server.command("SET", "n", "0");
            server.inject(each.getKey().on("INCR"));
            String message = assertThrows(ReplyException.class, () -> server.command("INCR", "n")).getMessage();
            assertTrue(message.startsWith(each.getValue() + " "), message);
            assertEquals("0", server.command("GET", "n"));
        }
        server.inject(Fault.noScript());
        String message = assertThrows(ReplyException.class,
                () -> server.command("EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0")).getMessage();
        assertTrue(message.startsWith("NOSCRIPT "), message);
    }

    @Test
    void aMutedCommandHasRunAndItsConnectionStaysOpen() throws IOException {
        InjectedFault fault = server.inject(Fault.mute().on("INCR"));
        try (Socket client = new Socket(server.host(), server.port())) {
            client.getOutputStream().write("INCR n\r\nPING\r\n".getBytes(StandardCharsets.US_ASCII));
            fault.await();
            while (!"1".equals(server.command("GET", "n"))) {
                Thread.onSpinWait(); // it may be on its way
            }
            String connections = (String) server.command("CLIENT", "LIST");
            assertTrue(connections.contains(" addr=127.0.0.1:" + client.getLocalPort() + " "), connections);
            assertEquals(0, client.getInputStream().available());
        }
    }

    @Test
    void aCommandThatWaitsUntilItsFaultIsRemoved() {
        for (Consumer<InjectedFault> release : List.<Consumer<InjectedFault>>of(
                InjectedFault::remove, fault -> server.clearFaults(), fault -> server.reset())) {
            InjectedFault fault = server.inject(Fault.hold().on("INCR"));
            var reply = CompletableFuture.supplyAsync(() -> server.command("INCR", "n"));
            fault.await();
            assertEquals(0L, server.command("EXISTS", "n"));
            assertFalse(reply.isDone());
            release.accept(fault);
            assertEquals(1L, reply.join());
            server.reset();
        }
        InjectedFault never = server.inject(Fault.hold());
        Thread.currentThread().interrupt();
        assertThrows(IllegalStateException.class, never::await);
        assertTrue(Thread.interrupted());
    }
}
