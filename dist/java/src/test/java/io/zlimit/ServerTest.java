package io.zlimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** How servers start and end, and why they cannot. */
@Timeout(600)
class ServerTest {
    private static final int STARTS = Integer.getInteger("zlimit.starts", 100);

    private static String failure(Server.Builder builder) {
        return assertThrows(IllegalStateException.class, builder::start).getMessage();
    }

    private static Path script(Path folder, String text) throws IOException {
        Path path = Files.writeString(folder.resolve("zlimit-server"), "#!/bin/sh\n" + text);
        return Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void portTaken() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String message = failure(Server.builder().port(taken.getLocalPort()));
            assertTrue(message.contains("port " + taken.getLocalPort() + " is in use"), message);
        }
    }

    @Test
    void unknownDirective() {
        String message = failure(Server.builder().arguments("--no-such-directive", "1"));
        assertTrue(message.contains("no-such-directive"), message);
    }

    @Test
    void noServer(@TempDir Path folder) throws IOException {
        assertEquals("zlimit: the server ended before it was ready; its log:\nit broke",
                failure(Server.builder().binary(script(folder, "echo it broke >&2; exit 3"))));
        assertEquals("zlimit: the server was not ready after 300 ms; its log:\nwait",
                failure(Server.builder().binary(script(folder, "echo wait; exec cat")).timeout(Duration.ofMillis(300))));
        assertThrows(UncheckedIOException.class, () -> Server.builder().binary(folder).start());
    }

    @Test
    void cluster() {
        try (Server server = Server.builder().cluster(true).start()) {
            String script = "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])";
            assertEquals(2L, server.command("EVAL", script, "2", "{user}:minute", "{user}:day"));
            String message = assertThrows(ReplyException.class,
                    () -> server.command("EVAL", script, "2", "user:minute", "user:day")).getMessage();
            assertTrue(message.startsWith("CROSSSLOT "), message);
            List<?> range = (List<?>) ((List<?>) server.command("CLUSTER", "SLOTS")).get(0);
            assertEquals(List.of(server.host(), (long) server.port()), ((List<?>) range.get(2)).subList(0, 2));
            server.clock().freeze();
            server.command("SET", "k", "v", "PX", "1000");
            server.clock().advance(1001);
            assertNull(server.command("GET", "k"));
        }
    }

    @Test
    void withoutDebugCommands() {
        try (Server server = Server.builder().debug(false).start()) {
            for (Executable call : new Executable[] {
                () -> server.clock().freeze(), () -> server.clock().advance(1), () -> server.clock().resume(),
                () -> server.inject(Fault.loading()), server::clearFaults, server::reset
            }) {
                String message = assertThrows(IllegalStateException.class, call).getMessage();
                assertTrue(message.endsWith(": this server was started without debug commands "
                        + "(--enable-debug-command yes)"), message);
            }
            assertEquals("PONG", server.command("PING"));
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX)
    void manyServersLeaveNothing() throws IOException {
        start();
        long before = descriptors();
        int threads = Thread.activeCount();
        List<Path> files = temporary();
        for (int i = 0; i < STARTS; i++) {
            start();
        }
        // What other tests have left may be collected meanwhile. The thread that reaps processes closes their pipes
        // after it has woken those who wait.
        eventually(() -> descriptors() <= before, () -> descriptors() + " descriptors instead of " + before);
        eventually(() -> Thread.activeCount() <= threads, () -> Thread.activeCount() + " threads instead of " + threads);
        assertEquals(0, ProcessHandle.current().children().count());
        assertEquals(files, temporary());
    }

    private static void eventually(BooleanSupplier holds, Supplier<String> otherwise) {
        long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (!holds.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, otherwise);
            Thread.onSpinWait();
        }
    }

    private static void start() {
        try (Server server = Server.start()) {
            assertEquals("OK", server.command("SET", "k", "v"));
        }
    }

    /** Returns how many pipes and sockets are open; the class loader opens files when it likes. */
    private static long descriptors() {
        return Stream.of(new File("/proc/self/fd").list()).filter(name -> {
            try {
                String target = Files.readSymbolicLink(Path.of("/proc/self/fd", name)).toString();
                return target.startsWith("pipe:") || target.startsWith("socket:");
            } catch (IOException e) {
                return false; // the one of the list
            }
        }).count();
    }

    private static List<Path> temporary() throws IOException {
        try (var files = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            return files.filter(path -> path.getFileName().toString().contains("zlimit-server")).toList();
        }
    }

    /** Starts a server and waits; the test kills its process. */
    static final class Starter {
        public static void main(String[] arguments) throws InterruptedException {
            System.out.println(Server.start().pid());
            Thread.currentThread().join();
        }
    }

    @Test
    void aKilledProcessTakesItsServerAlong() throws Exception {
        Process process = new ProcessBuilder(
                ProcessHandle.current().info().command().orElseThrow(), "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), Starter.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        ProcessHandle server = ProcessHandle.of(Long.parseLong(process.inputReader().readLine())).orElseThrow();
        assertTrue(server.isAlive());
        CompletableFuture<ProcessHandle> ended = server.onExit();
        process.destroyForcibly();
        ended.get();
    }

    @Test
    void aKilledServer() {
        try (Server server = Server.start()) {
            ProcessHandle process = ProcessHandle.of(server.pid()).orElseThrow();
            process.destroyForcibly();
            process.onExit().join();
            assertThrows(UncheckedIOException.class, () -> server.command("PING"));
            server.close();
        }
    }

    @Test
    void close() {
        Server server = Server.start();
        ProcessHandle process = ProcessHandle.of(server.pid()).orElseThrow();
        server.close();
        assertFalse(process.isAlive());
        assertTrue(server.log().contains("bye"), server::log);
        server.close();
    }

    @Test
    void logIsComplete() {
        try (Server server = Server.start()) {
            for (int i = 0; i < 100; i++) {
                server.command("DEBUG", "LOG", "line " + i);
                String log = server.log();
                assertTrue(log.endsWith("line " + i), log);
            }
        }
        try (Server server = Server.builder().arguments("--logfile", "/dev/null").start()) {
            assertFalse(server.log().contains("listens on"), server::log);
        }
        try (Server server = Server.builder().debug(false).start()) {
            ProcessHandle.of(server.pid()).orElseThrow().destroyForcibly();
            assertTrue(server.log().contains("listens on"), server::log);
        }
    }

    @Test
    void replies() {
        try (Server server = Server.builder().host("::1").start()) {
            assertEquals("redis://[::1]:" + server.port(), server.uri().toString());
            String text = "zürich 北京 ".repeat(20_000);
            server.command("SET", "k", text);
            assertEquals(text, server.command("GET", "k"));
            assertNull(server.command("GET", "none"));
            assertEquals(42L, server.command("INCRBY", "n", "42"));
            assertEquals("[1, [a, null], []]", server.command("EVAL", "return {1, {'a', false}, {}}", "0").toString());
            assertEquals("ERR unknown command 'NOPE', with args beginning with: ",
                    assertThrows(ReplyException.class, () -> server.command("NOPE")).getMessage());
        }
    }
}
