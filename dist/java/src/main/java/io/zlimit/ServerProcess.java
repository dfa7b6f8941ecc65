package io.zlimit;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The server's process, which ends when its standard input does: with this process at the latest. */
final class ServerProcess {
    private static final Pattern READY = Pattern.compile("ready port=(\\d+) .*");
    private static final int LOG_LINES = 1_000;
    private static final Duration END_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration MARK_TIMEOUT = Duration.ofSeconds(1); // passes only if the log goes elsewhere

    private final Process process;
    private final Thread reader;
    private final CompletableFuture<Integer> port = new CompletableFuture<>();
    private final Deque<String> lines = new ArrayDeque<>(); // protected by itself
    private final Map<String, CountDownLatch> marks = new ConcurrentHashMap<>(); // what log waits for

    ServerProcess(List<String> command) throws IOException {
        process = new ProcessBuilder(command).redirectErrorStream(true).start();
        reader = new Thread(this::drain, "zlimit-log-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    long pid() {
        return process.pid();
    }

    /** Waits for the server's port. If there is none, the exception has the log. */
    int port(Duration timeout) {
        String reason;
        try {
            return port.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            reason = "the server ended before it was ready";
        } catch (TimeoutException e) {
            reason = "the server was not ready after " + timeout.toMillis() + " ms";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            reason = "interrupted while the server was starting";
        }
        process.destroyForcibly();
        end();
        throw new IllegalStateException("zlimit: " + reason + "; its log:\n" + log());
    }

    /**
     * Returns the latest lines of the log, after the line with a mark, which send makes the server write: replies may
     * come sooner than lines. If it does not come, because the log goes elsewhere or the server has ended, so be it.
     */
    String log(Consumer<String> send) {
        String mark = UUID.randomUUID().toString();
        CountDownLatch written = new CountDownLatch(1);
        marks.put(mark, written);
        try {
            send.accept(mark);
            written.await(MARK_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (RuntimeException e) {
            // It has ended, or has no debug commands.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            marks.remove(mark);
        }
        return log();
    }

    /** Returns the latest lines of the log, as far as they were read. */
    private String log() {
        synchronized (lines) {
            return String.join("\n", lines);
        }
    }

    /** Ends the process and waits for it. */
    void end() {
        boolean interrupted = Thread.interrupted();
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It has ended already.
        }
        try {
            if (!process.waitFor(END_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
            reader.join();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            interrupted = true;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isMark(String line) {
        for (Map.Entry<String, CountDownLatch> mark : marks.entrySet()) {
            if (line.endsWith(mark.getKey())) {
                mark.getValue().countDown();
                return true;
            }
        }
        return false;
    }

    private void drain() {
        try (BufferedReader output = process.inputReader()) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                Matcher ready = READY.matcher(line);
                if (ready.matches()) {
                    port.complete(Integer.valueOf(ready.group(1)));
                    continue;
                }
                if (isMark(line)) {
                    continue;
                }
                synchronized (lines) {
                    lines.addLast(line);
                    if (lines.size() > LOG_LINES) {
                        lines.removeFirst();
                    }
                }
            }
        } catch (IOException | UncheckedIOException e) {
            // The process was killed.
        }
        port.completeExceptionally(new IllegalStateException("ended"));
    }
}
