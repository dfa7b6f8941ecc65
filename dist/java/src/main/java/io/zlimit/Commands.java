package io.zlimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** The words of RL.* commands, and their replies over several keys. */
final class Commands {
    private Commands() {}

    /** Returns the words of RL.MALLOW or RL.MRESERVE. */
    static String[] withTerms(String name, List<? extends Term> terms, List<String> options) {
        List<String> words = begin(name, terms.stream().map(Term::key).toList());
        for (Term term : terms) {
            words.add("TERM");
            if (term instanceof Term.Slots slots) {
                words.addAll(List.of("SLOTS", Long.toString(slots.max())));
                words.addAll(List.of("LEASE", millis("allowAll", slots.lease())));
            } else if (term instanceof Term.Limits limits) {
                for (Term.Limit each : limits.limits()) {
                    words.addAll(List.of(Long.toString(each.limit()), millis("allowAll", each.window())));
                }
                words.addAll(List.of(("ALGO " + limits.algorithm()).split(" ")));
                words.addAll(List.of("COST", Long.toString(limits.cost())));
            }
        }
        words.addAll(options);
        return words.toArray(String[]::new);
    }

    /** Returns the words of RL.MSETTLE or RL.MCANCEL. */
    static String[] withKeys(String name, List<String> keys, String id, long... actuals) {
        List<String> words = begin(name, keys);
        words.add(id);
        Arrays.stream(actuals).mapToObj(Long::toString).forEach(words::add);
        return words.toArray(String[]::new);
    }

    private static List<String> begin(String name, List<String> keys) {
        List<String> words = new ArrayList<>(List.of(name, Integer.toString(keys.size())));
        words.addAll(keys);
        return words;
    }

    static List<Settlement> settlements(Object reply) {
        return each(reply).stream().map(List.class::cast)
                .map(pair -> new Settlement((Long) pair.get(0), (Long) pair.get(1))).toList();
    }

    static List<Long> units(Object reply) {
        return each(reply).stream().map(Long.class::cast).toList();
    }

    /** Returns what a reply has for each key: nothing if it is 0, since the id has no hold. */
    private static List<?> each(Object reply) {
        return reply instanceof List<?> items ? items : List.of();
    }

    /** Returns a time as the server takes it, for a method, which an error names. */
    static String millis(String method, Duration time) {
        if (time.getNano() % 1_000_000 != 0) {
            throw new IllegalArgumentException(method + ": " + time + " is not a whole number of milliseconds");
        }
        return Long.toString(time.toMillis());
    }
}
