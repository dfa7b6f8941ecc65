package beside;

import com.github.fppt.jedismock.RedisServer;
import com.github.fppt.jedismock.datastructures.Slice;
import com.github.fppt.jedismock.operations.server.MockExecutor;
import com.github.fppt.jedismock.server.Response;
import com.github.fppt.jedismock.server.ServiceOptions;
import com.sun.net.httpserver.HttpServer;
import io.zlimit.Server;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Runs the documents' flows and calls of limiters on zlimit and on jedis-mock, and writes the lines that differ: those
 * of differences.txt. The arguments are the file to write and the jars of compat/java:
 *
 * <pre>mvn compile exec:java -Dexec.mainClass=beside.Flows -Dexec.args="out.txt .../jedis.jar .../spring.jar"</pre>
 *
 * With libraries.jar of compat/libraries/java as another argument it runs limiter libraries, too. That takes a minute,
 * so nobody does by default.
 */
public final class Flows {
    /** Each is a command, split at spaces; one that begins with "| " is a script without keys. */
    private static final List<String> CALLS = List.of(
            "SET text x", "INCR text", "ZADD text 1 a", "SET n 9223372036854775807", "INCR n",
            "ZADD z 1 a 1 b inf c", "ZADD z NX CH 2 a", "ZADD z GT 5 a", "ZADD z x a", "ZRANGEBYSCORE z (1 +inf",
            "ZREMRANGEBYSCORE z -inf (1", "ZRANGE z 0 -1 WITHSCORES", "ZRANGE z -inf +inf BYSCORE LIMIT 0 1",
            "ZADD y 1 a", "EXPIRE y 10", "ZREMRANGEBYSCORE y 5 6", "TTL y",
            "EXPIRE z 10 NX", "EXPIRE z 20 NX", "SET s x PX 0", "SET s x EX 10 GET", "GETEX s PERSIST",
            "| return redis.call('TIME')[1] ~= nil", "| return 3.9", "| return {1, nil, 2}",
            "| return redis.error_reply('MINE no')", "| x = 1", "| return redis.sha1hex('x')",
            "| return cjson.encode({a = 1})", "| return bit.band(6, 3)", "| return cmsgpack.unpack(cmsgpack.pack(7))",
            "| return redis.call('INCR', 'text')", "| return redis.pcall('INCR', 'text').err",
            "| return tostring(redis.call('GET', 'none'))", "| redis.replicate_commands() return 1",
            "EVALSHA ffffffffffffffffffffffffffffffffffffffff 0", "EVAL_RO return{1} 0", "SCRIPT LOAD return{1}",
            "DISCARD", "OBJECT ENCODING z", "MEMORY USAGE none", "CLIENT GETNAME", "RL.ALLOW k 1 10s");

    /** A key's time to live, which may be read on either side of a second. */
    private static final Pattern TTL = Pattern.compile("ttl=\\d+");

    /** What of an exception's line says nothing, or is another in each run. */
    private static final Pattern CHANGING = Pattern.compile("Exception in thread \"main\" |\\.?\\s+channel: .*");

    private Flows() {
    }

    /** The libraries of compat/libraries/java, and their algorithms. */
    private static final List<List<String>> LIBRARIES = List.of(
            List.of("redisson", "sliding-window"), List.of("bucket4j-lettuce", "greedy"),
            List.of("bucket4j-lettuce", "interval"), List.of("bucket4j-jedis", "greedy"),
            List.of("bucket4j-jedis", "interval"), List.of("spring-cloud-gateway", "token-bucket"));

    private static final int TIMEOUT_MS = 60_000; // a machine may be busy

    private static final long START_MILLIS = 1_800_000_000_000L; // a whole hour

    /** A server, and what sets its clock. */
    private record Side(int port, Consumer<Instant> set) {}

    /** A clock that stands still. */
    private static final class HeldClock extends Clock {
        private volatile Instant now = Instant.ofEpochMilli(START_MILLIS);

        @Override
        public Instant instant() {
            return now;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }
    }

    public static void main(String[] arguments) throws Exception {
        RedisServer fake = RedisServer.newRedisServer().start();
        int same = 0;
        try (Server server = Server.start(); PrintStream out = new PrintStream(arguments[0], StandardCharsets.UTF_8)) {
            server.clock().freeze();
            Side real = new Side(server.port(), server.clock()::set);
            Side mock = new Side(fake.getBindPort(), now -> { });
            for (String jar : List.of(arguments[1], arguments[2])) {
                List<Map<String, List<String>>> both = flows(jar, real.port, mock.port);
                Map<String, List<String>> want = both.get(0);
                Map<String, List<String>> got = both.get(1);
                for (String flow : want.keySet()) {
                    same += compare(out, "flow " + flow, want.get(flow), got.getOrDefault(flow, List.of()));
                }
            }
            same += compare(out, "calls", calls(real.port), calls(mock.port));
            for (List<String> library : arguments.length > 3 ? LIBRARIES : List.<List<String>>of()) {
                server.reset();
                server.clock().freeze();
                HeldClock held = new HeldClock();
                RedisServer other = RedisServer.newRedisServer().setClock(held).setOptions(GOING_ON).start();
                Side still = new Side(other.getBindPort(), now -> held.now = now);
                var want = CompletableFuture.supplyAsync(() -> library(arguments[3], library, real));
                var got = CompletableFuture.supplyAsync(() -> library(arguments[3], library, still));
                same += compare(out, String.join(" ", library), want.get(), got.get());
                other.stop();
            }
            out.print(same + " lines are the same\n");
        }
        fake.stop();
        System.exit(0); // some leave threads behind
    }

