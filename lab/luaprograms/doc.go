// Package luaprograms generates Lua programs and runs sources in Debian's lua5.1, the reference for the
// semantics of Lua 5.1. Its tests compare the interpreter with both.
//
// A program is a source, and its result is one text. The generator does not know how the engine under test
// works.
package luaprograms
