// Package set implements the set: unique members (any byte string), in no particular order.
//
// It is a pure data structure without locks, clock or expiry, and knows no command and no wire text. The
// caller serializes access.
//
// # Encodings
//
// As in Redis 7.0, whose names OBJECT ENCODING returns, a set is an intset while every member is the
// canonical decimal of an int64 and there are no more than a limit given by the caller
// (set-max-intset-entries): a sorted slice of numbers. The first member beyond that converts it to a hash
// table (store/dict) for good. Redis' intset uses two or four bytes for each number if all fit; this one
// always uses eight.
//
// # Costs
//
// An intset of n members: 8 bytes a member; Contains O(log n), Add and Remove O(n) for the numbers that move.
// A hash table: about 60 bytes a member and its text; Add, Remove and Contains O(1).
//
// This package is internal to zlimit: it may change in any release.
package set
