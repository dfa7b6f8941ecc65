package io.zlimit.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives a test class a zlimit-server of its own, which is empty before each test.
 *
 * <p>Constructors and methods of the class may have parameters of the types {@link io.zlimit.Server} and
 * {@link io.zlimit.ServerClock}, a String with {@link ServerHost} and an int with {@link ServerPort}. If a test fails,
 * the server's log is printed.
 *
 * <p>On a Spring test the server is started before the application context, which connects to it: the properties
 * {@code spring.data.redis.host}, {@code .port} and {@code .url} are set, and {@code .cluster.nodes} on a cluster. As Spring shares contexts between test
 * classes, their servers are shared as well; do not run such classes concurrently.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(ZlimitExtension.class)
public @interface ZlimitServer {
    /** Whether the clock stands still when a test begins. */
    boolean frozen() default false;

    /** The instant at which the clock stands when a test begins, as {@code 2030-01-01T00:00:00Z}. */
    String at() default "";

    /** Whether the server is a cluster of one node, which refuses what a cluster refuses. */
    boolean cluster() default false;

    /** Directives, as on the command line: {@code {"--maxmemory", "10mb"}}. */
    String[] arguments() default {};
}
