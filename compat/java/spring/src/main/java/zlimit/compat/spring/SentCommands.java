package zlimit.compat.spring;

import io.lettuce.core.event.command.CommandListener;
import io.lettuce.core.event.command.CommandStartedEvent;
import java.util.ArrayList;
import java.util.List;

/**
 * The names of the commands Lettuce was given to send, so that a flow can show what the layers above made of a call.
 *
 * <p>Written when a command starts, before its reply can wake the caller: what a finished call sent is all here. The
 * connection's own handshake is not listened to. Safe for concurrent use.
 */
final class SentCommands implements CommandListener {
    private final List<String> names = new ArrayList<>();

    @Override
    public synchronized void commandStarted(CommandStartedEvent event) {
        names.add(event.getCommand().getType().toString());
    }

    /** What was sent since the last call, comma-separated, and forgets it. */
    synchronized String take() {
        String taken = String.join(",", names);
        names.clear();
        return taken;
    }
}
