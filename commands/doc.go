// Package commands is the command table and the handlers of the commands that
// need nothing but the keyspace: keys, strings, hashes, lists, sets, sorted
// sets.
//
// A command is a row of data and a plain function: no sockets, no locks, no
// clock, no goroutines. Whoever calls a handler has looked the row up, checked
// the arity, locked the shards of the keys and read the clock once. Groups of
// rows are slices that NewTable joins; rl, introspection, scripting and engine
// add theirs (RL.ALLOW, COMMAND, EVAL, MULTI and the like).
//
// Files are named after the families of Redis' manual: ZADD is in zset_add.go,
// EXPIRE in expire.go. Error texts are in errors.go.
//
// This package is internal to zlimit: it may change in any release.
package commands
