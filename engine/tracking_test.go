package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/effects"
)

// The transcripts have the messages that clients are sent; these tests check what
// transcripts cannot show.

func TestTrackingIsListed(t *testing.T) {
	e, _ := newEngine(t)
	a, b := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3)
	listed := func(c *cacher) string {
		line := c.ask("CLIENT INFO").(string)
		_, flags, _ := strings.Cut(line, " flags=")
		flags, _, _ = strings.Cut(flags, " ")
		_, redirect, _ := strings.Cut(line, " redir=")
		redirect, _, _ = strings.Cut(redirect, " ")
		return flags + " " + redirect
	}
	require.Equal(t, "N -1", listed(a))
	a.ask("CLIENT TRACKING ON")
	require.Equal(t, "t 0", listed(a))
	a.ask("CLIENT TRACKING ON REDIRECT " + b.id)
	require.Equal(t, "t "+b.id, listed(a))
	a.ask("GET k")
	b.Close()
	require.Equal(t, "t "+b.id, listed(a), "nothing was to be told yet")
	a.ask("SET k v")
	require.Equal(t, []string{"tracking-redir-broken " + b.id}, a.takeHeard())
	require.Equal(t, "tR "+b.id, listed(a))
	a.ask("CLIENT TRACKING ON")
	require.Equal(t, "t 0", listed(a))
	a.ask("CLIENT TRACKING OFF")
	a.ask("CLIENT TRACKING ON BCAST PREFIX x PREFIX y")
	a.ask("MULTI")
	require.Equal(t, "QUEUED", a.ask("CLIENT INFO"))
	a.ask("DISCARD")
	require.Equal(t, "tB 0", listed(a))
	a.ask("RESET")
	require.Equal(t, "N -1", listed(a))
}

func TestTrackingIsCounted(t *testing.T) {
	e, _ := newEngine(t)
	watcher := newSession(t, e)
	require.Equal(t, []string{"0", "0", "0"}, trackingFigures(t, watcher))
	a, b, c := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP2)
	a.ask("CLIENT TRACKING ON")
	a.ask("CLIENT TRACKING ON NOLOOP")
	b.ask("CLIENT TRACKING ON")
	a.ask("MGET x y z x")
	b.ask("MGET x w")
	require.Equal(t, []string{"2", "4", "5"}, trackingFigures(t, watcher))
	c.ask("CLIENT TRACKING ON BCAST PREFIX a PREFIX b")
	b.ask("CLIENT TRACKING OFF")
	b.ask("CLIENT TRACKING ON BCAST PREFIX b PREFIX c")
	require.Contains(t, do(watcher, "INFO stats"), "\r\ntracking_total_prefixes:3\r\n")
	require.Equal(t, []string{"3", "4", "5"}, trackingFigures(t, watcher))
	watcher.Do(args("SET x 1"))
	require.Equal(t, []string{"3", "3", "3"}, trackingFigures(t, watcher))
	c.Close()
	b.ask("CLIENT TRACKING OFF")
	require.Contains(t, do(watcher, "INFO stats"), "\r\ntracking_total_prefixes:0\r\n")
	watcher.Do(args("FLUSHDB"))
	require.Equal(t, []string{"1", "0", "0"}, trackingFigures(t, watcher))
}

// TestTrackingForgetsClosedSessions checks that the keys that closed sessions have read
// are kept only while a session is left that tracks, or has tracked.
func TestTrackingForgetsClosedSessions(t *testing.T) {
	e, _ := newEngine(t)
	watcher := newSession(t, e)
	a, b := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3)
	a.ask("CLIENT TRACKING ON")
	b.ask("CLIENT TRACKING ON")
	for i := range 300 {
		a.ask(fmt.Sprint("GET k", i))
	}
	a.Close()
	e.Tick()
	require.Equal(t, []string{"1", "300", "300"}, trackingFigures(t, watcher))
	b.ask("CLIENT TRACKING OFF")
	e.Tick()
	require.Equal(t, []string{"0", "300", "300"}, trackingFigures(t, watcher),
		"as in Redis, which never forgets them")
	b.Close()
	e.Tick()
	require.Equal(t, []string{"0", "0", "0"}, trackingFigures(t, watcher))
	c := newCacher(t, e, resp.RESP3)
	c.ask("CLIENT TRACKING ON")
	c.ask("GET k1")
	watcher.Do(args("SET k1 v"))
	require.Equal(t, []string{"invalidate [k1]"}, c.takeHeard())
}

