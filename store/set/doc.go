// Package set is the set: members, any byte string, each once, in no order
// that means anything.
//
// It is a pure data structure. It has no lock, no clock and no expiry, knows
// no command and no wire text; the caller serialises access.
//
// # Two encodings
//
// As in Redis 7.0, whose names for them OBJECT ENCODING answers, a set is an
// intset while every member is the canonical decimal of an int64 and there are
// no more of them than a bound that the caller gives (set-max-intset-entries):
// a sorted slice of the numbers. The first member that breaks either makes it
// a hash table (store/dict), for good, whatever is removed afterwards.
// Redis' intset cuts its numbers to two or four bytes where all fit; this one
// keeps eight.
//
// # Costs
//
// An intset of n members: 8 bytes a member; Contains O(log n), Add and Remove
// O(n) for the numbers that move. A hash table: about 60 bytes a member and its
// text; Add, Remove and Contains O(1).
package set
