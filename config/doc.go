// Package config holds zlimit's directives: one table (directives_*.go) from
// which the configuration file, the command line, CONFIG GET, CONFIG SET, the
// file written back and the help text all derive. Names, syntax, bounds and
// error texts are those of Redis 7.0.
//
// A directive of Redis that zlimit does not carry out is here in one of two
// ways. Where its value cannot be noticed (how a replica syncs, how a snapshot
// is compressed) any value that Redis takes is kept, and the directive's
// sentence says that it has no effect. Where a caller would rely on it (memory
// limits, saving to disk) only the value that is true is accepted, and any
// other is refused with the reason. Nothing is accepted and then not done.
//
// The package is not the server: it opens no socket, follows no signal, and
// reads files only where ParseArgs is given their names or a file includes
// them.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package config
