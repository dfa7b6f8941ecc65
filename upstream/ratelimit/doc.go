// Package ratelimit runs the rate limit commands on an engine below: Redis 7.0 or later,
// Valkey, or zlimit. It has a library of Lua functions that decide as commands/rl
// does, on keys in the very representation that it writes, and translates commands to
// calls of the functions and their replies to the commands' replies. It has no connection
// and no clock: the functions ask the engine for the time, once a call.
//
// Engines without FUNCTION run the same source as a script, from Redis 6.2 on.
//
// # Bounds
//
// Lua counts in doubles, which are exact below 2^53. Where int64 reaches further, a call
// is refused rather than answered inexactly:
//
//   - a limit of FIXED, BUCKETS or COUNTER, or a number of slots of a term, above 2^53-1 (a log has
//     lower bounds, GCRA none);
//   - a key with a number of 2^53 or more: a count, or the arrival time of GCRA, which is in
//     microseconds and so ends in the year 2255;
//   - INCREX with BYFLOAT, whose sums are those of a long double, and with a deadline of
//     2^52 milliseconds or more. INCREX of integers is exact in all of int64.
//
// Redis deletes a key whose deadline is set to the present millisecond, while zlimit's own
// commands let it end with that millisecond. So a key whose last unit that counts is
// returned ends one millisecond earlier.
//
// Holds that 0.1.0 made of keys without a hash tag have a name in another slot. Over a cluster, where 0.1.0
// refused such calls, they are not found.
//
// A sorted set counts as a log if its oldest and newest member are units. zlimit's own
// commands look at all members. rl-max-keys-per-prefix does not count an engine's keys.
//
// This package is internal to zlimit: it may change in any release.
package ratelimit
