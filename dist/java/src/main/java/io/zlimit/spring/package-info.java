/** Connects the application contexts of Spring tests to the server of {@link io.zlimit.junit.ZlimitServer}. */
package io.zlimit.spring;
