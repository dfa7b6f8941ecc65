package zlimit.compat.tests;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol;

/** A zlimit-server for one test, whose clock the test moves. */
final class Server implements AutoCloseable {
    private final Process process;
    final Jedis client;

    Server(Path folder) throws IOException {
        Path portFile = folder.resolve("port");
        process = new ProcessBuilder(System.getenv("ZLIMIT_SERVER"),
                "--port", "0", "--port-file", portFile.toString(), "--enable-debug-command", "yes")
                .redirectErrorStream(true).start();
        process.inputReader().readLine(); // comes when it listens: there is nothing to poll for
        client = new Jedis("127.0.0.1", Integer.parseInt(Files.readString(portFile).strip()));
        call("DEBUG", "CLOCK", "FREEZE");
    }

    /** Sends any command. */
    Object call(String name, String... arguments) {
        return client.sendCommand(() -> name.getBytes(Protocol.CHARSET), arguments);
    }

    /** Moves the clock; when it returns, what is due has expired. */
    void advance(long milliseconds) {
        call("DEBUG", "CLOCK", "ADVANCE", Long.toString(milliseconds));
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
        process.destroy();
        process.waitFor();
    }
}
