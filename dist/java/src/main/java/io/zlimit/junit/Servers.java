package io.zlimit.junit;

import io.zlimit.Server;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The servers of test classes. Those of Spring tests are shared, and end with this process. */
public final class Servers {
    private static final Map<List<String>, Server> SHARED = new ConcurrentHashMap<>();

    private Servers() {
    }

    /** Returns the server of all Spring tests whose annotations have the same arguments. */
    public static Server shared(ZlimitServer annotation) {
        return SHARED.computeIfAbsent(List.of(annotation.arguments()), arguments -> start(annotation));
    }

    static Server start(ZlimitServer annotation) {
        return Server.builder().arguments(annotation.arguments()).start();
    }
}
