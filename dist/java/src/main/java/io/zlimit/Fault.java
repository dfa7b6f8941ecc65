package io.zlimit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A failure of the next commands of clients, for {@link Server#inject}. It is immutable. */
public final class Fault {
    private final List<String> kind;
    private final List<String> options;

    private Fault(List<String> kind, List<String> options) {
        this.kind = kind;
        this.options = options;
    }

    private static Fault of(String... kind) {
        return new Fault(List.of(kind), List.of());
    }

    /** The command runs, later in real time. */
    public static Fault delay(Duration delay) {
        return of("DELAY").after(delay);
    }

    /** The command runs, when the fault is removed. */
    public static Fault hold() {
        return of("DELAY").untilRemoved();
    }

    /** The connection is closed instead of running the command. */
    public static Fault close() {
        return of("CLOSE");
    }

    /** The command runs, and the connection is closed without a reply. */
    public static Fault dropReply() {
        return of("DROP-REPLY");
    }

    /** The command runs; neither it nor later ones get a reply. */
    public static Fault mute() {
        return of("MUTE");
    }

    /** EVALSHA is answered as if the script were unknown. */
    public static Fault noScript() {
        return of("NOSCRIPT");
    }

    /** Commands are answered as by a server that loads its data. */
    public static Fault loading() {
        return of("LOADING");
    }

    /** Commands that need memory are answered as by a full server. */
    public static Fault outOfMemory() {
        return of("OOM");
    }

    /** Commands that write are answered as by a replica. */
    public static Fault readOnly() {
        return of("READONLY");
    }

    /** The reply is this error, code word first: {@code "ERR it broke"}. */
    public static Fault refuse(String error) {
        return of("REFUSE", "TEXT", error);
    }

    /** Affects this command only; {@code "*"}: all but DEBUG. */
    public Fault on(String command) {
        return with("ON", command);
    }

    /** Affects so many commands instead of one. */
    public Fault times(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("times: " + count + " is less than 1");
        }
        return with("TIMES", Integer.toString(count));
    }

    /** Affects all commands from now on. */
    public Fault always() {
        return with("TIMES", "-1");
    }

    /** Delays the effect, in real time. */
    public Fault after(Duration delay) {
        return with("AFTER", Long.toString(delay.toMillis()));
    }

    /** Delays the effect until the fault is removed. */
    public Fault untilRemoved() {
        return with("UNTIL", "REMOVED");
    }

    private Fault with(String option, String value) {
        List<String> more = new ArrayList<>(options);
        more.add(option);
        more.add(value);
        return new Fault(kind, more);
    }

    List<String> arguments() {
        List<String> all = new ArrayList<>(List.of("FAULT", "INJECT"));
        all.addAll(kind);
        all.addAll(options);
        return all;
    }
}
