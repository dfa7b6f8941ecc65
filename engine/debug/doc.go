// Package debug declares the subcommands of DEBUG and handles those that need neither a session nor the
// engine.
//
// This package is internal to zlimit: it may change in any release.
package debug
