// Package faults holds the failures that a test injects into a server: which commands each affects, and
// what becomes of those. It neither waits nor closes connections; the server does.
//
// This package is internal to zlimit: it may change in any release.
package faults
