// Package zset is the sorted set: members (any byte string, each once), each
// with a float64 score, ordered by score and then by the member's bytes.
//
// It is a pure data structure. It has no lock, no clock and no expiry, knows
// no command and no wire text; the caller serialises access.
//
// # Two encodings
//
// A rate limiter's sorted set usually holds instants whose member is the same
// number in decimal (ZADD key ts ts, or RL.ALLOW). Such a set is a log: only
// the numbers are kept, as small differences in blocks of 128 bytes, and a
// member is printed when somebody asks for it. The first member that is not
// the canonical decimal of its own score moves the set to the tree encoding,
// for good: a hash table from member to score, and blocks of its nodes in
// order, found through a google/btree. Up to 128 members a tree is packed: one
// string of bytes, searched from its start, in which a member that begins with
// its score's decimal goes without it. Every operation answers the same
// in any of these; docs/adr/0003-sorted-set-encodings.md has the figures.
//
// Leaving the log costs the whole set once: each unit becomes a member with
// bytes of its own, at about a hundred bytes each where it took three.
//
// # Costs
//
// For a log of n units in b blocks (about n/60 at two bytes a unit): appending
// at the end, also a run of consecutive scores, O(1); Len, Oldest and Newest
// O(1); Rank, Score, CountAfter, At O(log b) plus one block, and only the
// block if it is the first one; removing a prefix O(blocks dropped) plus one
// block; inserting or removing in the middle O(b) plus one block. For a tree
// of n members: Score O(1); Add, Remove, Rank and At O(log n), where the first
// rank after leaves came or went costs O(n/64); removing a range O(1) a
// member.
package zset
