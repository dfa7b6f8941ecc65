// Package durable keeps an engine's keyspace on disk: in an append-only log, in
// snapshots (dump.rdb), or in both. It loads them at the start, runs the
// background jobs that save and rewrite, and has the commands for all that:
// SAVE, BGSAVE, LASTSAVE, BGREWRITEAOF and WAITAOF.
//
// It decides when files are written and what they hold. The formats are in the
// packages below persist. What a command changes reaches the log through a
// [Journal]; see docs/adr/0016-durability.md and docs/adr/0017-effects.md.
//
// This package is internal to zlimit: it may change in any release.
package durable
