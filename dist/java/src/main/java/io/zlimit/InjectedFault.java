package io.zlimit;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** A fault that was injected into a server. */
public final class InjectedFault {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);
    private static final Duration POLLING = Duration.ofMillis(1);

    private final Server server;
    private final long id;

    InjectedFault(Server server, long id) {
        this.server = server;
        this.id = id;
    }

    /** Returns how many commands it has affected: 0 after {@link Server#clearFaults}. */
    public long hits() {
        for (Object item : (List<?>) server.debug("hits", List.of("FAULT", "LIST"))) {
            List<?> fields = (List<?>) item; // names and values
            if (value(fields, "id").equals(id)) {
                return (Long) value(fields, "hits");
            }
        }
        return 0;
    }

    /**
     * Waits until the fault has affected a command, which may still be delayed.
     *
     * @throws IllegalStateException if that takes longer than 10 seconds, or if the thread is interrupted
     */
    public void await() {
        long end = System.nanoTime() + TIMEOUT.toNanos();
        while (hits() == 0) {
            if (System.nanoTime() - end > 0 || Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("await: the fault has affected no command");
            }
            LockSupport.parkNanos(POLLING.toNanos());
        }
    }

    /** Removes the fault. Delays under way continue, except those until then. */
    public void remove() {
        server.debug("remove", List.of("FAULT", "REMOVE", Long.toString(id)));
    }

    private static Object value(List<?> fields, String name) {
        return fields.get(fields.indexOf(name) + 1);
    }
}
