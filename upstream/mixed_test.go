package upstream

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// Nodes of different versions: each decides by functions, or by scripts if it has none, and callers notice
// nothing of it.

// noFunctions is a user of redis-server 7.0 that may not call what 6.2 does not have.
var noFunctions = []string{
	"--user", "default", "on", "nopass", "~*", "&*", "+@all", "-function", "-fcall", "-fcall_ro",
}

// requireDecisions makes decisions about new keys of all nodes, in every way in which calls are sent.
func requireDecisions(t *testing.T, u *Upstream, round string) {
	t.Helper()
	const one, two, none = "*5 :1 :2 :1 :0 :T ", "*5 :1 :2 :0 :0 :T ", "*5 :0 :2 :0 :T :T "
	require.Equal(t, none, untimed("*5\r\n:0\r\n:2\r\n:0\r\n:3599998\r\n:3600000\r\n"))
	for i := range 8 {
		key := fmt.Sprint(round, ":", i)
		multi, call := "RL.ALLOW m"+key+" 2 1h", "RL.ALLOW p"+key+" 2 1h"
		if i%2 == 0 { // the first call of a node may be one of these
			require.Equal(t, "*3 "+one+two+none, untimed(u.exec(multi, multi, multi)), key)
		} else {
			require.Equal(t, "*3 "+one+two+none, untimed(u.execWatched("m"+key, multi, multi, multi)), key)
		}
		require.Equal(t, one+two+none, untimed(u.do(call, call, call)...), "combined: %s", key)
		for _, want := range []string{one, two, none} {
			require.Equal(t, want, untimed(u.do("RL.ALLOW s"+key+" 2 1h")...), key)
		}
		require.Equal(t, strings.Repeat(one, 4), untimed(u.do("RL.ALLOW f"+key+" 2 1h ALGO FIXED",
			"RL.ALLOW b"+key+" 2 1h ALGO BUCKETS 6", "RL.ALLOW g"+key+" 2 1h ALGO GCRA 2",
			"RL.ALLOW c"+key+" 2 1h ALGO COUNTER")...), key)
		hold := "{r" + key + "} "
		require.Equal(t, "*5 :2 :2 :0 :0 :T *2 :1 :0 :1 ", untimed(u.do(
			"RL.RESERVE "+hold+"2 1h 2 HOLD 1h ID x", "RL.SETTLE "+hold+"x 1", "RL.RESET "+hold)...), key)
	}
}

var times = regexp.MustCompile(`:\d{4,}`)

// untimed returns replies in one line, without numbers that depend on when they came.
func untimed(replies ...string) string {
	return times.ReplaceAllString(strings.ReplaceAll(strings.Join(replies, ""), "\r\n", " "), ":T")
}

// requireDecidesBy requires that the masters at some addresses decide by scripts, and others by functions.
func requireDecidesBy(t *testing.T, u *Upstream, masters int, scripts ...string) {
	t.Helper()
	for i := range masters {
		line := u.status(fmt.Sprint("node", i))
		want := "decides_by=functions"
		for _, addr := range scripts {
			if strings.Contains(line, "addr="+addr+",") {
				want = "decides_by=scripts"
			}
		}
		require.Contains(t, line, want)
	}
}

