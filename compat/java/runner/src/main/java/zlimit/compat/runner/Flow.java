package zlimit.compat.runner;

import java.util.List;

/**
 * One limiter of the documents, driven hit by hit.
 *
 * @param name     as {@code --flow} takes it
 * @param instants used when the command line names none
 * @param body     deletes what the flow will write, then makes one hit per instant
 */
public record Flow(String name, List<Long> instants, Body body) {

    /** The hits of a flow. */
    @FunctionalInterface
    public interface Body {
        /** Any exception means that the flow could not run; a refused hit is a line, not an exception. */
        void run(String key, List<Long> instants, Transcript out) throws Exception;
    }
}
