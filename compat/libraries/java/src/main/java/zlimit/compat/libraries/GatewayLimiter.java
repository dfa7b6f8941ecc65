package zlimit.compat.libraries;

import com.sun.net.httpserver.HttpServer;
import java.math.BigInteger;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import reactor.core.publisher.Mono;

/** Spring Cloud Gateway: each limit is a route of its own, with the RequestRateLimiter filter, to a page that serves. */
final class GatewayLimiter implements Limiter {
    private static final String CALLER = "X-Caller";

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer page;
    private final ConfigurableApplicationContext gateway;

    GatewayLimiter(String host, int port, boolean cluster) throws Exception {
        page = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 1024);
        page.setExecutor(threads);
        page.createContext("/", exchange -> {
            // A connection that is kept may be closed at the moment in which it is used again.
            exchange.getResponseHeaders().set("Connection", "close");
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        page.start();
        Map<String, Object> properties = new HashMap<>(Map.of(
                "server.port", "0",
                "server.address", "127.0.0.1",
                "spring.main.banner-mode", "off",
                "spring.data.redis.host", host,
                "spring.data.redis.port", port,
                "spring.data.redis.timeout", Main.PATIENCE_MS + "ms"));
        if (cluster) {
            properties.put("spring.data.redis.cluster.nodes", host + ":" + port);
        }
        for (int i = 0; i < Scenario.LIMITS.length; i++) {
            properties.putAll(route(i, Scenario.LIMITS[i][0], Scenario.LIMITS[i][1]));
        }
        gateway = new SpringApplicationBuilder(Application.class).properties(properties).run();
    }

    @SpringBootConfiguration
    @EnableAutoConfiguration
    static class Application {
        @Bean
        KeyResolver callerResolver() {
            return exchange -> Mono.just(exchange.getRequest().getHeaders().getFirst(CALLER));
        }
    }

    /** The filter is given whole tokens per second, so that a rarer call costs several. */
    private Map<String, Object> route(int number, int limit, int seconds) {
        int common = BigInteger.valueOf(limit).gcd(BigInteger.valueOf(seconds)).intValue();
        int cost = seconds / common;
        String route = "spring.cloud.gateway.server.webflux.routes[" + number + "].";
        String arguments = route + "filters[0].args.redis-rate-limiter.";
        return Map.of(
                route + "id", "limited" + number,
                route + "uri", "http://127.0.0.1:" + page.getAddress().getPort(),
                route + "predicates[0]", "Path=" + path(limit, seconds),
                route + "filters[0].name", "RequestRateLimiter",
                arguments + "replenishRate", limit / common,
                arguments + "burstCapacity", limit * cost,
                arguments + "requestedTokens", cost);
    }

    private static String path(int limit, int seconds) {
        return "/" + limit + "-in-" + seconds;
    }

    @Override
    public Hit of(int limit, int seconds) {
        int port = gateway.getEnvironment().getRequiredProperty("local.server.port", Integer.class);
        URI uri = URI.create("http://127.0.0.1:" + port + path(limit, seconds));
        return key -> {
            HttpRequest request = HttpRequest.newBuilder(uri).header(CALLER, key).build();
            HttpResponse<Void> response = http.send(request, HttpResponse.BodyHandlers.discarding());
            if (response.statusCode() != 200 && response.statusCode() != 429) {
                throw new IllegalStateException("status " + response.statusCode());
            }
            return Answer.of(response.statusCode() == 200, "status", response.statusCode(),
                    "remaining", response.headers().firstValue("X-RateLimit-Remaining").orElse("none"));
        };
    }

    @Override
    public void close() {
        gateway.close();
        page.stop(0);
        threads.shutdownNow();
    }
}
