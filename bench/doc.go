// Command bench compares the speed of zlimit-server and redis-server on the same
// machine in the same run, as ratios.
//
// Every workload is a named row of one table (rows.go). For each row both servers are
// started afresh with persistence off, pinned to one core, with the client on another.
// They are warmed up and their answers checked. Then they take turns, round by round,
// so that other load on the machine affects both alike. A row's figure is the ratio of
// the two medians of the servers' processor time a call; throughput stands beside it.
//
// Bench is not a load generator for production servers: it uses its own keys, empties
// the keyspace, and starts both servers itself. It is a closed loop: a connection sends
// its next batch when the last one is answered. Latencies are therefore those of a
// server as busy as the connections allow, not those at a chosen rate.
//
// With --profile it measures our server alone and writes what its processor time went to
// (profile.go).
package main
