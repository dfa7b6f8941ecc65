package zlimit.compat.libraries;

import java.util.LinkedHashMap;
import java.util.Map;

/** A library's own limiter, on one server. */
interface Limiter extends AutoCloseable {

    /** A limit in a number of seconds. */
    Hit of(int limit, int seconds) throws Exception;

    /**
     * Whether every lost connection is made anew at once. Redisson's is, but a command that is written before the loss
     * was seen is only missed when its answer is late.
     */
    default boolean reconnects() {
        return false;
    }

    /** One call for a key; it may be called concurrently. */
    interface Hit {
        Answer call(String key) throws Exception;
    }

    /** What a call was answered, and what was reported besides, in the order of reporting. */
    record Answer(boolean allowed, Map<String, Object> fields) {

        static Answer of(boolean allowed, Object... namesAndValues) {
            Map<String, Object> fields = new LinkedHashMap<>();
            for (int i = 0; i < namesAndValues.length; i += 2) {
                fields.put((String) namesAndValues[i], namesAndValues[i + 1]);
            }
            return new Answer(allowed, fields);
        }
    }
}
