package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.field;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.pubsub.RedisClusterPubSubAdapter;
import io.lettuce.core.cluster.pubsub.StatefulRedisClusterPubSubConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Transcript;

/**
 * What a client does in a cluster besides the documents' flows: scripts through Spring, the rest through Lettuce's client.
 * The lines are numbered, not dated.
 */
final class ClusterFlows {
    /** A limiter with two keys, which a cluster refuses unless they share a slot. */
    private static final String TWO_KEYS = "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])";

    /** A limiter that uses a key that it does not declare. */
    private static final String FOREIGN_KEY =
            "#!lua\nreturn redis.call('INCR', KEYS[1]) + redis.call('INCR', ARGV[1])";

    private ClusterFlows() {
    }

    static Flow inCluster(LettuceConnectionFactory connections) {
        return new Flow("cluster", List.of(), (key, instants, out) -> {
            StringRedisTemplate template = new StringRedisTemplate(connections);
            String here = key + ":{a}";
            String there = key + ":{b}";
            template.delete(here);
            template.delete(there);
            judge(out, 1, template, TWO_KEYS, List.of(here, there));
            judge(out, 2, template, FOREIGN_KEY, List.of(here), there);
            judge(out, 3, template, TWO_KEYS, List.of(here, here + ":more"));
            RedisClusterClient client = (RedisClusterClient) connections.getRequiredNativeClient();
            try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
                RedisFuture<Long> one = connection.async().incr(here);
                RedisFuture<Long> two = connection.async().incr(there);
                out.hit(4, "pipeline", field("here", one.get(1, TimeUnit.MINUTES)),
                        field("there", two.get(1, TimeUnit.MINUTES)));
            }
            try (StatefulRedisClusterPubSubConnection<String, String> connection = client.connectPubSub()) {
                CompletableFuture<String> message = new CompletableFuture<>();
                CompletableFuture<String> inShard = new CompletableFuture<>();
                connection.addListener(new RedisClusterPubSubAdapter<>() {
                    @Override
                    public void message(RedisClusterNode node, String channel, String text) {
                        message.complete(text);
                    }

                    @Override
                    public void smessage(RedisClusterNode node, String channel, String text) {
                        inShard.complete(text);
                    }
                });
                connection.setNodeMessagePropagation(true);
                connection.sync().subscribe(here);
                template.convertAndSend(here, "hello");
                out.hit(5, "message", field("text", message.get(1, TimeUnit.MINUTES)));
                connection.sync().ssubscribe(here);
                connection.sync().spublish(here, "hello");
                out.hit(6, "shard-message", field("text", inShard.get(1, TimeUnit.MINUTES)));
            }
        });
    }

    private static void judge(Transcript out, long number, StringRedisTemplate template, String script,
            List<String> keys, Object... arguments) {
        try {
            template.execute(new DefaultRedisScript<>(script, Long.class), keys, arguments);
            out.hit(number, true);
        } catch (RuntimeException e) {
            out.hit(number, "refused", field("error", Transcript.describe(e)));
        }
    }

    /** Commands that only our server has. */
    static Flow limits(LettuceConnectionFactory connections) {
        return new Flow("rl", List.of(), (key, instants, out) -> {
            String held = key + ":held";
            List<String> calls = List.of(
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.RESERVE " + held + " 10 1h 8 HOLD 1m ID job",
                    "RL.RESERVE " + held + " 10 1h 8 HOLD 1m ID other",
                    "RL.SETTLE " + held + " job 3",
                    "RL.ALLOW " + held + " 10 1h COST 7");
            RedisClusterClient client = (RedisClusterClient) connections.getRequiredNativeClient();
            try (StatefulRedisClusterConnection<String, String> connection = client.connect()) {
                connection.sync().del(key);
                connection.sync().del(held);
                for (int i = 0; i < calls.size(); i++) {
                    String[] words = calls.get(i).split(" ");
                    CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8).addKey(words[1]);
                    for (int at = 2; at < words.length; at++) {
                        arguments.add(words[at]);
                    }
                    List<?> reply = connection.sync().dispatch(
                            new Name(words[0]), new ArrayOutput<>(StringCodec.UTF8), arguments);
                    if (reply.size() == 2) {
                        out.hit(i + 1, "settled", field("units", reply.get(0)));
                    } else {
                        out.hit(i + 1, !reply.get(0).equals(0L), field("remaining", reply.get(2)));
                    }
                }
            }
        });
    }

    /** The name of a command that Lettuce does not know. */
    private record Name(String text) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return text.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return text;
        }
    }
}
