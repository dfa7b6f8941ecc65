// Package scripting runs Lua scripts for EVAL and FCALL: the script cache, the libraries of FUNCTION, a pool
// of sandboxed interpreter states, the functions of the table redis, and the conversions between replies and
// Lua values. It has no sockets and takes no shard locks: the session locks the shards of a script's keys if
// it is proven that the script uses no others, or else every shard.
//
// The machine is package lua, and the libraries that Redis adds to it are package redislib. When a script is
// loaded, package proof says which keys it uses, and resolved_call.go resolves the commands that it calls.
//
// Scripts have no access to files, processes, the clock or other scripts.
//
// This package is internal to zlimit: it may change in any release.
package scripting
