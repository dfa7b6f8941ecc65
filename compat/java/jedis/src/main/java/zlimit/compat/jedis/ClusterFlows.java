package zlimit.compat.jedis;

import static zlimit.compat.runner.Transcript.field;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.ClusterPipeline;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.JedisShardedPubSub;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisException;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Transcript;

/** What a client does in a cluster besides the documents' flows. The lines are numbered, not dated. */
final class ClusterFlows {
    /** A limiter with two keys, which a cluster refuses unless they share a slot. */
    private static final String TWO_KEYS = "return redis.call('INCR', KEYS[1]) + redis.call('INCR', KEYS[2])";

    /** A limiter that uses a key that it does not declare. */
    private static final String FOREIGN_KEY =
            "#!lua\nreturn redis.call('INCR', KEYS[1]) + redis.call('INCR', ARGV[1])";

    private ClusterFlows() {
    }

    static Flow inCluster(RedisClusterClient cluster) {
        return new Flow("cluster", List.of(), (key, instants, out) -> {
            String here = key + ":{a}";
            String there = key + ":{b}";
            cluster.del(here);
            cluster.del(there);
            // Jedis refuses before it sends.
            judge(out, 1, () -> cluster.eval(TWO_KEYS, List.of(here, there), List.of()));
            judge(out, 2, () -> cluster.eval(FOREIGN_KEY, List.of(here), List.of(there)));
            judge(out, 3, () -> cluster.eval(TWO_KEYS, List.of(here, here + ":more"), List.of()));
            Response<Long> one;
            Response<Long> two;
            try (ClusterPipeline pipeline = cluster.pipelined()) {
                one = pipeline.incr(here);
                two = pipeline.incr(there);
            }
            out.hit(4, "pipeline", field("here", one.get()), field("there", two.get()));
            out.hit(5, "message", field("text", heard(cluster, here)));
            out.hit(6, "shard-message", field("text", heardInShard(cluster, here)));
        });
    }

    private static void judge(Transcript out, long number, Runnable call) {
        try {
            call.run();
            out.hit(number, true);
        } catch (JedisException e) {
            out.hit(number, "refused", field("error", e.getMessage()));
        }
    }

    private static String heard(RedisClusterClient cluster, String channel) throws Exception {
        CompletableFuture<String> text = new CompletableFuture<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onSubscribe(String channel, int count) {
                cluster.publish(channel, "hello");
            }

            @Override
            public void onMessage(String channel, String message) {
                text.complete(message);
                unsubscribe();
            }
        };
        cluster.subscribe(listener, channel); // until it has unsubscribed
        return text.get(1, TimeUnit.MINUTES);
    }

    private static String heardInShard(RedisClusterClient cluster, String channel) throws Exception {
        CompletableFuture<String> text = new CompletableFuture<>();
        JedisShardedPubSub listener = new JedisShardedPubSub() {
            @Override
            public void onSSubscribe(String channel, int count) {
                cluster.spublish(channel, "hello");
            }

            @Override
            public void onSMessage(String channel, String message) {
                text.complete(message);
                sunsubscribe();
            }
        };
        cluster.ssubscribe(listener, channel);
        return text.get(1, TimeUnit.MINUTES);
    }

    /** Commands that only our server has. */
    static Flow limits(RedisClusterClient cluster) {
        return new Flow("rl", List.of(), (key, instants, out) -> {
            String held = key + ":held";
            cluster.del(key);
            cluster.del(held);
            List<String> calls = List.of(
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.ALLOW " + key + " 2 1h",
                    "RL.RESERVE " + held + " 10 1h 8 HOLD 1m ID job",
                    "RL.RESERVE " + held + " 10 1h 8 HOLD 1m ID other",
                    "RL.SETTLE " + held + " job 3",
                    "RL.ALLOW " + held + " 10 1h COST 7");
            for (int i = 0; i < calls.size(); i++) {
                String[] words = calls.get(i).split(" ");
                String[] arguments = Arrays.copyOfRange(words, 1, words.length);
                List<?> reply = (List<?>) cluster.sendCommand(
                        words[1], () -> words[0].getBytes(StandardCharsets.UTF_8), arguments);
                if (reply.size() == 2) {
                    out.hit(i + 1, "settled", field("units", reply.get(0)));
                } else {
                    out.hit(i + 1, !reply.get(0).equals(0L), field("remaining", reply.get(2)));
                }
            }
        });
    }
}
