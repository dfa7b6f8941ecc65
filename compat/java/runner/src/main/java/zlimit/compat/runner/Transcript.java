package zlimit.compat.runner;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The comparable output of a run, one line per hit: {@code <instant> <decision> [name=value]...}, separated by single
 * spaces. Blanks inside a value become underscores, so that splitting at spaces is always right.
 *
 * <p>For one thread.
 */
public final class Transcript {
    private final PrintStream out;

    public Transcript(PrintStream stream) {
        // Not the platform's encoding: both runs of a comparison must spell alike wherever they are started.
        out = new PrintStream(stream, true, StandardCharsets.UTF_8);
    }

    void client(String nameAndVersion) {
        out.println("client " + nameAndVersion);
    }

    void section(String flow) {
        out.println("flow " + flow);
    }

    void end() {
        out.println("end");
    }

    /** One hit of a limiter that answers yes or no. */
    public void hit(long instant, boolean allowed, String... fields) {
        hit(instant, allowed ? "allowed" : "denied", fields);
    }

    /** One hit; {@code fields} come from {@link #field}. */
    public void hit(long instant, String decision, String... fields) {
        StringBuilder line = new StringBuilder().append(instant).append(' ').append(oneWord(decision));
        for (String field : fields) {
            line.append(' ').append(field);
        }
        out.println(line);
    }

    /** A {@code name=value}; the value of null is {@code null}. */
    public static String field(String name, Object value) {
        return name + '=' + oneWord(String.valueOf(value));
    }

    /**
     * An exception as a value: class without package, and message, of what the library threw and, where that was only a
     * wrapping, of what lies at its bottom. The latter holds the server's own words.
     */
    public static String describe(Throwable thrown) {
        Throwable root = thrown;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root == thrown ? name(thrown) : name(thrown) + "<-" + name(root);
    }

    private static String name(Throwable thrown) {
        return thrown.getClass().getSimpleName() + ':' + thrown.getMessage();
    }

    private static String oneWord(String text) {
        return text.strip().replaceAll("\\s+", "_");
    }
}
