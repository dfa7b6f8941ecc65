// Package debug has the subcommands of DEBUG, with the handlers that need neither a session nor the
// engine.
//
// This package is internal to zlimit: it may change in any release.
package debug
