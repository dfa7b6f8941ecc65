package io.zlimit.spring;

import io.zlimit.Server;
import io.zlimit.junit.Servers;
import io.zlimit.junit.ZlimitServer;
import java.util.HashMap;
import java.util.Map;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Sets where Redis is before the context is refreshed, and makes the server a bean.
 *
 * <p>Two are equal if they lead to the same server, so that Spring shares the contexts.
 */
final class ZlimitContextCustomizer implements ContextCustomizer {
    private final ZlimitServer annotation;

    ZlimitContextCustomizer(ZlimitServer annotation) {
        this.annotation = annotation;
    }

    @Override
    public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
        Server server = Servers.shared(annotation);
        Map<String, Object> properties = new HashMap<>(Map.of(
                "spring.data.redis.host", server.host(),
                "spring.data.redis.port", server.port(),
                // A URL in the application's properties would take precedence over host and port.
                "spring.data.redis.url", server.uri().toString()));
        if (annotation.cluster()) {
            properties.put("spring.data.redis.cluster.nodes", server.host() + ':' + server.port());
        }
        context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("zlimit", properties));
        context.getBeanFactory().registerSingleton("zlimitServer", server);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ZlimitContextCustomizer that
                && Servers.setting(annotation).equals(Servers.setting(that.annotation));
    }

    @Override
    public int hashCode() {
        return Servers.setting(annotation).hashCode();
    }
}
