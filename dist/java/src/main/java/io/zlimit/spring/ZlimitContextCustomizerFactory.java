package io.zlimit.spring;

import io.zlimit.junit.ZlimitServer;
import java.util.List;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/** Finds the Spring tests with {@link ZlimitServer}. META-INF/spring.factories names it. */
final class ZlimitContextCustomizerFactory implements ContextCustomizerFactory {
    @Override
    public ContextCustomizer createContextCustomizer(
            Class<?> testClass, List<ContextConfigurationAttributes> attributes) {
        ZlimitServer annotation = TestContextAnnotationUtils.findMergedAnnotation(testClass, ZlimitServer.class);
        return annotation == null ? null : new ZlimitContextCustomizer(annotation);
    }
}
