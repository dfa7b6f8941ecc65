package sentinel

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A fault is why there is another master afterwards.
type fault string

const (
	killed  fault = "killed"             // SIGKILL
	stopped fault = "stopped"            // SIGSTOP
	asked   fault = "by hand"            // SENTINEL FAILOVER
	careful fault = "by hand, no writes" // the same after CLIENT PAUSE, when replicas have everything
)

// Faults that need a proxy: the master lives, and neither sentinels nor replicas reach it
// for a while, nor do clients that know it by them. Clients on its side do.
const (
	cutOff      fault = "cut off"
	cutOffAlone fault = "cut off, min-replicas-to-write 1" // and min-replicas-max-lag 1
)

// cutFor is how long at least a master is cut off.
const cutFor = 5 * time.Second

// layout returns servers of a program for the fault.
func (f fault) layout(program string) layout {
	l := layout{programs: []string{program, program, program}, proxied: f == cutOff || f == cutOffAlone}
	if f == cutOffAlone {
		l.extra = map[int][]string{}
		for i := range l.programs {
			l.extra[i] = []string{"min-replicas-to-write 1", "min-replicas-max-lag 1"}
		}
	}
	return l
}

// An outcome is what clients have noticed of a failover.
type outcome struct {
	silence   time.Duration // without a reply, of the limiter that waited longest
	errors    float64       // of a limiter
	lost      []int         // units of each without confirmation; if the master is cut off, on its side
	lostOfOne []int         // units of each that one replica had confirmed
	straddled int           // units above the limit in windows that contain the failover
}

// failover makes the sentinels promote another server under a load. after runs while the
// load goes on.
func (s *set) failover(t *testing.T, f fault, algorithms []algorithm, after func()) outcome {
	t.Helper()
	d := s.startLoad(t, algorithms...)
	old := s.master
	if f == cutOff || f == cutOffAlone {
		return s.cutOffMaster(t, f, d, algorithms, after)
	}
	s.replaceMaster(t, f, d, after)
	return s.account(t, d.limiters, old)
}

