// Package scripting runs Lua scripts for EVAL and its family: the script cache,
// a pool of sealed interpreter states, the redis.* functions, and the
// conversions between replies and Lua values. It has no sockets and takes no
// locks. The session that calls EVAL locks the shards of the script's keys if
// it is proven that it uses no others, or else every shard.
//
// The machine is package lua, and the libraries that Redis adds to it are
// package redislib. sandbox.go seals the globals. When a script is loaded, package proof
// says which keys it uses, and resolved_call.go resolves the commands that it calls.
//
// Scripts have no access to files, processes, the clock or other scripts.
//
// This package is internal to zlimit: it may change in any release.
package scripting
