package io.zlimit;

/**
 * What {@link Server#settle} did to one key. Slots have 0 and 0: they are given back.
 *
 * @param counted units that now count for the work
 * @param excess units above the estimate
 */
public record Settlement(long counted, long excess) {}
