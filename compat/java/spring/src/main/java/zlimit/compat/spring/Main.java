package zlimit.compat.spring;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.LettuceVersion;
import io.lettuce.core.SslOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.FlowRunner;
import zlimit.compat.runner.Invocation;
import zlimit.compat.runner.Tls;

/** Runs the Spring flows. */
public final class Main {
    /** Long enough for a busy machine; a server that hangs must not hang the comparison. */
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private Main() {
    }

    public static void main(String[] args) {
        System.exit(FlowRunner.main(args, SpringClient::new));
    }

    /** Templates without an application around them: only the aspect needs one, and starts it when its turn comes. */
    private static final class SpringClient implements FlowRunner.Client {
        private final String host;
        private final int port;
        private final boolean cluster;
        private final LettuceConnectionFactory connections;
        private final SentCommands sent = new SentCommands();

        SpringClient(Invocation invocation) {
            host = invocation.host();
            port = invocation.port();
            cluster = invocation.cluster();
            LettuceClientConfiguration.LettuceClientConfigurationBuilder config =
                    LettuceClientConfiguration.builder().commandTimeout(TIMEOUT).shutdownTimeout(Duration.ZERO);
            if (invocation.tls() != null) {
                config.useSsl().and()
                        .clientOptions(ClientOptions.builder().sslOptions(options(invocation.tls())).build());
            }
            RedisStandaloneConfiguration server = new RedisStandaloneConfiguration(host, port);
            if (invocation.user() != null) {
                server.setUsername(invocation.user());
                server.setPassword(invocation.password());
            }
            RedisClusterConfiguration nodes = new RedisClusterConfiguration(List.of(host + ':' + port));
            connections = cluster ? new LettuceConnectionFactory(nodes, config.build())
                    : new LettuceConnectionFactory(server, config.build());
            connections.afterPropertiesSet();
            connections.start();
            connections.getRequiredNativeClient().addListener(sent);
        }

        private static SslOptions options(Path folder) {
            SslOptions.Builder options = SslOptions.builder().jdkSslProvider().trustManager(Tls.authority(folder).toFile());
            if (Tls.hasCertificate(folder)) {
                options.keyManager(Tls.certificate(folder).toFile(), Tls.key(folder).toFile(), new char[0]);
            }
            return options.build();
        }

        @Override
        public String nameAndVersion() {
            return "lettuce " + LettuceVersion.getVersion()
                    + " (spring-data-redis " + RedisTemplate.class.getPackage().getImplementationVersion() + ")";
        }

        @Override
        public List<Flow> flows() {
            if (cluster) { // where Spring has no MULTI
                return List.of(
                        TemplateFlows.unique(connections),
                        TemplateFlows.constant(connections),
                        ScriptFlow.millis(connections, sent),
                        AspectFlow.http(host, port, true),
                        RollingFlow.rolling(connections),
                        ClusterFlows.inCluster(connections));
            }
            return List.of(
                    TemplateFlows.unique(connections),
                    TemplateFlows.constant(connections),
                    ScriptFlow.millis(connections, sent),
                    AspectFlow.http(host, port, false),
                    MultiFlows.asWritten(connections, sent),
                    MultiFlows.session(connections, sent),
                    RollingFlow.rolling(connections));
        }

        @Override
        public List<Flow> ours() {
            return cluster ? List.of(ClusterFlows.limits(connections)) : List.of();
        }

        @Override
        public void close() {
            connections.destroy();
        }
    }
}
