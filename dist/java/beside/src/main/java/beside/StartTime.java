package beside;

import com.github.fppt.jedismock.RedisServer;
import io.zlimit.Server;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import redis.clients.jedis.Jedis;

/**
 * Prints the median time from the call that starts a server to its first reply. The arguments, both optional, are the
 * number of starts and the file to print to:
 *
 * <pre>mvn compile exec:java -Dexec.mainClass=beside.StartTime -Dexec.args=50</pre>
 */
public final class StartTime {
    private interface Way {
        /** Starts a server, calls PING, and returns what ends the server. */
        AutoCloseable start() throws Exception;
    }

    private static final int TIMEOUT_MS = 60_000; // a machine may be busy

    private static PrintStream out = System.out;

    private StartTime() {
    }

    public static void main(String[] arguments) throws Exception {
        int starts = arguments.length == 0 ? 50 : Integer.parseInt(arguments[0]);
        if (arguments.length > 1) {
            out = new PrintStream(arguments[1], StandardCharsets.UTF_8);
        }
        measure(starts, "Server.start()", () -> {
            Server server = Server.start();
            ping(server.port());
            return server;
        });
        measure(starts, "RedisServer.newRedisServer().start() of jedis-mock", () -> {
            RedisServer server = RedisServer.newRedisServer().start();
            ping(server.getBindPort());
            return server::stop;
        });
        measure(starts, "new RedisServer(port).start() of embedded-redis", () -> {
            redis.embedded.RedisServer server = new redis.embedded.RedisServer(freePort());
            server.start();
            ping(server.ports().get(0));
            return server::stop;
        });
        try (Server server = Server.start()) {
            measure(starts, "server.reset()", () -> {
                server.reset();
                return () -> { };
            });
        }
        out.close();
        System.exit(0); // some leave threads behind
    }

    private static void measure(int starts, String name, Way way) throws Exception {
        double[] times = new double[starts];
        for (int i = -5; i < starts; i++) { // the first ones load classes
            long begin = System.nanoTime();
            AutoCloseable end = way.start();
            double passed = (System.nanoTime() - begin) / 1e6;
            end.close();
            times[Math.max(i, 0)] = passed;
        }
        Arrays.sort(times);
        out.printf("%8.1f ms  %s%n", times[starts / 2], name);
    }

    private static void ping(int port) {
        try (Jedis client = new Jedis("127.0.0.1", port, TIMEOUT_MS)) {
            client.ping();
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }
}
