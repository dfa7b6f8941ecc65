/**
 * Limiter libraries for Java, driven through their public interfaces by the scenario that their siblings in Python, Node
 * and Go go through, too; see compat/libraries/README.md.
 */
package zlimit.compat.libraries;
