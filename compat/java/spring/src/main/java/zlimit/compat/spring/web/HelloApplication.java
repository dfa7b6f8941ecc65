package zlimit.compat.spring.web;

import java.time.Instant;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.data.redis.RedisRepositoriesAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** Everything but the clock is as Spring Boot configures it. */
@SpringBootConfiguration
@EnableAutoConfiguration(exclude = RedisRepositoriesAutoConfiguration.class)
@Import({HelloController.class, RateLimitAspect.class})
public class HelloApplication {

    @Bean
    SettableClock clock() {
        return new SettableClock(Instant.EPOCH);
    }
}
