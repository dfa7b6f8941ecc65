package zlimit.compat.runner;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The command line: {@code --host H --port P --flow NAME --key KEY [--instants MS,MS,...] [--tls FOLDER]
 * [--user NAME --password PASSWORD] [--cluster yes]}.
 *
 * @param instants empty when each flow is to use its own
 * @param tls folder with ca.crt and, if the client has them, client.crt and client.key; null for none
 * @param user logs in as this user; null for none
 * @param cluster the server is a node of a cluster
 */
public record Invocation(String host, int port, String flow, String key, List<Long> instants, Path tls, String user,
        String password, boolean cluster) {
    public static final String USAGE =
            "usage: --host HOST --port PORT --flow NAME|all --key KEY [--instants MS,MS,...] [--tls FOLDER]"
                    + " [--user NAME --password PASSWORD] [--cluster yes]";

    private static final Set<String> NAMES = Set.of(
            "--host", "--port", "--flow", "--key", "--instants", "--tls", "--user", "--password", "--cluster");

    /** Throws IllegalArgumentException for anything but pairs of a known name and a value. */
    public static Invocation parse(String[] args) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < args.length; i += 2) {
            if (!NAMES.contains(args[i])) {
                throw new IllegalArgumentException("unknown argument " + args[i]);
            }
            if (i + 1 == args.length) {
                throw new IllegalArgumentException(args[i] + " has no value");
            }
            given.put(args[i], args[i + 1]);
        }
        String instants = given.get("--instants");
        return new Invocation(
                given.getOrDefault("--host", "127.0.0.1"),
                Integer.parseInt(required(given, "--port")),
                required(given, "--flow"),
                required(given, "--key"),
                instants == null ? List.of() : Instants.parse(instants),
                given.containsKey("--tls") ? Path.of(given.get("--tls")) : null,
                given.get("--user"),
                given.get("--password"),
                "yes".equals(given.get("--cluster")));
    }

    private static String required(Map<String, String> given, String name) {
        String value = given.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return value;
    }
}