func TestTrackingTableIsBounded(t *testing.T) {
	for _, mode := range []string{"", "NOLOOP"} {
		t.Run(mode, func(t *testing.T) {
			e, _ := newEngine(t, "--tracking-table-max-keys", "10")
			watcher := newSession(t, e)
			a := newCacher(t, e, resp.RESP3)
			a.ask("CLIENT TRACKING ON " + mode)
			known := map[string]bool{}
			hear := func() {
				for _, m := range a.takeHeard() {
					key := strings.TrimSuffix(strings.TrimPrefix(m, "invalidate ["), "]")
					require.True(t, known[key], "%s is told of, and was not known", m)
					delete(known, key)
				}
			}
			for i := range 500 {
				key := fmt.Sprint("k", i)
				a.ask("GET " + key)
				known[key] = true
				hear()
				require.LessOrEqual(t, len(known), 10)
			}
			line := "MGET"
			for i := range 250 {
				key := fmt.Sprint("m", i)
				line += " " + key
				known[key] = true
			}
			a.ask(line)
			for range 5 {
				a.ask("DBSIZE") // each evicts some, as in Redis any command does
			}
			hear()
			require.Len(t, known, 10)
			require.Equal(t, []string{"1", "10", "10"}, trackingFigures(t, watcher))

			watcher.Do(args("CONFIG SET tracking-table-max-keys 3"))
			for range 4 {
				e.Tick()
			}
			hear()
			require.Len(t, known, 3)
			watcher.Do(args("CONFIG SET tracking-table-max-keys 0"))
			a.ask(line)
			for _, key := range strings.Fields(line)[1:] {
				known[key] = true
			}
			hear()
			require.GreaterOrEqual(t, len(known), 250)
			for key := range known {
				watcher.Do(args("SET " + key + " v"))
			}
			hear()
			require.Empty(t, known)
		})
	}
}

// TestReclaimInvalidates checks that a key that no command reads is invalidated when it
// expires.
func TestReclaimInvalidates(t *testing.T) {
	e, hands := newEngine(t)
	s := newSession(t, e)
	a, b := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3)
	a.ask("CLIENT TRACKING ON NOLOOP")
	b.ask("CLIENT TRACKING ON BCAST NOLOOP PREFIX l")
	for _, key := range []string{"k", "l1", "l2"} {
		s.Do(args("SET " + key + " v PX 10"))
		a.ask("GET " + key)
	}
	b.takeHeard()
	hands.pass(11)
	e.Reclaim()
	require.ElementsMatch(t, []string{"invalidate [k]", "invalidate [l1]", "invalidate [l2]"}, a.takeHeard())
	told := strings.Join(b.takeHeard(), " ")
	require.Contains(t, told, "l1")
	require.Contains(t, told, "l2")
	require.NotContains(t, told, "k")
}

// TestScanInvalidates checks that SCAN invalidates the expired keys that it removes.
// Redis does not send these to a client with NOLOOP, whose cache then keeps the key
// forever.
func TestScanInvalidates(t *testing.T) {
	e, hands := newEngine(t)
	a := newCacher(t, e, resp.RESP3)
	a.ask("CLIENT TRACKING ON NOLOOP")
	a.ask("SET k v PX 10")
	a.ask("GET k")
	hands.pass(11)
	require.Equal(t, []any{"0", []any{}}, a.ask("SCAN 0 COUNT 1000"))
	require.Equal(t, []string{"invalidate [k]"}, a.takeHeard())

	a.ask("SET k v PX 10")
	a.ask("GET k")
	hands.pass(11)
	a.ask("EXISTS k")
	require.Empty(t, a.takeHeard(), "it has asked for this one")
}

// heardEarly is a journal that checks whether an invalidation was sent before its effects
// were appended.
type heardEarly struct {
	listeners []*cacher
	groups    int
	early     bool
}

func (j *heardEarly) Append(*effects.Group, int64) int64 {
	j.groups++
	for _, l := range j.listeners {
		j.early = j.early || l.Ready()
	}
	return 0
}

