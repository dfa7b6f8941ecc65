// Package cluster runs the gateway, zlimit-server with an upstream, over real clusters of
// redis-server: three masters, each with a replica. Its tests kill and stop masters, cut the
// gateway off, move slots, let nodes join and leave, and drop function libraries, while callers ask
// for units throughout, through two gateways, about the same keys. They check that no window has more
// units than its limit, and that nobody is told something else than that the upstream is away. What a
// master has admitted and its successor does not know is counted, and must be nothing where
// upstream-wait has confirmed it.
//
// TestFaults, which make clusters runs with -rounds 5, prints the failure table of docs/scaling.md.
//
// Package nodes has the servers. The tests wait for conditions by asking, up to a deadline.
package cluster
