/** zlimit servers as parameters of JUnit tests. */
package io.zlimit.junit;