// replaceMaster brings the fault about, waits until the limiters are served by the new
// master, and stops them.
func (s *set) replaceMaster(t *testing.T, f fault, d *load, after func()) {
	t.Helper()
	old := s.master
	d.awaitReplies(t, old)
	switch f {
	case killed:
		s.setDownAfter(t, alert)
		old.kill()
	case stopped:
		s.setDownAfter(t, alert)
		old.signal(t, syscall.SIGSTOP)
	case careful:
		require.NoError(t, old.client.Do(t.Context(), "CLIENT", "PAUSE", 10_000, "WRITE").Err())
		await(t, "replicas have what the master has", func() error { return s.inStep(t.Context()) })
		fallthrough
	case asked:
		require.NoError(t, s.sentinels[0].client.Failover(t.Context(), masterName).Err())
	}
	s.awaitNewMaster(t)
	s.setDownAfter(t, calm)
	if f == careful {
		// Sentinel does this when the pause is over, too late: a client that has not heard of
		// the new master is then admitted by the old one.
		require.NoError(t, old.client.Do(t.Context(), "REPLICAOF", "127.0.0.1", s.master.known).Err())
		require.NoError(t, old.client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal").Err())
	}
	d.awaitReplies(t, s.master)
	after()
	d.stop()
}

// cutOffMaster cuts the master off, with limiters on its side beside those of the load.
func (s *set) cutOffMaster(t *testing.T, f fault, d *load, algorithms []algorithm, after func()) outcome {
	t.Helper()
	old := s.master
	d.awaitReplies(t, old)
	near := s.startLoadOf(t, redis.NewClient(s.options(old.port, answering)), "near:", algorithms)
	near.awaitReplies(t, old)
	s.setDownAfter(t, alert)
	cut := time.Now()
	s.proxy.cut()
	s.awaitNewMaster(t)
	s.setDownAfter(t, calm)
	d.awaitReplies(t, s.master)
	await(t, "the time for which the master is cut off", func() error {
		if left := cutFor - time.Since(cut); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
	near.stop()
	for _, l := range near.limiters {
		s.requireWithin(t, l)
		refused := slices.ContainsFunc(l.errors, func(text string) bool {
			return strings.HasPrefix(text, "NOREPLICAS ")
		})
		require.Equal(t, f == cutOffAlone, refused, "%s: refused by the master that is cut off", l.name)
		await(t, "what the new master knows of "+l.name, func() error {
			c, err := d.call(t.Context(), l, -1)
			if err == nil {
				l.calls = append(l.calls, c)
			}
			return err
		})
	}
	s.proxy.heal()
	after()
	d.stop()
	out := s.account(t, d.limiters, old)
	out.lost, out.lostOfOne = nil, nil
	for _, l := range near.limiters {
		s.accountOf(t, l, old, &out)
	}
	return out
}

// requireWithin requires that no window of one server has more units than the limit.
func (s *set) requireWithin(t *testing.T, l *limiter) {
	t.Helper()
	for _, x := range s.servers {
		require.LessOrEqual(t, excess(l.algorithm, by(l.calls, x.port)), 0,
			"%s: units above the limit in a window of %s", l.name, x.name)
	}
}

// account checks the promises and returns the rest.
func (s *set) account(t *testing.T, limiters []*limiter, old *server) outcome {
	t.Helper()
	var out outcome
	for _, l := range limiters {
		s.requireWithin(t, l)
		require.NotEmpty(t, by(l.calls, s.master.port))
		out.straddled = max(out.straddled, excess(l.algorithm, l.calls))
		out.errors += float64(len(l.errors)) / float64(len(limiters))
		if l.wait == 0 {
			out.silence = max(out.silence, silence(l.calls))
		}
		s.accountOf(t, l, old, &out)
	}
	return out
}

// accountOf adds what a limiter has lost.
func (s *set) accountOf(t *testing.T, l *limiter, old *server, out *outcome) {
	t.Helper()
	var known map[string]bool
	if l.algorithm == script {
		known = members(t, s.master, l)
	}
	units, confirmed := lost(l, old.port, s.master.port, known)
	t.Logf("%s: %d calls, %d by the new master, silent for %s, %d errors; lost %d units, %d confirmed",
		l.name, len(l.calls), len(by(l.calls, s.master.port)),
		silence(l.calls).Round(time.Millisecond), len(l.errors), units, confirmed)
	if l.wait == len(s.servers)-1 {
		require.Zero(t, confirmed, "%s: units lost that every replica had confirmed", l.name)
		ok := slices.ContainsFunc(by(l.calls, old.port), func(c call) bool { return c.confirmed })
		require.True(t, ok, "%s: WAIT has confirmed nothing", l.name)
	}
	switch l.wait {
	case 0:
		out.lost = append(out.lost, units)
	case 1:
		out.lostOfOne = append(out.lostOfOne, confirmed)
	}
}

var (
	both       = []algorithm{script, rlAllow}
	onlyScript = []algorithm{script} // where redis-server may be asked

	threeOurs = []string{zlimit, zlimit, zlimit}
)

func nothing() {}

// TestKilledMaster: the killed master comes back as a replica of the new one, and is one
// at once after another restart, because Sentinel has changed its file.
func TestKilledMaster(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{programs: threeOurs})
	old := s.master
	s.failover(t, killed, both, func() {
		old.start(t)
		s.awaitReplica(t, old)
	})
	for _, replica := range s.servers {
		if replica != s.master {
			s.awaitReplica(t, replica)
		}
	}
	s.awaitRewritten(t)
	for _, one := range s.sentinels {
		one.kill()
	}
	old.kill()
	old.start(t)
	s.awaitReplica(t, old)
}

// TestStoppedMaster: a master that continues after its successor was promoted becomes a
// replica of it.
func TestStoppedMaster(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{programs: threeOurs})
	old := s.master
	s.failover(t, stopped, both, func() {
		old.signal(t, syscall.SIGCONT)
		s.awaitReplica(t, old)
	})
	s.awaitRewritten(t)
}

// TestFailoverByHand has users with the rights that Redis' documentation gives Sentinel and
// replicas, and no others.
func TestFailoverByHand(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{programs: threeOurs, acl: true})
	old := s.master
	s.failover(t, asked, both, func() { s.awaitReplica(t, old) })
	s.awaitRewritten(t)
	for _, x := range s.servers {
		users, err := x.lines("user")
		require.NoError(t, err)
		require.Len(t, users, 4, "user lines in the file of %s", x.name)
	}
}

