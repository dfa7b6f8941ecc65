package io.zlimit;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/**
 * The server's binary, unpacked from the platform's jar.
 *
 * <p>It is unpacked once for each version, into the user's cache directory, or a directory of the user's in that for
 * temporary files if the cache cannot be written or executed from.
 */
final class Binary {
    static final String ANOTHER = "To use another zlimit-server, set the system property zlimit.server "
            + "or the environment variable ZLIMIT_SERVER to its path.";

    private static Path found; // protected by the class

    private Binary() {
    }

    /** Returns the path of an executable server. */
    static synchronized Path path() {
        String chosen = System.getProperty("zlimit.server", System.getenv("ZLIMIT_SERVER"));
        if (chosen != null && !chosen.isEmpty()) {
            Path path = Path.of(chosen);
            if (!Files.isExecutable(path)) {
                throw new IllegalStateException("zlimit: " + path + ", which zlimit.server or ZLIMIT_SERVER names, "
                        + (Files.exists(path) ? "is not executable" : "does not exist"));
            }
            return path;
        }
        if (found == null || !Files.isExecutable(found)) {
            found = unpack(Platform.name(System.getProperty("os.name"), System.getProperty("os.arch")), parents());
        }
        return found;
    }

    /** Returns the directories to try, in order. */
    private static List<Path> parents() {
        List<Path> parents = new ArrayList<>();
        String cache = System.getenv("XDG_CACHE_HOME");
        try {
            if (cache != null && Path.of(cache).isAbsolute()) {
                parents.add(Path.of(cache, "zlimit"));
            } else {
                boolean mac = System.getProperty("os.name").startsWith("Mac");
                parents.add(Path.of(System.getProperty("user.home"), mac ? "Library/Caches" : ".cache", "zlimit"));
            }
        } catch (InvalidPathException e) {
            // The locale cannot spell this path.
        }
        parents.add(Path.of(System.getProperty("java.io.tmpdir"), "zlimit-" + System.getProperty("user.name")));
        return parents;
    }

    static Path unpack(String platform, List<Path> parents) {
        String resource = "/io/zlimit/server/" + platform + "/";
        URL content = Binary.class.getResource(resource + "zlimit-server");
        if (content == null) {
            throw new IllegalStateException("zlimit: io.zlimit:zlimit-server-" + platform + ", which has the server, "
                    + "is not on the class path. It is a dependency of zlimit-junit: an exclusion may have removed it. "
                    + ANOTHER);
        }
        List<String> reasons = new ArrayList<>();
        for (Path parent : parents) {
            try {
                return unpack(content, properties(resource), parent);
            } catch (IOException | InvalidPathException | UnsupportedOperationException e) {
                reasons.add(parent + ": " + e);
            }
        }
        throw new IllegalStateException("zlimit: the server cannot be unpacked. " + String.join("; ", reasons) + ". "
                + ANOTHER);
    }

    private static Properties properties(String resource) throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Binary.class.getResourceAsStream(resource + "zlimit-server.properties")) {
            properties.load(in);
        }
        return properties;
    }

    private static Path unpack(URL content, Properties properties, Path parent) throws IOException {
        Path directory = parent.resolve(properties.getProperty("sha256").substring(0, 16));
        Path binary = directory.resolve("zlimit-server");
        createPrivate(parent);
        createPrivate(directory);
        if (!Files.exists(binary) || Files.size(binary) != Long.parseLong(properties.getProperty("size"))) {
            // Others may do the same at this moment: the last one's file stays.
            Path part = Files.createTempFile(directory, "zlimit-server", ".part");
            try (InputStream in = content.openStream()) {
                Files.copy(in, part, StandardCopyOption.REPLACE_EXISTING);
                Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rwx------"));
                Files.move(part, binary, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(part);
            }
        }
        if (!Files.isExecutable(binary)) { // lost, or the file system is mounted with noexec
            Files.setPosixFilePermissions(binary, PosixFilePermissions.fromString("rwx------"));
        }
        if (!Files.isExecutable(binary)) {
            throw new IOException("files there cannot be executed");
        }
        return binary;
    }

    /** Creates a directory that nobody else can write to, or checks that the one there is the user's. */
    private static void createPrivate(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory,
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        }
        if (!Files.isWritable(directory)) {
            throw new IOException("it is not writable");
        }
        Path mine = Files.createTempFile(directory, "owner", "");
        try {
            if (!Files.getOwner(mine).equals(Files.getOwner(directory))) {
                throw new IOException("it belongs to another user");
            }
        } finally {
            Files.delete(mine);
        }
    }
}
