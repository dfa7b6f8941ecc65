package io.zlimit;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;

/**
 * A server's clock: that of TIME, TTLs, scripts and RL.*.
 *
 * <p>As a {@link Clock} it shows the server's time, in milliseconds. Code under test that takes a Clock and is given
 * this one sees the same instants as the server. {@link System#currentTimeMillis()} is not affected.
 */
public final class ServerClock extends Clock {
    private final Server server;
    private final ZoneId zone;

    ServerClock(Server server) {
        this(server, ZoneOffset.UTC);
    }

    private ServerClock(Server server, ZoneId zone) {
        this.server = server;
        this.zone = zone;
    }

    /** Stops the clock. */
    public void freeze() {
        server.debug("freeze", List.of("CLOCK", "FREEZE"));
    }

    /**
     * Moves the clock forward. When it returns, what is due has expired.
     *
     * @param step whole milliseconds, not negative
     */
    public void advance(Duration step) {
        if (step.isNegative()) {
            throw new IllegalArgumentException("advance: " + step + " is negative; the clock moves back only by set, "
                    + "on a server without keys");
        }
        if (step.getNano() % 1_000_000 != 0) {
            throw new IllegalArgumentException("advance: " + step + " is not a whole number of milliseconds");
        }
        server.debug("advance", List.of("CLOCK", "ADVANCE", Long.toString(step.toMillis())));
    }

    /** Moves the clock forward by milliseconds. */
    public void advance(long milliseconds) {
        advance(Duration.ofMillis(milliseconds));
    }

    /** Moves the clock to an instant, in milliseconds: back only if the server has no keys. */
    public void set(Instant instant) {
        server.debug("set", List.of("CLOCK", "SET", Long.toString(instant.toEpochMilli())));
    }

    /** Lets the clock run again from where it is. */
    public void resume() {
        server.debug("resume", List.of("CLOCK", "RESUME"));
    }

    @Override
    public Instant instant() {
        List<?> time = (List<?>) server.command("TIME");
        long milliseconds = Long.parseLong((String) time.get(1)) / 1_000;
        return Instant.ofEpochSecond(Long.parseLong((String) time.get(0))).plusMillis(milliseconds);
    }

    @Override
    public ZoneId getZone() {
        return zone;
    }

    @Override
    public Clock withZone(ZoneId other) {
        return new ServerClock(server, other);
    }
}
