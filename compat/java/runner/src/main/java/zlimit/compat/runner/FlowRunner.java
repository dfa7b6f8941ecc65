package zlimit.compat.runner;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Scanner;
import java.util.stream.Stream;

/**
 * Runs one flow, or all flows of a program, each in a section of its own and on a key of its own.
 *
 * <p>A section that lacks its {@code end} did not run to its end. One broken flow does not hide the flows after it.
 */
public final class FlowRunner {
    private FlowRunner() {
    }

    /** A client library with its flows, connected. */
    public interface Client extends AutoCloseable {
        /** Name and version, asked of the library. */
        String nameAndVersion();

        List<Flow> flows();

        /** Flows of commands that redis-server does not have: they run by their name only. */
        default List<Flow> ours() {
            return List.of();
        }

        @Override
        void close();
    }

    /** Opens the client against the server that was asked for. */
    @FunctionalInterface
    public interface Connector {
        Client connect(Invocation invocation) throws Exception;
    }

    /**
     * The whole of a program's main. Returns the exit code: 0 ran, 1 did not, 2 was asked wrongly.
     *
     * <p>With {@code --batch} alone it runs the command lines that it reads, whose words are separated by tabs, each with
     * a client of its own, and writes each one's exit code after it.
     */
    public static int main(String[] args, Connector connector) {
        if (args.length != 1 || !args[0].equals("--batch")) {
            return once(args, connector);
        }
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            int code = once(lines.nextLine().split("\t"), connector);
            System.out.println("exit " + code);
        }
        return 0;
    }

    private static int once(String[] args, Connector connector) {
        Invocation invocation;
        try {
            invocation = Invocation.parse(args);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.err.println(Invocation.USAGE);
            return 2;
        }
        try (Client client = connector.connect(invocation)) {
            return run(invocation, client, new Transcript(System.out));
        } catch (Exception e) {
            e.printStackTrace();
            return 1;
        }
    }

    private static int run(Invocation invocation, Client client, Transcript out) throws Exception {
        out.client(client.nameAndVersion());
        if (invocation.flow().equals("all")) {
            int code = 0;
            for (Flow flow : client.flows()) {
                out.section(flow.name());
                try {
                    run(flow, invocation.key() + ':' + flow.name(), invocation.instants(), out);
                } catch (Exception e) {
                    e.printStackTrace();
                    code = 1;
                }
            }
            return code;
        }
        List<Flow> known = Stream.concat(client.flows().stream(), client.ours().stream()).toList();
        for (Flow flow : known) {
            if (flow.name().equals(invocation.flow())) {
                run(flow, invocation.key(), invocation.instants(), out);
                return 0;
            }
        }
        System.err.println("no such flow; there are: "
                + String.join(" ", known.stream().map(Flow::name).toList()));
        return 2;
    }

    private static void run(Flow flow, String key, List<Long> instants, Transcript out) throws Exception {
        flow.body().run(key, instants.isEmpty() ? flow.instants() : instants, out);
        out.end();
    }
}
