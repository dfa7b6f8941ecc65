// Package replication is Redis' protocol of replication without sockets and without keys: the stream of
// changes with its backlog, the replicas that follow it, and the link of a replica to its master. What is
// sent and what is done with what arrives is the engine's.
//
// An offset counts the bytes of a history, as Redis' master_repl_offset does. A history has an identifier
// of 40 hexadecimal digits; whoever has followed it up to an offset may go on from there as long as the
// backlog reaches back to it. See docs/adr/0043-replication.md.
//
// This package is internal to zlimit: it may change in any release.
package replication
