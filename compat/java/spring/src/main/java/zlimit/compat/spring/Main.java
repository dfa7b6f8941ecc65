package zlimit.compat.spring;

import io.lettuce.core.LettuceVersion;
import java.time.Duration;
import java.util.List;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.FlowRunner;

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
        private final LettuceConnectionFactory connections;
        private final SentCommands sent = new SentCommands();

        SpringClient(String host, int port) {
            this.host = host;
            this.port = port;
            connections = new LettuceConnectionFactory(
                    new RedisStandaloneConfiguration(host, port),
                    LettuceClientConfiguration.builder().commandTimeout(TIMEOUT).shutdownTimeout(Duration.ZERO).build());
            connections.afterPropertiesSet();
            connections.start();
            connections.getRequiredNativeClient().addListener(sent);
        }

        @Override
        public String nameAndVersion() {
            return "lettuce " + LettuceVersion.getVersion()
                    + " (spring-data-redis " + RedisTemplate.class.getPackage().getImplementationVersion() + ")";
        }

        @Override
        public List<Flow> flows() {
            return List.of(
                    TemplateFlows.unique(connections),
                    TemplateFlows.constant(connections),
                    ScriptFlow.millis(connections, sent),
                    AspectFlow.http(host, port),
                    MultiFlows.asWritten(connections, sent),
                    MultiFlows.session(connections, sent),
                    RollingFlow.rolling(connections));
        }

        @Override
        public void close() {
            connections.destroy();
        }
    }
}
