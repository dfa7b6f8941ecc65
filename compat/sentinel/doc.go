// Package sentinel runs three unmodified redis-sentinels over a master and its replicas:
// of zlimit-server, of redis-server, and of both. Its tests kill and stop masters and ask
// for failovers, and check who is promoted, what comes back as a replica, what Sentinel
// leaves in the servers' files, and that limiters which run throughout admit no more than
// their limit in any window of one master. What an old master has admitted and the new one
// does not know is counted, and must be nothing where WAIT has confirmed it.
//
// The programs in clients are limiters of other languages' clients; compat/run prepares them.
//
// TestFailovers and TestFailoversOfPrograms, which make sentinel runs with -failovers 10,
// measure failovers of zlimit-server and redis-server in turn and print their tables, which
// docs/high-availability.md shortens.
//
// TestWalkThrough types what docs/high-availability.md tells its reader to, and checks what it promises.
//
// The tests wait for conditions by asking, up to a deadline.
package sentinel
