// Package list implements the list value: elements (any byte strings) in the order in which they were pushed,
// accessed by index from either end.
//
// It is a pure data structure without locks or clock, and knows no command and no wire text. The caller
// serializes access.
//
// # Structure
//
// A list is a chain of chunks, each a window of up to 128 elements in an array. No chunk is empty, and no two
// neighbours, except at the ends of the list, have so few elements that half a chunk would hold them: a list
// of n elements has O(n/128) chunks whatever was removed from it. Elements are immutable strings, so results
// stay valid after the list has changed.
//
// # Costs
//
// Pushing and popping at either end, and Len: O(1) amortized. Finding an index from the nearer end: O(n/128).
// Insert and Set: that, plus at most one chunk. Keep: O(chunks dropped) plus two chunks. Remove: one pass.
//
// This package is internal to zlimit: it may change in any release.
package list
