// Package lua is Lua 5.1: its syntax, its machine and its libraries, without files, processes and the
// clock, for scripts that a host cannot trust. It knows nothing of Redis.
//
// A source goes through these steps:
//
//   - Package syntax reads it, with Lua's error texts, and builds the tree of
//     package ast.
//   - codegen*.go make a Proto of each function: code for a register machine.
//     Registers are allocated as in C Lua, since errors name variables by them
//     (names.go).
//   - execute.go runs the code. A call from Lua to Lua pushes a frame and stays
//     in the loop; only a GoFunction that calls Lua, a metamethod and an iterator
//     nest it. A coroutine is a Thread with stacks of its own: to resume it nests
//     the loop, to yield leaves it. No goroutines are used.
//   - A Value has three words and needs no allocation of its own. A Table
//     (table*.go) is laid out as in C Lua, so that pairs and # give the same.
//
// An error is a panic with an *Error, from the place where it arises to the pcall or the host that called
// Thread.PCall. Other panics are bugs and pass through.
//
// What a script may use is bounded by counters that the machine keeps itself
// (Meter): of turns of loops and calls, and of bytes allocated.
//
// This package is internal to zlimit: it may change in any release.
package lua
