// Package zset implements the sorted set: unique members (byte strings), each with a float64 score, ordered
// by score and then by the member's bytes.
//
// It is a pure data structure without locks, clock or expiry, and knows no command and no wire text. The
// caller serializes access.
//
// # Encodings
//
// A rate limiter's sorted set usually contains instants whose member is the same number in decimal (ZADD key
// ts ts, or RL.ALLOW). Such a set is a log: it stores only the numbers, as small differences in blocks of 128
// bytes, and formats a member on demand. From some score on, the members of a log may also be their score, a
// colon and a number of units (RL.ALLOW with COST): weights.go. The first member of another form
// converts the set to a tree, for good: a hash table from member to score, and blocks of its nodes in order,
// found through a google/btree. Up to 128 members a tree is packed: one byte string, searched from its start,
// in which a member that begins with its score's decimal is stored without it. Every operation gives the same
// answer in each of these. docs/adr/0003-sorted-set-encodings.md has the figures.
//
// Converting a log costs the whole set once: each unit becomes a member with bytes of its own, about a
// hundred bytes where it took three. Of a large log only the list of leaves is made at once; Finish does the
// rest in steps.
//
// # Costs
//
// For a log of n entries in b blocks (about n/60 at two bytes an entry): appending at the end, also a run of
// consecutive scores, O(1); Len, Oldest and Newest O(1); Units O(1) plus at most one block; Rank, Score,
// UnitsAfter, UnitAt and At O(log b) plus one block, or only the block if it is the first; removing a prefix
// O(blocks dropped) plus one block; inserting, removing or changing units in the middle O(b) plus one block.
//
// For a tree of n members: Score O(1); Add, Remove, Rank and At O(log n), but O(n/64) for the first rank
// after a leaf was added or removed; removing a range O(1) a member or, if it is large, O(log n) a leaf and
// O(1) a member for Finish.
//
// This package is internal to zlimit: it may change in any release.
package zset
