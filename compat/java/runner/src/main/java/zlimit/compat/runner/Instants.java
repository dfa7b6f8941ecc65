package zlimit.compat.runner;

import java.util.Arrays;
import java.util.List;

/** Moments in unix milliseconds. They are the only time a flow knows; the machine's clock is never read. */
public final class Instants {
    /**
     * Start of every default series: a whole second, and a multiple of 5 s, so that the rolling window begins here too.
     * It lies in the past and may: keys expire by the server's real clock, relative to the moment of the call, while a
     * whole run takes milliseconds.
     */
    public static final long BASE = 1_700_000_000_000L;

    private Instants() {
    }

    /** The given distances in milliseconds after {@link #BASE}, in the given order, which need not rise. */
    public static List<Long> afterBase(long... distances) {
        return Arrays.stream(distances).map(distance -> BASE + distance).boxed().toList();
    }

    /** Reads a comma-separated list. */
    static List<Long> parse(String list) {
        return Arrays.stream(list.split(",", -1)).map(Long::valueOf).toList();
    }
}
