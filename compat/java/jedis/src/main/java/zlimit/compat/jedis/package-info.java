/** The documents' limiters that speak through Jedis. Programs to be compared, not a library to build on. */
package zlimit.compat.jedis;
