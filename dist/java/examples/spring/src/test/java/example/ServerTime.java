package example;

import io.zlimit.Server;
import java.time.Clock;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

/** Gives the application the server's clock. */
@TestConfiguration
class ServerTime {
    @Bean
    Clock clock(Server server) {
        return server.clock();
    }
}
