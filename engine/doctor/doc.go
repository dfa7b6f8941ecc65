// Package doctor finds what hand-written limiters do wrong, for RL.DOCTOR: it sees the
// commands of each session after they have run, and says which key pattern, command and
// client has which problem. See docs/adr/0041.
//
// The problems are the rows of a table, rules.go. What a rule must remember of a key is in
// tables of fixed size, one for each shard, which the lock of the shard protects: a key
// that displaces another costs a finding and never makes a wrong one. Findings are counted
// by pattern, not by key, and their number is bounded.
//
// It changes no key and reads no clock.
//
// This package is internal to zlimit: it may change in any release.
package doctor