// TestInvalidationsFollowTheLog checks that a change is in the log before its
// invalidation is sent.
func TestInvalidationsFollowTheLog(t *testing.T) {
	e, hands := newEngine(t)
	a, b := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3)
	s := newSession(t, e)
	j := &heardEarly{listeners: []*cacher{a, b}}
	e.Record(j)
	a.ask("CLIENT TRACKING ON")
	b.ask("CLIENT TRACKING ON BCAST")
	for i, line := range []string{
		"SET k v", "DEL k", "RENAME l k", "EVAL_", "MULTI SET k v|PUBLISH c m|GET k|SET k w|EXEC", "FLUSHALL",
		"SET k v PX 10",
	} {
		s.Do(args("SET l v"))
		a.ask("GET k")
		b.takeHeard()
		before := j.groups
		if line == "EVAL_" {
			s.Do([][]byte{
				[]byte("EVAL"), []byte("redis.call('set', 'k', '1') return redis.call('get', 'k')"),
				[]byte("0"),
			})
		} else {
			for _, one := range strings.Split(strings.Replace(line, "MULTI ", "MULTI|", 1), "|") {
				s.Do(args(one))
			}
		}
		require.Greater(t, j.groups, before, line)
		require.NotEmpty(t, b.takeHeard(), line)
		require.NotEmpty(t, a.takeHeard(), "%d: %s", i, line)
	}
	a.ask("GET k")
	hands.pass(11)
	e.Reclaim()
	require.Equal(t, []string{"invalidate [k]"}, a.takeHeard())
	require.False(t, j.early)
}

// TestTrackingWaitsForNoPublisher checks that a script that has published delays other
// publishers, but neither changes of keys nor reclaiming.
func TestTrackingWaitsForNoPublisher(t *testing.T) {
	e, hands := newEngine(t)
	listener, publisher, s := newCacher(t, e, resp.RESP3), newSession(t, e), newSession(t, e)
	listener.Do(args("SUBSCRIBE c"))
	listener.Deliver(nil)
	listener.ask("CLIENT TRACKING ON")
	listener.ask("MGET a b")
	s.Do(args("SET a v PX 10"))
	require.Equal(t, []string{"invalidate [a]"}, listener.takeHeard())
	listener.ask("GET a")
	hands.pass(11)
	publisher.Hold()
	s.Do(args("SET b v"))
	e.Reclaim()
	require.Equal(t, []string{"invalidate [b]", "invalidate [a]"}, listener.takeHeard())
	publisher.Release()
}

// TestTrackingObeysTheOutputLimit checks that a client that does not read its
// invalidations is closed by the limit of its class.
func TestTrackingObeysTheOutputLimit(t *testing.T) {
	e, _ := newEngine(t, "--client-output-buffer-limit", "normal 100 0 0 pubsub 300 0 0")
	s := newSession(t, e)
	for _, c := range []struct {
		subscribe bool
		limit     int
	}{{false, 100}, {true, 300}} {
		a := newCacher(t, e, resp.RESP3)
		a.ask("CLIENT TRACKING ON BCAST")
		if c.subscribe {
			a.Do(args("SUBSCRIBE c"))
			a.Deliver(nil)
		}
		const each = len(">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n")
		for range c.limit/each - 1 {
			s.Do(args("SET k v"))
		}
		b, lost := a.Deliver(nil)
		require.Zero(t, lost)
		require.Len(t, b, each*(c.limit/each-1))
		for range c.limit/each + 1 {
			s.Do(args("SET k v"))
		}
		_, lost = a.Deliver(nil)
		require.GreaterOrEqual(t, lost, c.limit)
	}
}

// TestTrackingOffCostsNothing checks that a client that does not track allocates nothing,
// whether or not others track other keys.
func TestTrackingOffCostsNothing(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	words, read := args("SET k v"), args("GET k")
	run := func() { s.Do(words); s.Do(read) }
	run()
	before := testing.AllocsPerRun(200, run)
	a, b := newCacher(t, e, resp.RESP3), newCacher(t, e, resp.RESP3)
	a.ask("CLIENT TRACKING ON")
	a.ask("GET other")
	b.ask("CLIENT TRACKING ON BCAST PREFIX x")
	run()
	require.Equal(t, before, testing.AllocsPerRun(200, run))
}
