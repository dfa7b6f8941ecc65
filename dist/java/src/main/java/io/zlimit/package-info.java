/**
 * A zlimit-server for tests, with a clock that the test moves.
 *
 * <p>{@link io.zlimit.Server#start()} starts one. Tests with JUnit use {@link io.zlimit.junit.ZlimitServer}.
 */
package io.zlimit;
