/**
 * What the client programs share: reading the command line, running the asked flows, writing the transcript.
 *
 * <p>It knows no Redis client and opens no connection; it is not a test framework and judges nothing. Whoever started the
 * program compares the transcripts of two servers.
 */
package zlimit.compat.runner;
