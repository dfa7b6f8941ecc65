package io.zlimit;

import java.time.Duration;
import java.util.List;

/**
 * The reply of RL.ALLOW.
 *
 * @param allowed units granted: the cost, or 0 when denied
 * @param limit units, as asked
 * @param remaining units that still fit; with GCRA of the burst
 * @param retryAfter until the same call is admitted: zero when it was, {@link #NEVER} when its cost can never fit
 * @param resetAfter until the window is empty
 */
public record Decision(long allowed, long limit, long remaining, Duration retryAfter, Duration resetAfter) {
    /** The retryAfter of a call whose cost can never fit; {@link ServerClock#advance(Duration)} refuses it. */
    public static final Duration NEVER = Duration.ofMillis(-1);

    /** Returns what a client has received for RL.ALLOW without FULL, as a list of Longs. */
    public static Decision of(List<?> reply) {
        long[] n = reply.stream().mapToLong(Long.class::cast).toArray();
        return new Decision(n[0], n[1], n[2], Duration.ofMillis(n[3]), Duration.ofMillis(n[4]));
    }

    /** Reports whether the call was admitted. */
    public boolean ok() {
        return allowed > 0;
    }
}
