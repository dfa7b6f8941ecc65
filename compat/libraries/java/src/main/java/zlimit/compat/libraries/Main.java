package zlimit.compat.libraries;

import java.io.InputStream;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import redis.clients.jedis.Jedis;

/** Runs one library's algorithms through the scenario. */
public final class Main {
    /** How long any client waits for the server, so that a busy machine makes no library try twice. */
    static final int PATIENCE_MS = 60_000;

    /** Makes a library's limiter on a server. */
    interface Factory {
        Limiter on(String host, int port, boolean cluster) throws Exception;
    }

    /** A library of those examined: the names of its version and its client's, and its algorithms. */
    private record Library(String name, String version, String client, String on, Map<String, Factory> flows) {}

    private static final Bucket4jLimiter.Refill GREEDY = (bucket, tokens, window) -> bucket.refillGreedy(tokens, window);
    private static final Bucket4jLimiter.Refill INTERVALLY =
            (bucket, tokens, window) -> bucket.refillIntervally(tokens, window);

    private static Map<String, Library> libraries() {
        Map<String, Factory> onLettuce = new LinkedHashMap<>();
        onLettuce.put("greedy", (host, port, cluster) -> Bucket4jLimiter.onLettuce(host, port, cluster, GREEDY));
        onLettuce.put("interval", (host, port, cluster) -> Bucket4jLimiter.onLettuce(host, port, cluster, INTERVALLY));
        Map<String, Factory> onJedis = new LinkedHashMap<>();
        onJedis.put("greedy", (host, port, cluster) -> Bucket4jLimiter.onJedis(host, port, GREEDY));
        onJedis.put("interval", (host, port, cluster) -> Bucket4jLimiter.onJedis(host, port, INTERVALLY));
        return Map.of(
                "redisson", new Library("Redisson RRateLimiter", "redisson", "Redisson", "redisson",
                        Map.of("sliding-window", RedissonLimiter::new)),
                "bucket4j-lettuce", new Library("Bucket4j", "bucket4j", "Lettuce", "lettuce", onLettuce),
                "bucket4j-jedis", new Library("Bucket4j", "bucket4j", "Jedis", "jedis", onJedis),
                "spring-cloud-gateway", new Library("Spring Cloud Gateway", "spring-cloud-gateway", "Lettuce", "lettuce",
                        Map.of("token-bucket", GatewayLimiter::new)));
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>(Map.of("--host", "127.0.0.1", "--flow", "all"));
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
        Library library = libraries().get(options.get("--library"));
        if (library == null || !options.keySet().containsAll(java.util.Set.of("--port", "--key", "--clock"))) {
            throw new IllegalArgumentException(
                    "need --port, --key, --clock and --library, one of " + libraries().keySet());
        }
        run(library, options);
        System.exit(0); // clients leave threads behind
    }

    private static void run(Library library, Map<String, String> options) throws Exception {
        String host = options.get("--host");
        int port = Integer.parseInt(options.get("--port"));
        boolean cluster = "yes".equals(options.get("--cluster"));
        String only = options.get("--flow");
        Properties versions = new Properties();
        try (InputStream file = Main.class.getResourceAsStream("/versions.properties")) {
            versions.load(file);
        }
        System.out.printf("client %s %s on %s %s%n", library.name, versions.getProperty(library.version),
                library.client, versions.getProperty(library.on));
        HeldClock clock = new HeldClock(options.get("--clock"));
        try (Jedis server = new Jedis(host, port, PATIENCE_MS)) {
            for (Map.Entry<String, Factory> flow : library.flows.entrySet()) {
                if (!only.equals("all") && !only.equals(flow.getKey())) {
                    continue;
                }
                if (only.equals("all")) {
                    System.out.println("flow " + flow.getKey());
                }
                server.flushAll();
                try (Limiter limiter = flow.getValue().on(host, port, cluster)) {
                    new Scenario(server, clock, options.get("--key") + "-" + flow.getKey(), limiter).run();
                }
                System.out.println("end");
            }
        }
    }
}
