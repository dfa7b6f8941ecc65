// Command bench compares the speed of zlimit-server and redis-server on the same
// machine in the same run, as ratios.
//
// Every workload is a named row of one table (list.go). Both servers are started afresh,
// pinned to one core, with the client on another, and their answers are checked. Then they
// take turns, round by round, so that other load on the machine affects both alike. The
// figure is the ratio of their medians of processor time a call; throughput is beside it.
//
// Bench is not a load generator for production servers: it uses its own keys, empties
// the keyspace, and starts both servers itself. README.md says how to read what it writes.
package main
