package io.zlimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the server is unpacked to. */
class BinaryTest {
    private static final String HERE = Platform.name(System.getProperty("os.name"), System.getProperty("os.arch"));
    private static final Path UNUSABLE = Path.of("/proc/zlimit"); // even for root

    @TempDir
    private Path folder;

    private String version(Path binary) throws IOException {
        Process process = new ProcessBuilder(binary.toString(), "--version").start();
        try (var out = process.inputReader()) {
            return out.readLine();
        }
    }

    @Test
    void spacesAndLettersBeyondAscii() throws IOException {
        Path parent = folder.resolve("zürich 北京");
        Path binary = Binary.unpack(HERE, List.of(parent));
        assertTrue(binary.startsWith(parent));
        assertTrue(version(binary).startsWith("zlimit-server "));
        try (var files = Files.list(binary.getParent())) {
            assertEquals(List.of(binary), files.toList());
        }
    }

    @Test
    void readOnlyHome() throws IOException {
        Path binary = Binary.unpack(HERE, List.of(UNUSABLE, folder));
        assertTrue(binary.startsWith(folder));
        assertTrue(version(binary).startsWith("zlimit-server "));
    }

    @Test
    void nowhere() {
        var error = assertThrows(IllegalStateException.class, () -> Binary.unpack(HERE, List.of(UNUSABLE)));
        assertTrue(error.getMessage().startsWith("zlimit: the server cannot be unpacked. /proc/zlimit: "),
                error::getMessage);
        assertTrue(error.getMessage().contains("set the system property zlimit.server"), error::getMessage);
    }

    @Test
    void unpackedOnce() throws IOException {
        Path binary = Binary.unpack(HERE, List.of(folder));
        var written = Files.getLastModifiedTime(binary);
        assertEquals(binary, Binary.unpack(HERE, List.of(folder)));
        assertEquals(written, Files.getLastModifiedTime(binary));
    }

    @Test
    void aFileThatWasCutShortIsReplaced() throws IOException {
        Path binary = Binary.unpack(HERE, List.of(folder));
        long size = Files.size(binary);
        Files.writeString(binary, "short");
        Binary.unpack(HERE, List.of(folder));
        assertEquals(size, Files.size(binary));
    }

    @Test
    void lostPermission() throws IOException {
        Path binary = Binary.unpack(HERE, List.of(folder));
        Files.setPosixFilePermissions(binary, PosixFilePermissions.fromString("rw-r--r--"));
        Binary.unpack(HERE, List.of(folder));
        assertTrue(Files.isExecutable(binary));
    }

    @Test
    void aFolderOfAnotherUserIsNotTrusted() throws IOException {
        assumeTrue(System.getProperty("user.name").equals("root"));
        Path foreign = Files.createDirectory(folder.resolve("foreign"));
        Files.setOwner(foreign, foreign.getFileSystem().getUserPrincipalLookupService()
                .lookupPrincipalByName("nobody"));
        Path own = folder.resolve("own");
        assertTrue(Binary.unpack(HERE, List.of(foreign, own)).startsWith(own));
        var error = assertThrows(IllegalStateException.class, () -> Binary.unpack(HERE, List.of(foreign)));
        assertTrue(error.getMessage().contains("it belongs to another user"), error::getMessage);
    }

    @Test
    void aPlatformWhoseJarIsExcluded() {
        var error = assertThrows(IllegalStateException.class, () -> Binary.unpack("linux-other", List.of(folder)));
        assertTrue(error.getMessage().contains("io.zlimit:zlimit-server-linux-other, which has the server, is not on "
                + "the class path"), error::getMessage);
    }
}
