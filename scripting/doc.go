// Package scripting runs Lua scripts for EVAL and FCALL: the script cache, the libraries of FUNCTION, a pool
// of sandboxed interpreter states, the functions of the table redis, and the conversions between replies and
// Lua values. It has no sockets and takes no shard locks: the session locks the shards of a script's keys if
// package proof shows that it uses no others, or else every shard.
//
// Package lua is the machine, and package redislib has the other libraries of Redis. The package is not a
// general Lua: scripts have no access to files, processes, the clock or other scripts.
//
// This package is internal to zlimit: it may change in any release.
package scripting
