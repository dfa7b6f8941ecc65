package zlimit.compat.spring;

import static zlimit.compat.runner.Transcript.field;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;
import zlimit.compat.runner.Flow;
import zlimit.compat.runner.Instants;
import zlimit.compat.spring.web.HelloApplication;
import zlimit.compat.spring.web.SettableClock;

/**
 * The first document's annotated endpoint, driven over HTTP: one GET per instant, one status per GET.
 *
 * <p>Whatever fails inside is a 500 to the caller, so the message is shown too: a refusal and a failing server must not
 * look alike.
 */
final class AspectFlow {
    private static final String PATH = "/hello/sayHi";
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private static final List<Long> INSTANTS = Instants.afterBase(
            // Two pass, the third does not.
            0, 1, 2,
            // 1 ms before the first leaves, the moment it leaves, that millisecond again, the second's moment.
            29_999, 30_000, 30_000, 30_001,
            // Far enough for an empty window, where one millisecond is one member however often it is hit.
            90_000, 90_000, 90_000, 90_001, 90_002,
            // The clock stepping back.
            60_000);

    private AspectFlow() {
    }

    static Flow http(String host, int port, boolean cluster) {
        return new Flow("aspect-http", INSTANTS, (key, instants, out) -> {
            SpringApplication application = new SpringApplication(HelloApplication.class);
            application.setBannerMode(Banner.Mode.OFF);
            Map<String, Object> server = cluster
                    ? Map.of("spring.data.redis.cluster.nodes", host + ':' + port)
                    : Map.of("spring.data.redis.host", host, "spring.data.redis.port", port);
            Map<String, Object> properties = new HashMap<>(server);
            properties.putAll(Map.of(
                    "server.address", "127.0.0.1",
                    "server.port", "0",
                    "server.error.include-message", "always",
                    "spring.data.redis.timeout", TIMEOUT,
                    "limit.user", key));
            application.setDefaultProperties(properties);
            try (var context = (ServletWebServerApplicationContext) application.run()) {
                StringRedisTemplate template = context.getBean(StringRedisTemplate.class);
                String limitKey = "limit:" + key + ":" + PATH;
                template.delete(limitKey);
                SettableClock clock = context.getBean(SettableClock.class);
                URI uri = URI.create("http://127.0.0.1:" + context.getWebServer().getPort() + PATH);
                HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
                HttpRequest get = HttpRequest.newBuilder(uri).timeout(TIMEOUT).build();
                for (long now : instants) {
                    clock.set(Instant.ofEpochMilli(now));
                    HttpResponse<String> response = client.send(get, HttpResponse.BodyHandlers.ofString());
                    out.hit(now, String.valueOf(response.statusCode()),
                            field("message", message(response)),
                            field("count", template.opsForZSet().zCard(limitKey)),
                            field("ttl", template.getExpire(limitKey)));
                }
            }
        });
    }

    /** Of Spring's error document; null where the endpoint itself answered. */
    private static String message(HttpResponse<String> response) throws IOException {
        if (response.body().isEmpty()) {
            return null;
        }
        return new ObjectMapper().readTree(response.body()).path("message").asText();
    }
}
