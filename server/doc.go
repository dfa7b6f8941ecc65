// Package server puts an engine behind sockets: listeners, one goroutine per
// connection, the wire, limits on what a client may send and leave unread, and
// an orderly end. It is the only importer of redcon.
//
// Why not redcon's own Server: see docs/adr/0002-connection-loop.md.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package server
