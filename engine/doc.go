// Package engine runs commands for sessions: it is the whole server without
// sockets. A session carries what a connection has (its name, its database,
// its protocol, a transaction being queued); Do runs one command of it.
//
// # The life of a command
//
// Do looks the row up, checks arity, authentication and the transaction
// state, locks the shards of the command's keys, reads the clock once, calls
// the handler, and unlocks. EXEC does the same once for all that was queued.
// Handlers themselves (package commands, and the groups of this package and of
// scripting) neither lock nor read a clock.
//
// The groups that need a session or the whole engine are here: connection.go
// (AUTH, HELLO, SELECT, ...), client.go (CLIENT), transaction.go (MULTI, ...),
// config.go (CONFIG), info.go (INFO), debug.go (DEBUG CLOCK), shutdown.go.
package engine
