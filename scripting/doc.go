// Package scripting runs Lua scripts for EVAL and its family: the script cache,
// a pool of sealed interpreter states, the redis.* functions, and the
// conversions between replies and Lua values. It has no sockets and takes no
// locks. The session that calls EVAL locks the shards of the script's keys if
// proof.go proves that it uses no others, or else every shard.
//
// The interpreter is the compiler and virtual machine of gopher-lua. The parser
// and the libraries are ours: Redis' scripts are written for C Lua 5.1, from
// which gopher-lua differs where limiters notice.
//
//   - lex.go and parse*.go read the source as Lua 5.1 does, with its error
//     texts, and build gopher-lua's syntax tree. Concatenation, `for` and
//     writes to globals become calls of hidden functions (hidden.go).
//   - lib_*.go are the library functions; numbers.go formats and parses
//     numbers.
//   - error_context.go names the variable in an error.
//   - sandbox.go seals the globals.
//
// Scripts within a small subset run without that machine, in plain*.go. Both
// reach the commands through caller.go.
//
// The package is not a general Lua: scripts have no access to files, processes,
// the clock or other scripts.
//
// This package is internal to zlimit: it may change in any release.
package scripting
