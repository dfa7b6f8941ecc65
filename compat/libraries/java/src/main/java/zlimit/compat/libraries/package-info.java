/**
 * Limiter libraries for Java, driven through their public interfaces by the scenario that their siblings in Python, Node
 * and Go go through, too; compat/libraries/README.md has the contract.
 */
package zlimit.compat.libraries;
