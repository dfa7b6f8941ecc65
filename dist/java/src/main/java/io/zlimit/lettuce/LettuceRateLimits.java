package io.zlimit.lettuce;

import io.lettuce.core.api.async.BaseRedisAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.zlimit.Decision;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** RL.ALLOW over a connection of Lettuce, for which the command is an unknown one. */
public final class LettuceRateLimits {
    private static final ProtocolKeyword ALLOW = new ProtocolKeyword() {
        @Override
        public byte[] getBytes() {
            return toString().getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return "RL.ALLOW";
        }
    };

    private LettuceRateLimits() {}

    /**
     * Asks for units of a key.
     *
     * @param commands asynchronous commands of a connection, or of one to a cluster
     * @param codec the connection's, which encodes the key
     */
    public static <K, V> CompletionStage<Decision> allow(
            BaseRedisAsyncCommands<K, V> commands, RedisCodec<K, V> codec, K key, long limit, Duration window,
            long cost) {
        CommandArgs<K, V> args =
                new CommandArgs<>(codec).addKey(key).add(limit).add(window.toMillis()).add("COST").add(cost);
        return commands.dispatch(ALLOW, new NestedMultiOutput<>(codec), args).thenApply(Decision::of);
    }
}
