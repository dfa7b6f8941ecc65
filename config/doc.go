// Package config has zlimit's directives: one table (directives_*.go) from which
// the configuration file, the command line, CONFIG GET, CONFIG SET, File
// and the help text derive. Names, syntax, bounds and error texts are those of
// Redis 7.0.
//
// A directive of Redis that zlimit does not implement is in the table in one of two
// ways. If its value has no visible effect (how a replica syncs, how a snapshot is
// compressed), any value that Redis accepts is stored, and its description says
// that it has no effect. If a caller would rely on it (memory limits, replication),
// only the value that is true of zlimit is accepted, and others are refused with
// the reason. No value is accepted and then ignored silently.
//
// The package opens no socket, handles no signal, and reads only the files that are
// passed to ParseArgs or included by them.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package config
