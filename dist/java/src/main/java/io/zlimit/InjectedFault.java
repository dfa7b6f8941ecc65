package io.zlimit;

import java.util.List;

/** A fault that was injected into a server. */
public final class InjectedFault {
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

    /** Removes the fault. */
    public void remove() {
        server.debug("remove", List.of("FAULT", "REMOVE", Long.toString(id)));
    }

    private static Object value(List<?> fields, String name) {
        return fields.get(fields.indexOf(name) + 1);
    }
}
