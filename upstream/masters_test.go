package upstream

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/upstream/call"
)

// all runs a line on all masters.
func (u *Upstream) all(line string) string { return u.do(line)[0] }

// A master that cannot be reached has no other in its place: what all are asked for is an error.
func TestAllMastersOrNone(t *testing.T) {
	a, b := pair(t, func(_ int, args []string) string {
		return map[string]string{
			"dbsize": ":3\r\n", "keys": "*1\r\n$1\r\nk\r\n", "scan": "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n",
			"flushall": "+OK\r\n", "randomkey": "$1\r\nk\r\n",
		}[strings.ToLower(args[0])]
	})
	dead, other := a, b
	if a.addr < b.addr { // the other is the first, which answers what is of no key
		dead, other = b, a
	}
	for _, line := range []string{"DBSIZE", "KEYS *", "RANDOMKEY", "FLUSHALL"} {
		require.False(t, strings.HasPrefix(open(t, "redis://"+other.addr, nil).all(line), "-"), line)
	}
	dead.close()
	for _, line := range []string{"DBSIZE", "KEYS *", "RANDOMKEY", "FLUSHALL", "SCAN 1"} {
		reply := open(t, "redis://"+other.addr, nil).all(line)
		require.True(t, strings.HasPrefix(reply, "-UPSTREAM "+dead.addr+": "), "%s: %s", line, reply)
	}
}

// A master that has become a replica has a successor, which is asked instead; the others are not asked
// again.
func TestAllMastersAfterAFailover(t *testing.T) {
	var failed atomic.Bool
	var former, other, successor *fake
	answer := func(flush string) func(args []string) string {
		return func(args []string) string {
			switch strings.ToLower(args[0]) {
			case "cluster":
				if failed.Load() {
					return slotsOf(successor, other)
				}
				return slotsOf(former, other)
			case "flushall":
				failed.Store(failed.Load() || flush != "+OK\r\n")
				return flush
			}
			return "+OK\r\n"
		}
	}
	other, successor = newFake(t, answer("+OK\r\n")), newFake(t, answer("+OK\r\n"))
	former = newFake(t, answer("-READONLY You can't write against a read only replica.\r\n"))
	u := open(t, "redis://"+former.addr, nil)
	require.Equal(t, "+OK\r\n", u.all("FLUSHALL"))
	count := func(f *fake) int { return strings.Count(strings.Join(f.asked(), "\n"), "FLUSHALL") }
	require.Equal(t, []int{1, 1, 1}, []int{count(former), count(other), count(successor)})
}

// While a cluster is down calls wait for it, but no longer than it takes to know that it lasts.
func TestClusterDown(t *testing.T) { synctest.Test(t, testClusterDown) }

func testClusterDown(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	a, _ := pair(t, func(_ int, args []string) string {
		if down.Load() && !strings.EqualFold(args[0], "cluster") && !strings.EqualFold(args[0], "publish") {
			return "-CLUSTERDOWN The cluster is down\r\n"
		}
		return ""
	})
	u := open(t, "redis://"+a.addr, func(o *Options) { o.Timeout = 200 * time.Millisecond })
	asks := func() int {
		a.asked()
		u.do("GET b")
		return strings.Count(strings.Join(a.asked(), "\n"), "GET b")
	}
	require.Greater(t, asks(), 1)
	eventually(t, func() bool { return asks() == 1 })
	down.Store(false)
	require.Equal(t, []string{"+a b\r\n"}, u.do("GET b"))
	down.Store(true)
	require.Greater(t, asks(), 1, "the next one is waited for again")

	c := newCall("GET b") // the table has no WATCH
	before := u.node(a.addr).trips.Load()
	u.node(a.addr).down.since.Store(0)
	var w call.Watch
	u.runOn(&w, c)
	w.Close()
	require.Equal(t, "-CLUSTERDOWN The cluster is down\r\n", string(c.Reply))
	require.Less(t, u.node(a.addr).trips.Load()-before, int64(20), "it pauses between two connections")
}

// What is of no key is asked of a master that answers.
func TestAnyMaster(t *testing.T) {
	a, b := pair(t, nil)
	dead, other := a, b
	if b.addr < a.addr {
		dead, other = b, a
	}
	u := open(t, "redis://"+other.addr, nil)
	u.do("GET a", "GET b")
	dead.close()
	require.Contains(t, []string{"+a 0 1\r\n", "+b 0 1\r\n"}, u.all("SWAPDB 0 1"))
}
