/**
 * The documents' limiters that speak through Spring Data Redis and Lettuce. Programs to be compared, not a library to
 * build on.
 */
package zlimit.compat.spring;
