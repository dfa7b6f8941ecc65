package zlimit.compat.jedis;

import java.util.List;
import java.util.function.Consumer;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.PipeliningBase;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.commands.JedisCommands;
import redis.clients.jedis.util.JedisClusterCRC16;

/** What the flows ask of Jedis, of a connection or a cluster client. */
interface Target extends AutoCloseable {
    JedisCommands commands();

    void scriptFlush();

    /** Runs commands about a key in MULTI and returns what EXEC replies. */
    List<?> multi(String key, Consumer<PipeliningBase> commands);

    /** Asks the server for the slot of a key. */
    long slot(String key);

    @Override
    void close();

    /** A connection. */
    record Alone(Jedis jedis) implements Target {
        @Override
        public JedisCommands commands() {
            return jedis;
        }

        @Override
        public void scriptFlush() {
            jedis.scriptFlush();
        }

        /**
         * Jedis took MULTI and EXEC off its Pipeline, so both are sent by name; the commands still leave in one write.
         * Inside MULTI the single replies say QUEUED only: the rest is in EXEC's reply.
         */
        @Override
        public List<?> multi(String key, Consumer<PipeliningBase> commands) {
            Response<Object> exec;
            try (Pipeline pipeline = jedis.pipelined()) {
                pipeline.sendCommand(Command.MULTI, new String[0]);
                commands.accept(pipeline);
                exec = pipeline.sendCommand(Command.EXEC, new String[0]);
            }
            return (List<?>) exec.get();
        }

        @Override
        public long slot(String key) {
            return jedis.clusterKeySlot(key);
        }

        @Override
        public void close() {
            jedis.close();
        }
    }

    /** A cluster client. It has no MULTI of its own: a transaction is on a connection to the key's node. */
    record Clustered(RedisClusterClient cluster) implements Target {
        @Override
        public JedisCommands commands() {
            return cluster;
        }

        @Override
        public void scriptFlush() {
            cluster.scriptFlush();
        }

        @Override
        public List<?> multi(String key, Consumer<PipeliningBase> commands) {
            try (Connection node = cluster.getConnectionFromSlot(JedisClusterCRC16.getSlot(key));
                    Transaction transaction = new Transaction(node)) {
                commands.accept(transaction);
                return transaction.exec();
            }
        }

        @Override
        public long slot(String key) {
            return (Long) cluster.sendCommand(key, Command.CLUSTER, "KEYSLOT", key);
        }

        @Override
        public void close() {
            cluster.close();
        }
    }
}