    /** jedis-mock lacks CLIENT KILL and CLIENT LIST: without them the scenario goes on. */
    private static final ServiceOptions GOING_ON = ServiceOptions.withInterceptor((state, name, parameters) -> {
        if (name.equalsIgnoreCase("client") && !parameters.isEmpty()) {
            switch (parameters.get(0).toString().toLowerCase()) {
                case "kill":
                    return Response.integer(0);
                case "list":
                    return Response.bulkString(Slice.create(""));
                default:
            }
        }
        return MockExecutor.proceed(state, name, parameters);
    });

    /** Prints how the lines of two servers differ, and returns how many do not. */
    private static int compare(PrintStream out, String name, List<String> want, List<String> got) {
        List<String> differences = new ArrayList<>();
        int count = Math.max(want.size(), got.size());
        for (int i = 0; i < count; i++) {
            String a = i < want.size() ? want.get(i) : "(nothing)";
            String b = i < got.size() ? got.get(i) : "(nothing)";
            if (!a.equals(b)) {
                differences.add("   zlimit     " + a + "\n   jedis-mock " + b);
            }
        }
        out.printf("== %s: %d of %d lines differ\n", name, differences.size(), want.size());
        differences.forEach(line -> out.print(line + "\n"));
        return count - differences.size();
    }

    private static Process program(List<String> arguments, ProcessBuilder.Redirect errors) throws IOException {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElseThrow(),
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote", "-jar"));
        command.addAll(arguments);
        return new ProcessBuilder(command).redirectError(errors).start();
    }

    /** The lines of each flow on each server, of one process that runs them all. */
    private static List<Map<String, List<String>>> flows(String jar, int... ports) throws IOException {
        Process process = program(List.of(jar, "--batch"), ProcessBuilder.Redirect.INHERIT);
        try (PrintStream lines = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8)) {
            for (int port : ports) {
                lines.println(String.join("\t", "--host", "127.0.0.1", "--port", Integer.toString(port),
                        "--flow", "all", "--key", "check"));
            }
        }
        List<Map<String, List<String>>> servers = new ArrayList<>();
        Map<String, List<String>> lines = new LinkedHashMap<>();
        List<String> flow = new ArrayList<>(); // of the line that names the client
        for (String line : process.inputReader().lines().toList()) {
            if (line.startsWith("flow ")) {
                flow = new ArrayList<>();
                lines.put(line.substring(5), flow);
            } else if (line.startsWith("exit ")) {
                servers.add(lines);
                lines = new LinkedHashMap<>();
                flow = new ArrayList<>();
            } else if (!line.equals("end")) {
                flow.add(TTL.matcher(line).replaceAll("ttl=some"));
            }
        }
        return servers;
    }

    /** Returns the lines of a library's program, and why it failed. */
    private static List<String> library(String jar, List<String> library, Side side) {
        try {
            long[] now = {START_MILLIS};
            HttpServer clock = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
            clock.createContext("/", exchange -> {
                String query = exchange.getRequestURI().getQuery();
                now[0] += query == null ? 0 : Long.parseLong(query.substring("ms=".length()));
                side.set.accept(Instant.ofEpochMilli(now[0]));
                byte[] text = Long.toString(now[0]).getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Connection", "close"); // one that is kept may be closed as it is used
                exchange.sendResponseHeaders(200, text.length);
                exchange.getResponseBody().write(text);
                exchange.close();
            });
            clock.start();
            File errors = Files.createTempFile("beside", ".txt").toFile();
            Process process = program(List.of(jar, "--host", "127.0.0.1", "--port", Integer.toString(side.port),
                    "--clock", "http://127.0.0.1:" + clock.getAddress().getPort(), "--library", library.get(0),
                    "--flow", library.get(1), "--key", "beside"), ProcessBuilder.Redirect.to(errors));
            List<String> lines = new ArrayList<>(process.inputReader().lines()
                    .filter(line -> line.matches("\\d+ .*")).toList());
            if (process.onExit().join().exitValue() != 0) {
                Files.readAllLines(errors.toPath()).stream().filter(line -> line.startsWith("Exception in ")).findFirst()
                        .ifPresent(line -> lines.add("failed: " + CHANGING.matcher(line).replaceAll("")));
            }
            clock.stop(0);
            Files.delete(errors.toPath());
            return lines;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> calls(int port) {
        List<String> lines = new ArrayList<>();
        try (Jedis client = new Jedis("127.0.0.1", port, TIMEOUT_MS)) {
            for (String call : CALLS) {
                String[] words = call.startsWith("| ") ? new String[] {"EVAL", call.substring(2), "0"}
                        : call.split(" ");
                lines.add(call + " -> " + shown(client, words));
            }
        }
        return lines;
    }

    private static String shown(Jedis client, String[] words) {
        try {
            String[] arguments = Arrays.copyOfRange(words, 1, words.length);
            return shown(client.sendCommand(() -> words[0].getBytes(StandardCharsets.UTF_8), arguments));
        } catch (JedisException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage().lines().findFirst().orElse("");
        }
    }

    private static String shown(Object reply) {
        if (reply instanceof byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
        return reply instanceof List<?> list ? list.stream().map(Flows::shown).toList().toString()
                : String.valueOf(reply);
    }
}
