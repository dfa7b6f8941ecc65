// Package traces keeps the last decisions of limiters about single keys, for RL.TRACE and
// RL.SIM. See docs/adr/0040-top-and-sim.md.
//
// This package is internal to zlimit: it may change in any release.
package traces
