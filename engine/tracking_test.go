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

func TestTrackingTableIsBounded(t *testing.T) {
	for _, mode := range []string{"", "NOLOOP"} {
		t.Run(mode, func(t *testing.T) {
			e, _, watcher := newServer(t, "--tracking-table-max-keys", "10")
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
			require.Equal(t, []string{"1", "10", "10"}, trackingFigures(watcher))

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
			doWords(s, "EVAL", "redis.call('set', 'k', '1') return redis.call('get', 'k')", "0")
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

// TestTrackingOffCostsNothing checks that a client that does not track allocates nothing,
// whether or not others track other keys.
func TestTrackingOffCostsNothing(t *testing.T) {
	e, _, s := newServer(t)
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
