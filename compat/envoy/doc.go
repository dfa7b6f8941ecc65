// Package envoy holds zlimit's rate limit service against Envoy's reference service,
// github.com/envoyproxy/ratelimit.
//
// A Reference is the reference service within the process, over a redis-server and with
// a clock of the caller's. Generate makes a History, which is a configuration and the
// requests that follow, from a seed. Compare sends a history to two deciders and reports
// the first response in which they differ. The faults of the tests are variants of the
// reference with one mistake each; the comparison must find every one of them.
//
// testdata/bad has configuration files that the reference refuses and testdata/good has
// files that it accepts although they look odd, both with its recorded verdicts.
//
// This package is internal to zlimit: it may change in any release.
package envoy
