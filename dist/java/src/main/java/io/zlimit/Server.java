package io.zlimit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A running zlimit-server. It ends with {@link #close()}, and with this process at the latest, even if that is killed.
 *
 * <p>Servers may be used concurrently.
 */
public final class Server implements AutoCloseable {
    private final ServerProcess process;
    private final String host;
    private final int port;
    private final ServerClock clock;

    private Server(ServerProcess process, String host, int port) {
        this.process = process;
        this.host = host;
        this.port = port;
        clock = new ServerClock(this);
    }

    /** Starts a server on a free port of 127.0.0.1. */
    public static Server start() {
        return new Builder().start();
    }

    /** Returns what configures a server. */
    public static Builder builder() {
        return new Builder();
    }

    public String host() {
        return host;
    }

    public int port() {
        return port;
    }

    /** Returns {@code redis://HOST:PORT}. */
    public URI uri() {
        return URI.create("redis://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port);
    }

    /** Returns the process id. */
    public long pid() {
        return process.pid();
    }

    /** Returns the server's clock: that of TIME, TTLs, scripts and RL.*. */
    public ServerClock clock() {
        return clock;
    }

    /** Makes the next commands of clients fail. */
    public InjectedFault inject(Fault fault) {
        return new InjectedFault(this, (Long) debug("inject", fault.arguments()));
    }

    /** Removes every fault. */
    public void clearFaults() {
        debug("clearFaults", List.of("FAULT", "CLEAR"));
    }

    /**
     * Sends any command, on a connection of its own. Returns its reply, as RESP2 has it: a String, a Long, a List or null.
     *
     * @throws ReplyException if the reply is an error
     */
    public Object command(String... arguments) {
        return Connection.send(host, port, arguments);
    }

    /**
     * Runs RL.ALLOW for one unit, as {@link #command} does, and returns its reply.
     *
     * @param window whole milliseconds
     * @throws ReplyException if the reply is an error
     */
    public Decision allow(String key, long limit, Duration window) {
        return allow(key, limit, window, 1);
    }

    /** Runs RL.ALLOW for so many units, all or none; 0 takes none and answers for one. */
    public Decision allow(String key, long limit, Duration window, long cost) {
        return allow(key, limit, window, cost, List.of());
    }

    /** Runs RL.ALLOW with what stands behind ALGO: {@code "FIXED"} or {@code "GCRA 10"} for example. */
    public Decision allow(String key, long limit, Duration window, long cost, String algorithm) {
        return allow(key, limit, window, cost, List.of(("ALGO " + algorithm).split(" ")));
    }

    private Decision allow(String key, long limit, Duration window, long cost, List<String> options) {
        List<String> all = new ArrayList<>(List.of("RL.ALLOW", key, Long.toString(limit),
                Commands.millis("allow", window), "COST", Long.toString(cost)));
        all.addAll(options);
        return Decision.of((List<?>) command(all.toArray(String[]::new)));
    }

    /**
     * Runs RL.MALLOW, and returns the decision of the binding term. All terms admit the call, or it consumes
     * nothing.
     *
     * @throws ReplyException if the reply is an error
     */
    public TermDecision allowAll(List<? extends Term> terms) {
        return allowAll("RL.MALLOW", terms, List.of());
    }

    /** Runs RL.MALLOW for the id that takes the slots: it needs a term of {@link Term#slots}. */
    public TermDecision allowAll(List<? extends Term> terms, String id) {
        return allowAll("RL.MALLOW", terms, List.of("ID", id));
    }

    /**
     * Runs RL.MRESERVE: costs are estimates, and until hold has passed {@link #settle} or {@link #cancel}
     * corrects them.
     *
     * @param hold whole milliseconds
     */
    public TermDecision allowAll(List<? extends Term> terms, Duration hold, String id) {
        return allowAll("RL.MRESERVE", terms, List.of("HOLD", Commands.millis("allowAll", hold), "ID", id));
    }

    private TermDecision allowAll(String name, List<? extends Term> terms, List<String> options) {
        return TermDecision.of((List<?>) command(Commands.withTerms(name, terms, options)));
    }

    /**
     * Runs RL.MSETTLE, and returns what it did to each key; once more it returns the same and changes nothing.
     * The list is empty if the id has no hold.
     *
     * @param actuals the cost of each key, any number for slots
     */
    public List<Settlement> settle(List<String> keys, String id, long... actuals) {
        return Commands.settlements(command(Commands.withKeys("RL.MSETTLE", keys, id, actuals)));
    }

    /**
     * Runs RL.MCANCEL, and returns the units given back of each key, 1 for a slot. The list is empty if the id
     * has no hold.
     */
    public List<Long> cancel(List<String> keys, String id) {
        return Commands.units(command(Commands.withKeys("RL.MCANCEL", keys, id)));
    }

    /** Between tests: removes keys, scripts and faults, and lets the clock show the system's time. */
    public void reset() {
        debug("reset", List.of("RESET"));
    }

    /** Returns the latest 1000 lines of the server's log, with all that was logged before this call. */
    public String log() {
        return process.log(mark -> command("DEBUG", "LOG", mark));
    }

    /** Ends the server and waits until its process has ended. */
    @Override
    public void close() {
        process.end();
    }

    /** Sends a subcommand of DEBUG for a method, which an error names. */
    Object debug(String method, List<String> arguments) {
        List<String> all = new ArrayList<>(List.of("DEBUG"));
        all.addAll(arguments);
        try {
            return command(all.toArray(String[]::new));
        } catch (ReplyException e) {
            if (e.getMessage().startsWith("ERR DEBUG command not allowed")) {
                throw new IllegalStateException(
                        method + ": this server was started without debug commands (--enable-debug-command yes)", e);
            }
            throw new IllegalArgumentException(method + ": " + e.getMessage(), e);
        }
    }

    /** What a server is started with. */
    public static final class Builder {
        private String host = "127.0.0.1";
        private int port;
        private boolean debug = true;
        private boolean cluster;
        private Path binary;
        private Duration timeout = Duration.ofSeconds(10);
        private List<String> arguments = List.of();

        private Builder() {
        }

        /** Listens on another address than 127.0.0.1. */
        public Builder host(String address) {
            host = address;
            return this;
        }

        /** Listens on this port instead of a free one. */
        public Builder port(int number) {
            port = number;
            return this;
        }

        /** Sets whether DEBUG works, and with it the clock, faults and reset. By default it does. */
        public Builder debug(boolean allowed) {
            debug = allowed;
            return this;
        }

        /** Sets whether the server is a cluster of one node, which refuses what a cluster refuses. By default it is not. */
        public Builder cluster(boolean enabled) {
            cluster = enabled;
            return this;
        }

        /** Runs another zlimit-server than the one on the class path. */
        public Builder binary(Path path) {
            binary = path;
            return this;
        }

        /** Sets how long the server may take to start; 10 seconds by default. */
        public Builder timeout(Duration longest) {
            timeout = longest;
            return this;
        }

        /** Adds directives, as on the command line: {@code "--maxmemory", "10mb"}. */
        public Builder arguments(String... directives) {
            arguments = List.of(directives);
            return this;
        }

        /**
         * Starts the server and returns when it accepts connections.
         *
         * @throws IllegalStateException if the server ends instead; the message has its log
         */
        public Server start() {
            Path path = binary == null ? Binary.path() : binary;
            List<String> command = new ArrayList<>(List.of(
                    path.toString(), "--bind", host, "--port", Integer.toString(port),
                    "--ready-line", "yes", "--exit-with-stdin", "yes", "--log-format", "text",
                    "--enable-debug-command", debug ? "yes" : "no"));
            if (cluster) {
                command.addAll(List.of(
                        "--cluster-enabled", "yes", "--cluster-config-file", "", "--cluster-announce-ip", host));
            }
            command.addAll(arguments);
            ServerProcess process;
            try {
                process = new ServerProcess(command);
            } catch (IOException e) {
                throw new UncheckedIOException("zlimit: " + path + " cannot be started: " + e.getMessage(), e);
            }
            return new Server(process, host, process.port(timeout));
        }
    }
}
