// Command bench compares the speed of zlimit-server with that of a
// redis-server on the same machine in the same run, and says so as ratios.
//
// Every workload is a named row of one table (rows.go). For each row both
// servers are started afresh with persistence off, pinned to one core, with the
// client on another; they are warmed, their answers are checked, and then they
// take turns, round by round, so that whatever else the machine does hits both
// alike. The figure of a row is the ratio of the two medians.
//
// It is not a load generator for production servers: the keys are its own, the
// keyspace is emptied, and both servers are processes that it started. It is a
// closed loop: a connection sends its next batch when the last one is answered,
// so latencies are those of a server kept as busy as the connections allow, not
// those at a chosen rate.
//
// With --picture it measures nothing: it draws docs/traffic.svg (picture.go).
package main
