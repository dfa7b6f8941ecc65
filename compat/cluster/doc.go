// Package cluster runs the gateway, zlimit-server with an upstream, over real clusters of
// redis-server: three masters, each with a replica. Its tests kill and stop masters, cut the
// gateway off, move slots, let nodes join and leave, and drop function libraries, while callers ask
// for units throughout, through two gateways, about the same keys. They check that no window has more
// units than its limit, and that nobody sees other errors than the fault explains: callers of other masters'
// keys none. What a master has admitted and its successor does not know is counted, and must be nothing
// where upstream-wait has confirmed it.
//
// TestUncovered takes half of the slots away, or masters without replicas, and checks what callers of
// covered and uncovered slots see, and what upstream-failure makes of it. TestForwarded sends everything that
// gateways pass on about keys of every master: scripts, transactions, channels, notifications, blocking
// commands, commands about all keys, calls that are split.
//
// TestFault runs in CI, when nothing else does: the faults that differ in what callers may get. It judges
// what they got, not when, and nodes and gateways have so much time that a busy machine causes no fault of
// its own. Faults marked elsewhere are only in TestFaults, which make clusters runs with -rounds 5: it
// measures with a short cluster-node-timeout, and prints the failure table of docs/scaling.md.
//
// Package nodes has the servers. The tests wait for conditions by asking, up to a deadline that is far away.
// CLUSTER_SERVER names another server than redis-server, as valkey-server.
package cluster
