package sentinel

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMixedPair: of a redis-server and a zlimit-server each takes over from the other when the master is
// stopped or replaced by hand; TestRedisMaster and TestRedisReplica kill it. The old master becomes a
// replica.
func TestMixedPair(t *testing.T) {
	t.Parallel()
	for _, programs := range [][]string{{redis7, zlimit}, {zlimit, redis7}} {
		for _, f := range []fault{stopped, asked} {
			t.Run(programs[0]+" "+string(f), func(t *testing.T) {
				t.Parallel()
				s := startSet(t, layout{programs: programs})
				old, replica := s.servers[0], s.servers[1]
				s.failover(t, f, onlyScript, func() {
					if f == stopped {
						old.signal(t, syscall.SIGCONT)
					}
					s.awaitReplica(t, old)
				})
				require.Same(t, replica, s.master)
				s.awaitRewritten(t)
			})
		}
	}
}
