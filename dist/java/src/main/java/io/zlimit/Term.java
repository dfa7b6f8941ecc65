package io.zlimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A key of {@link Server#allowAll}, with limits of its own or with slots. */
public sealed interface Term {
    String key();

    /** Returns a term with one limit and cost 1. */
    static Limits of(String key, long limit, Duration window) {
        return new Limits(key, List.of(new Limit(limit, window)), 1, "LOG");
    }

    /** Returns a term that bounds how many hold a slot at once. */
    static Slots slots(String key, long max, Duration lease) {
        return new Slots(key, max, lease);
    }

    /**
     * A number of units in a window.
     *
     * @param window whole milliseconds
     */
    record Limit(long limit, Duration window) {}

    /**
     * A term with limits.
     *
     * @param limits those that all must admit the call
     * @param cost how many units the call takes, at least 1
     * @param algorithm what stands behind ALGO: {@code "FIXED"} or {@code "GCRA 10"} for example
     */
    record Limits(String key, List<Limit> limits, long cost, String algorithm) implements Term {
        public Limits {
            limits = List.copyOf(limits);
        }

        /** Returns the term with one more limit. */
        public Limits and(long limit, Duration window) {
            List<Limit> all = new ArrayList<>(limits);
            all.add(new Limit(limit, window));
            return new Limits(key, all, cost, algorithm);
        }

        /** Returns the term with another cost. */
        public Limits cost(long units) {
            return new Limits(key, limits, units, algorithm);
        }

        /** Returns the term with another algorithm. */
        public Limits algorithm(String name) {
            return new Limits(key, limits, cost, name);
        }
    }

    /**
     * A term with slots, of which the id of the call takes one.
     *
     * @param max how many ids have a slot at once
     * @param lease when a slot becomes free that nothing else frees, in whole milliseconds
     */
    record Slots(String key, long max, Duration lease) implements Term {}
}
