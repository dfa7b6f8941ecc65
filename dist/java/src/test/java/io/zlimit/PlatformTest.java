package io.zlimit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PlatformTest {
    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64", "Linux, aarch64, linux-aarch_64",
        "Mac OS X, x86_64, osx-x86_64", "Mac OS X, aarch64, osx-aarch_64"
    })
    void names(String system, String architecture, String name) {
        assertEquals(name, Platform.name(system, architecture));
    }

    @ParameterizedTest
    @CsvSource({"Windows 11, amd64", "Linux, riscv64", "FreeBSD, amd64"})
    void platformsWithoutServer(String system, String architecture) {
        var error = assertThrows(IllegalStateException.class, () -> Platform.name(system, architecture));
        assertEquals("zlimit: there is no server for " + system + " on " + architecture + ", only for linux-aarch_64, "
                + "linux-x86_64, osx-aarch_64, osx-x86_64. To use another zlimit-server, set the system property "
                + "zlimit.server or the environment variable ZLIMIT_SERVER to its path.", error.getMessage());
    }

    @Test
    void turkishLocale() {
        var before = java.util.Locale.getDefault();
        java.util.Locale.setDefault(java.util.Locale.forLanguageTag("tr"));
        try {
            assertEquals("linux-x86_64", Platform.name("LINUX", "AMD64"));
        } finally {
            java.util.Locale.setDefault(before);
        }
    }
}
