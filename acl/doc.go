// Package acl has the users of a server and what they may do, as in Redis 7.0: their
// passwords, and rules about commands, keys and channels.
//
// A User has an identity, to which sessions keep a pointer, and rules, which are
// replaced as a whole: SetUser applies rules to a copy, so that a list of rules with an
// error changes nothing, and a session sees a change with its next command. A user who
// may do everything has no restriction, which is one pointer to look at for each
// command.
//
// Which categories a command belongs to and what it does to which keys is data in its
// row of the command table; see commands.Command. Beside the table there are only the
// commands that Redis has and the table lacks: rules may name them (see absent.go and docs/adr/0031).
//
// A Log keeps what was refused, for ACL LOG.
//
// The package has no sockets, files or clock. Its functions may be called
// concurrently.
//
// This package is internal to zlimit: it may change in any release.
package acl
