// Package list is the list value: elements (any byte strings, the same one as
// often as it comes) in the order in which they were pushed, reached by index
// from either end.
//
// It is a pure data structure. It has no lock and no clock, knows no command
// and no wire text; the caller serialises access.
//
// # Structure
//
// A list is a chain of chunks, each a window of up to 128 elements in an array.
// No chunk is empty, and no two neighbours, but those at the very ends, have so
// few elements together that half a chunk would hold them: a list of n elements
// has O(n/128) chunks, whatever was removed from it.
// Elements are strings that nobody changes, so what a list answers stays good
// after the list has changed.
//
// # Costs
//
// Pushing and popping at either end, and Len: O(1) amortised. An index is found
// from the nearer end, over whole chunks: O(n/128). Insert and Set: that, plus
// one chunk at most. Keep drops whole chunks: O(chunks dropped) plus two
// chunks. Remove looks at what it walks over once.
package list
