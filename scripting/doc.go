// Package scripting runs Lua scripts for EVAL and its family: the script
// cache, a pool of sealed interpreter states, the redis.* functions and the
// conversions between replies and Lua values. It knows no sockets and takes
// no locks: the session that calls EVAL holds them, of the script's keys where
// proof.go finds that it uses no others and of every shard where it does not.
// redis.call reaches the command table directly, without encoding anything.
//
// The interpreter is gopher-lua's virtual machine and its compiler. What a
// script can see of Lua is ours, because Redis' scripts were written for C
// Lua 5.1 and gopher-lua departs from it where limiters look:
//
//   - lex.go and parse*.go read the source as Lua 5.1 does, with its error
//     texts, and build gopher-lua's syntax tree; concatenation, `for` and
//     writes to globals become calls of hidden functions (hidden.go);
//   - lib_*.go are the library functions, numbers.go how numbers are spelled;
//   - blame.go says which variable a failing instruction was about;
//   - sandbox.go seals the globals.
//
// Scripts that are no more than what limiters need run without that machine:
// plain*.go, with caller.go as the way to commands that both have.
//
// The package is not a general Lua: nothing reaches files, processes, the
// clock or another script.
package scripting
