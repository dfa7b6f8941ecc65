/** Limiters of Lettuce with sentinels; the arguments and lines are those of client.py. */
package zlimit.compat.sentinel;
