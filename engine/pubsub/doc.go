// Package pubsub delivers messages to sessions: those of PUBLISH and of keyspace
// notifications to subscribers, and, through the same mailboxes, invalidation
// messages and the lines of MONITOR. It has the commands of the group pubsub.
// See docs/adr/0007-pubsub.md.
//
// It opens no connection. A session's connection is woken, and takes what is in
// the session's [Mailbox].
//
// This package is internal to zlimit: it may change in any release.
package pubsub
