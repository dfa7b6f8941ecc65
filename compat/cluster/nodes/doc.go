// Package nodes runs a cluster of unmodified redis-servers on free ports of loopback, and does
// to it what happens to clusters: masters are killed and stopped, clients are cut off from one,
// slots move, nodes join and leave. It also runs the gateway before it.
//
// It knows nothing of tests: its callers are those of compat/cluster, compat/cluster/try and
// compat/run.
package nodes
