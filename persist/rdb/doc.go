// Package rdb reads and writes Redis' snapshots (dump.rdb) and the single values of
// DUMP and RESTORE. It knows no commands and opens no files.
//
// # Division of work
//
// All input passes a validator first (validate*.go). It walks over opcodes, types,
// lengths and the insides of packed values, and checks each against the remaining
// input. Only validated pieces reach github.com/hdt3213/rdb, which decodes values
// (library.go). The table in format.go has every encoding. Writing is done here.
// docs/adr/0019 has the findings and the decision.
//
// # Memory
//
// A length is not trusted before the bytes that it promises are there. Reading takes
// memory in proportion to the input: three times its largest string, and the values
// themselves. LZF is the largest multiplier, up to 88 bytes for each byte. Values are
// decoded in pieces, so that a sorted set of a million entries is not held twice.
//
// This package is internal to zlimit: it may change in any release.
package rdb
