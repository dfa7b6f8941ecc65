package io.zlimit;

import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The platforms for which there are servers, under the names that Netty and protoc use for theirs. */
final class Platform {
    static final List<String> ALL = List.of("linux-aarch_64", "linux-x86_64", "osx-aarch_64", "osx-x86_64");

    private static final Map<String, String> SYSTEMS = Map.of("mac os x", "osx", "macos", "osx");
    private static final Map<String, String> ARCHITECTURES = Map.of("amd64", "x86_64", "aarch64", "aarch_64");

    private Platform() {
    }

    /** Returns the name for the values of {@code os.name} and {@code os.arch}. */
    static String name(String system, String architecture) {
        String os = system.toLowerCase(Locale.ROOT);
        String arch = architecture.toLowerCase(Locale.ROOT);
        String name = SYSTEMS.getOrDefault(os, os) + "-" + ARCHITECTURES.getOrDefault(arch, arch);
        if (!ALL.contains(name)) {
            throw new IllegalStateException("zlimit: there is no server for " + system + " on " + architecture
                    + ", only for " + String.join(", ", ALL) + ". " + Binary.ANOTHER);
        }
        return name;
    }
}
