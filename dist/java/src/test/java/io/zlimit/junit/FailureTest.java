package io.zlimit.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.zlimit.Server;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** What a test that fails prints. */
@ResourceLock(Resources.SYSTEM_ERR)
class FailureTest {
    /** Surefire does not run it, because it is nested. */
    @ZlimitServer
    static class Example {
        @Test
        void fails(Server server) {
            server.command("DEBUG", "LOG", "this was logged");
            throw new AssertionError("it broke");
        }

        @Test
        void passes(Server server) {
            server.command("DEBUG", "LOG", "this was logged");
        }
    }

    private static String printed(String method, int failures) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectMethod(Example.class, method, Server.class.getName())).build();
        SummaryGeneratingListener summary = new SummaryGeneratingListener();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        PrintStream before = System.err;
        System.setErr(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            LauncherFactory.create().execute(request, summary);
        } finally {
            System.setErr(before);
        }
        assertEquals(1, summary.getSummary().getTestsFoundCount());
        assertEquals(failures, summary.getSummary().getTestsFailedCount());
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void theLogOfATestThatFails() {
        String text = printed("fails", 1);
        assertTrue(text.contains("log of zlimit at redis://127.0.0.1:"), text);
        assertTrue(text.contains(" after fails(Server):"), text);
        assertTrue(text.contains("this was logged"), text);
    }

    @Test
    void nothingOfOneThatPasses() {
        String text = printed("passes", 0);
        assertFalse(text.contains("this was logged"), text);
    }
}