// startMixed runs masters in one cluster, and returns their addresses.
func startMixed(t *testing.T, masters ...oracle.Options) []string {
	t.Helper()
	for i := range masters {
		masters[i].RealTime = true
	}
	c, err := oracle.StartClusterOf(masters...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.Addrs()
}

func openCluster(t *testing.T, addrs []string) *Upstream {
	return open(t, "redis+cluster://"+strings.Join(addrs, ","), func(o *Options) {
		o.Timeout = 20 * time.Second
	})
}

// TestMixedCluster has one node whose user lacks FUNCTION and FCALL, which is all that the gateway notices of
// an engine before 7.0.
func TestMixedCluster(t *testing.T) {
	t.Parallel()
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	addrs := startMixed(t, oracle.Options{}, oracle.Options{Args: noFunctions}, oracle.Options{})
	u := openCluster(t, addrs)
	requireDecisions(t, u, "mixed")
	requireDecidesBy(t, u, 3, addrs[1])
	require.Equal(t, "0", u.status("failed"))
}

// TestNodeLosesFunctions: so does a node while the gateway runs, as if another version had taken its place.
func TestNodeLosesFunctions(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	u := open(t, "redis+single://"+r.Addr(), func(o *Options) { o.Timeout = 20 * time.Second })
	requireDecisions(t, u, "before")
	requireDecidesBy(t, u, 1)
	tell(t, r, "ACL SETUSER default -function -fcall -fcall_ro")
	requireDecisions(t, u, "after")
	requireDecidesBy(t, u, 1, r.Addr())
	require.Equal(t, "0", u.status("failed"))
}

// TestOtherVersionsInOneCluster puts the releases that ORACLE_SERVERS names beside redis-server 7.0.
func TestOtherVersionsInOneCluster(t *testing.T) {
	for _, program := range otherReleases(t, true) {
		t.Run(nameOf(program), func(t *testing.T) {
			addrs := startMixed(t, oracle.Options{}, oracle.Options{Program: program}, oracle.Options{})
			u := openCluster(t, addrs)
			requireDecisions(t, u, "mixed")
			var scripts []string
			if oracle.Release(program) < 700 {
				scripts = addrs[1:2]
			}
			requireDecidesBy(t, u, 3, scripts...)
			require.Equal(t, "0", u.status("failed"))
		})
	}
}

// TestOtherVersionTakesOver puts them behind one list: the newer one is a replica of the older one, and is
// promoted when that has gone. The units stay.
func TestOtherVersionTakesOver(t *testing.T) {
	for _, program := range otherReleases(t, true) {
		t.Run(nameOf(program), func(t *testing.T) {
			master := oracle.Options{RealTime: true}
			replica := oracle.Options{RealTime: true, Program: program}
			if oracle.Release(program) < 700 {
				master, replica = replica, master
			}
			requireTakenOver(t, master, replica)
		})
	}
}

// TestVersionTakesOver is the same with a master whose user lacks FUNCTION.
func TestVersionTakesOver(t *testing.T) {
	t.Parallel()
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	requireTakenOver(t, oracle.Options{RealTime: true, Args: noFunctions}, oracle.Options{RealTime: true})
}

func requireTakenOver(t *testing.T, first, second oracle.Options) {
	t.Helper()
	a, err := oracle.Start(first)
	require.NoError(t, err)
	t.Cleanup(func() { _ = a.Close() }) // once more
	second.Args = append(second.Args, "--replicaof", strings.ReplaceAll(a.Addr(), ":", " "))
	b, err := oracle.Start(second)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	u := open(t, "redis+single://"+a.Addr()+","+b.Addr(), func(o *Options) { o.Timeout = 20 * time.Second })
	requireDecisions(t, u, "first")
	require.Equal(t, admitted, u.do("RL.ALLOW k 2 1h")[0])
	direct := open(t, "redis+single://"+b.Addr(), nil)
	eventually(t, func() bool { return direct.do("EXISTS k")[0] == ":1\r\n" })

	require.NoError(t, a.Close())
	tell(t, b, "REPLICAOF NO ONE")
	eventually(t, func() bool {
		return strings.HasPrefix(untimed(u.do("RL.ALLOW k 2 1h PEEK")...), "*5 :1 :2 :1 ")
	})
	require.True(t, strings.HasPrefix(u.do("RL.ALLOW k 2 1h")[0], admittedToo))
	requireDecisions(t, u, "second")
}

// TestOtherReleaseIsTooOld: an engine before 6.2 refuses decisions in words that say so. In CI there is none,
// so TestBadUpstreams has a fake with the replies of Redis 5; this one is for ORACLE_SERVERS.
func TestOtherReleaseIsTooOld(t *testing.T) {
	for _, program := range otherReleases(t, false) {
		t.Run(nameOf(program), func(t *testing.T) {
			r := oracle.StartFor(t, oracle.Options{RealTime: true, Program: program})
			u := open(t, "redis://"+r.Addr(), nil)
			require.Equal(t, "+OK\r\n", u.do("SET k v")[0])
			require.Regexp(t, `^-UPSTREAM .* version \S+ of the engine is too old, 6\.2 is the first`,
				u.do("RL.ALLOW l 1 1h")[0])
		})
	}
}

// nameOf returns a name for tests of a program.
func nameOf(program string) string {
	return fmt.Sprint(filepath.Base(program), " ", float64(oracle.Release(program))/100)
}

// otherReleases returns the servers that ORACLE_SERVERS names and that are new enough for decisions, or those
// that are not.
func otherReleases(t *testing.T, newEnough bool) []string {
	t.Helper()
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	programs, err := oracle.Others()
	if err != nil {
		t.Skip(err)
	}
	return slices.DeleteFunc(programs, func(program string) bool {
		return oracle.Release(program) >= oldest != newEnough
	})
}