// TestFailoverOverTLS: everybody speaks TLS and shows a certificate, and Sentinel and replicas have users
// with few rights. The killed master, which may be a redis-server, comes back as a replica.
func TestFailoverOverTLS(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		programs []string
		asking   []algorithm
	}{
		{threeOurs, both},
		{[]string{redis7, zlimit, zlimit}, onlyScript},
	} {
		s := startSet(t, layout{programs: row.programs, acl: true, tls: true})
		old := s.master
		s.failover(t, killed, row.asking, func() {
			old.start(t)
			s.awaitReplica(t, old)
		})
		s.awaitRewritten(t)
	}
}

// TestCarefulFailover: nothing is lost if the master's clients may not write while Sentinel
// replaces it.
func TestCarefulFailover(t *testing.T) {
	t.Parallel()
	for _, program := range []string{zlimit, redis7} {
		s := startSet(t, layout{programs: []string{program, program, program}})
		out := s.failover(t, careful, onlyScript, nothing)
		require.Equal(t, []int{0}, out.lost, program)
		require.Equal(t, []int{0}, out.lostOfOne, program)
		require.LessOrEqual(t, out.straddled, 0, program)
	}
}

// TestCutOffMaster: a master that is cut off admits what is lost then, or with min-replicas-to-write refuses
// soon; it becomes a replica when it is reached again. Sentinel and replicas know it by its proxy.
func TestCutOffMaster(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{cutOff, cutOffAlone} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := startSet(t, f.layout(zlimit))
			old := s.master
			out := s.failover(t, f, both, func() { s.awaitReplica(t, old) })
			if f == cutOff {
				require.NotContains(t, out.lost, 0, "the master that is cut off has admitted nothing")
			}
		})
	}
}

// TestPriorityZero: a replica with replica-priority 0 is not promoted, even if there is no
// other.
func TestPriorityZero(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{
		programs: threeOurs, extra: map[int][]string{1: {"replica-priority 0"}},
	})
	s.failover(t, killed, both, nothing)
	require.Same(t, s.servers[2], s.master)
	s.awaitReplica(t, s.servers[1])
	await(t, "refusal", func() error {
		err := s.sentinels[0].client.Failover(t.Context(), masterName).Err()
		require.Error(t, err, "a replica with priority 0 is promoted")
		if redis.HasErrorPrefix(err, "NOGOODSLAVE") {
			return nil
		}
		return err
	})
}

// TestRedisMaster: zlimit-server takes over from redis-server, which comes back as its
// replica.
func TestRedisMaster(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{programs: []string{redis7, zlimit, zlimit}})
	old := s.master
	s.failover(t, killed, onlyScript, func() {
		old.start(t)
		s.awaitReplica(t, old)
	})
	s.awaitRewritten(t)
}

// TestRedisReplica: redis-server takes over from zlimit-server, which comes back as its
// replica.
func TestRedisReplica(t *testing.T) {
	t.Parallel()
	s := startSet(t, layout{
		programs: []string{zlimit, zlimit, redis7},
		extra:    map[int][]string{2: {"replica-priority 1"}},
	})
	old := s.master
	s.failover(t, killed, onlyScript, func() {
		old.start(t)
		s.awaitReplica(t, old)
	})
	require.Same(t, s.servers[2], s.master)
	s.awaitReplica(t, s.servers[1])
	s.awaitRewritten(t)
}
