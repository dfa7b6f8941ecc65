package io.zlimit.junit;

import io.zlimit.Server;
import io.zlimit.ServerClock;
import java.time.Instant;
import java.util.Optional;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Starts the server of {@link ZlimitServer}, resets it before each test and passes it to parameters. */
final class ZlimitExtension
        implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback, ParameterResolver {

    private static final String SPRING = "org.springframework.test.context.junit.jupiter.SpringExtension";

    @Override
    public void beforeAll(ExtensionContext context) {
        Class<?> test = context.getRequiredTestClass();
        // A nested class has the server of its outer one.
        if (store(context).get(Server.class) == null && !isSpring(test)) {
            store(context).put(Server.class, Servers.start(annotation(test)));
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        ZlimitServer annotation = annotation(context.getRequiredTestClass());
        Server server = server(context);
        server.reset();
        if (annotation.frozen() || !annotation.at().isEmpty()) {
            server.clock().freeze();
        }
        if (!annotation.at().isEmpty()) {
            server.clock().set(Instant.parse(annotation.at()));
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            Server server = server(context);
            System.err.println("log of zlimit at " + server.uri() + " after " + context.getDisplayName() + ":");
            System.err.println(server.log());
        }
    }

    @Override
    public void afterAll(ExtensionContext context) {
        Server server = store(context).remove(Server.class, Server.class);
        if (server != null) {
            server.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == Server.class || type == ServerClock.class
                || parameter.isAnnotated(ServerHost.class) || parameter.isAnnotated(ServerPort.class);
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Server server = server(context);
        if (parameter.isAnnotated(ServerHost.class)) {
            return server.host();
        }
        if (parameter.isAnnotated(ServerPort.class)) {
            return server.port();
        }
        return parameter.getParameter().getType() == Server.class ? server : server.clock();
    }

    private static Server server(ExtensionContext context) {
        Class<?> test = context.getRequiredTestClass();
        if (isSpring(test)) {
            return Servers.shared(annotation(test));
        }
        return store(context).get(Server.class, Server.class);
    }

    private static Store store(ExtensionContext context) {
        return context.getStore(Namespace.create(ZlimitExtension.class));
    }

    private static ZlimitServer annotation(Class<?> test) {
        return enclosing(test, ZlimitServer.class).orElseThrow(() -> new ExtensionConfigurationException(
                test + " and its enclosing classes have no @ZlimitServer"));
    }

    private static Optional<ZlimitServer> enclosing(Class<?> test, Class<ZlimitServer> type) {
        for (Class<?> c = test; c != null; c = c.getEnclosingClass()) {
            Optional<ZlimitServer> found = AnnotationSupport.findAnnotation(c, type);
            if (found.isPresent()) {
                return found;
            }
        }
        return Optional.empty();
    }

    /** Reports whether a class is a Spring test. Spring may be absent, so this goes by name. */
    private static boolean isSpring(Class<?> test) {
        for (Class<?> c = test; c != null; c = c.getEnclosingClass()) {
            for (ExtendWith extended : AnnotationSupport.findRepeatableAnnotations(c, ExtendWith.class)) {
                for (Class<?> extension : extended.value()) {
                    if (extension.getName().equals(SPRING)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}
