// Package server serves an engine on network listeners: loops that run connections, the wire protocol, limits
// on what a client may send and leave unread, and graceful shutdown. It is the only importer of redcon;
// docs/adr/0052 says why it does not use redcon's own Server.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package server
