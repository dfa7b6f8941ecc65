package io.zlimit.junit;

import io.zlimit.Server;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The servers of test classes. Those of Spring tests are shared, and end with this process. */
public final class Servers {
    private static final Map<List<Object>, Server> SHARED = new ConcurrentHashMap<>();

    private Servers() {
    }

    /** Returns the server of all Spring tests whose annotations have the same setting. */
    public static Server shared(ZlimitServer annotation) {
        return SHARED.computeIfAbsent(setting(annotation), setting -> start(annotation));
    }

    /** Returns what the annotations of Spring tests that share a server have in common. */
    public static List<Object> setting(ZlimitServer annotation) {
        return List.of(annotation.cluster(), List.of(annotation.arguments()));
    }

    static Server start(ZlimitServer annotation) {
        return Server.builder().cluster(annotation.cluster()).arguments(annotation.arguments()).start();
    }
}
