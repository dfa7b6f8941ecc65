package zlimit.compat.jedis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClusterClient;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.FlowRunner;
import zlimit.compat.runner.Invocation;
import zlimit.compat.runner.Tls;

/** Runs the Jedis flows. */
public final class Main {
    /** Long enough for a busy machine; a server that hangs must not hang the comparison. */
    private static final int TIMEOUT_MS = 60_000;

    private Main() {
    }

    public static void main(String[] args) {
        System.exit(FlowRunner.main(args, invocation -> new JedisClient(connect(invocation))));
    }

    private static Target connect(Invocation invocation) throws Exception {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
        if (invocation.tls() != null) {
            config.ssl(true).sslSocketFactory(Tls.context(invocation.tls()).getSocketFactory());
        }
        config.connectionTimeoutMillis(TIMEOUT_MS)
                .socketTimeoutMillis(TIMEOUT_MS)
                .user(invocation.user())
                .password(invocation.password())
                // No HELLO, hence RESP2: the protocol of the documents' time. The Spring flows speak RESP3.
                .serverDefaultProtocol();
        HostAndPort server = new HostAndPort(invocation.host(), invocation.port());
        if (invocation.cluster()) {
            return new Target.Clustered(
                    RedisClusterClient.builder().nodes(Set.of(server)).clientConfig(config.build()).build());
        }
        return new Target.Alone(new Jedis(server, config.build()));
    }

    private record JedisClient(Target target) implements FlowRunner.Client {

        @Override
        public String nameAndVersion() {
            return "jedis " + version();
        }

        @Override
        public List<Flow> flows() {
            List<Flow> flows = new ArrayList<>(List.of(
                    PipelineFlows.distinct(target),
                    PipelineFlows.colliding(target),
                    PipelineFlows.lua(target),
                    SecondsFlows.plain(target),
                    SecondsFlows.hashTag(target)));
            if (target instanceof Target.Clustered clustered) {
                flows.add(ClusterFlows.inCluster(clustered.cluster()));
            }
            return flows;
        }

        @Override
        public List<Flow> ours() {
            return target instanceof Target.Clustered clustered
                    ? List.of(ClusterFlows.limits(clustered.cluster())) : List.of();
        }

        @Override
        public void close() {
            target.close();
        }

        /** Jedis keeps its version beside its classes; the accessor that reads it is not public. */
        private static String version() {
            try (InputStream file = Jedis.class.getResourceAsStream("pom.properties")) {
                Properties properties = new Properties();
                properties.load(file);
                return properties.getProperty("version");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
