package beside;

import com.github.fppt.jedismock.RedisServer;
import io.zlimit.Server;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Runs the documents' flows and calls of limiters on zlimit and on jedis-mock, and writes the lines that differ: those
 * of differences.txt. The arguments are the file to write and the jars of compat/java:
 *
 * <pre>mvn compile exec:java -Dexec.mainClass=beside.Flows -Dexec.args="out.txt .../jedis.jar .../spring.jar"</pre>
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

    private Flows() {
    }

    public static void main(String[] arguments) throws Exception {
        RedisServer fake = RedisServer.newRedisServer().start();
        int same = 0;
        try (Server server = Server.start(); PrintStream out = new PrintStream(arguments[0], StandardCharsets.UTF_8)) {
            server.clock().freeze();
            for (String jar : Arrays.asList(arguments).subList(1, arguments.length)) {
                String name = new File(jar).getName();
                same += compare(out, name, port -> flows(jar, port), server.port(), fake.getBindPort());
            }
            same += compare(out, "calls", Flows::calls, server.port(), fake.getBindPort());
            out.print(same + " lines are the same\n");
        }
        fake.stop();
    }

    /** Prints how the lines of two servers differ, and returns how many do not. */
    private static int compare(
            PrintStream out, String name, Function<Integer, List<String>> work, int zlimit, int fake) {
        List<String> want = work.apply(zlimit);
        List<String> got = work.apply(fake);
        List<String> differences = new ArrayList<>();
        for (int i = 0; i < Math.max(want.size(), got.size()); i++) {
            String a = i < want.size() ? want.get(i) : "(nothing)";
            String b = i < got.size() ? got.get(i) : "(nothing)";
            if (!a.equals(b)) {
                differences.add("   zlimit     " + a + "\n   jedis-mock " + b);
            }
        }
        out.printf("== %s: %d of %d lines differ\n", name, differences.size(), want.size());
        differences.forEach(line -> out.print(line + "\n"));
        return want.size() - differences.size();
    }

    private static List<String> flows(String jar, int port) {
        try {
            Process process = new ProcessBuilder(ProcessHandle.current().info().command().orElseThrow(),
                    "-XX:TieredStopAtLevel=1", "-jar", jar, "--host", "127.0.0.1", "--port", Integer.toString(port),
                    "--flow", "all", "--key", "check").redirectError(ProcessBuilder.Redirect.INHERIT).start();
            String flow = "";
            List<String> lines = new ArrayList<>();
            for (String line : process.inputReader().lines().toList()) {
                flow = line.startsWith("flow ") ? line.substring(5) + ": " : flow;
                lines.add(flow + TTL.matcher(line).replaceAll("ttl=some"));
            }
            return lines;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> calls(int port) {
        List<String> lines = new ArrayList<>();
        try (Jedis client = new Jedis("127.0.0.1", port)) {
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
