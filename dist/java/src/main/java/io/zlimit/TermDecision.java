package io.zlimit;

import java.util.List;

/**
 * The reply of RL.MALLOW and RL.MRESERVE.
 *
 * @param term the number of the binding term, from 1
 * @param decision that of the binding term, for the whole call. Of slots, allowed is 1 or 0, limit the slots,
 *     remaining the free ones, retryAfter until one is free, and resetAfter until all are
 */
public record TermDecision(int term, Decision decision) {
    static TermDecision of(List<?> reply) {
        int term = Math.toIntExact((Long) reply.get(0));
        return new TermDecision(term, Decision.of(reply.subList(1, reply.size())));
    }

    /** Reports whether the call was admitted. */
    public boolean ok() {
        return decision.ok();
    }
}
