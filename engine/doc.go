// Package engine runs commands for sessions: it is the whole server without
// sockets. A session has what belongs to a connection (its name, its database, its
// protocol, the queue of a transaction); Do runs one command.
//
// # The life of a command
//
// Do looks the row up, checks arity, authentication and the transaction state, locks the shards of the
// command's keys, reads the clock once, calls the handler, and unlocks. EXEC does the same once for all
// queued commands. Handlers themselves (package commands, and the groups of this package and of scripting)
// neither lock nor read a clock.
//
// engine.go, session.go, work.go and blocked.go say what an engine, a session, its
// commands and its waits consist of; new.go and opening.go make them. The way of a
// command is dispatch.go, admission.go, executor.go, keyspace.go. Below are parts of
// an engine that know neither it nor its sessions, such as recording.go and locks.go.
//
// The groups that need a session or the whole engine are here: connection.go (AUTH, HELLO, SELECT, ...),
// client.go (CLIENT), transaction.go (MULTI, ...), config_commands.go (CONFIG), info.go (INFO), debug.go
// (DEBUG), shutdown.go. What is kept on disk is in package durable, users in accounts, eviction and the
// reclaiming of expired keys in room, subscriptions and mailboxes in pubsub, tracked keys in tracking,
// postponed commands in pause, counters in stats, and what the process says of itself in process. Packages
// info, memory, debug, slowlog, latency, traces and doctor make replies from facts or state of their own;
// logins decides how guessing is slowed.
//
// This package is internal to zlimit: it may change in any release.
package engine
