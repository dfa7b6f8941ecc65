package zlimit.compat.spring.web;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** A clock in UTC that stands where it was set. Safe for concurrent use. */
public final class SettableClock extends Clock {
    private volatile Instant now;

    SettableClock(Instant now) {
        this.now = now;
    }

    /** May step back. */
    public void set(Instant instant) {
        now = instant;
    }

    @Override
    public Instant instant() {
        return now;
    }

    @Override
    public ZoneId getZone() {
        return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
        throw new UnsupportedOperationException("UTC only");
    }
}
