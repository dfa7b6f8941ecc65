// Package memory says what takes memory, for MEMORY and for INFO. See docs/adr/0028.
//
// It counts nothing: the facts are handed to it.
//
// This package is internal to zlimit: it may change in any release.
package memory
