// Package rdb reads and writes Redis' snapshots, dump.rdb, and single values
// as DUMP and RESTORE carry them. It knows no commands and opens no files.
//
// # Who does what
//
// Everything that is read passes a fence first (fence*.go): our own walk over
// opcodes, types, lengths and the insides of packed values, which checks each
// against what the input still holds. Only what passed it reaches
// github.com/hdt3213/rdb, which decodes values, piece by piece (library.go).
// Writing is ours: docs/adr/0019 has what was found and decided.
//
// # Memory
//
// A length is never believed before the bytes that it promises are there, so
// reading takes memory in proportion to the input: its largest string, three
// times, and the values themselves. LZF is what can make much of little, up to
// 88 bytes of each. Values are handed on in pieces, so that a sorted set of a
// million entries is not held twice.
package rdb
