package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// sharing returns an engine's Work, and n sessions that use it in turns.
func sharing(t *testing.T, n int) (w *Work, take func(i int, args ...string) string, all []*Session) {
	e := newLogged(t, func(string) {})
	w = e.NewWork()
	for range n {
		s := e.NewSession(Peer{Shares: true, Kill: func() {}})
		t.Cleanup(s.Close)
		all = append(all, s)
	}
	return w, func(i int, args ...string) string {
		s := all[i]
		w.Serve(s)
		reply := send(s, args...)
		text := string(resp.Append(nil, &reply, resp.RESP2))
		s.Publish(Buffers{})
		s.Release()
		return text
	}, all
}

// TestWorkKeepsSessionsApart: what is a session's own does not reach the next one with the same Work.
func TestWorkKeepsSessionsApart(t *testing.T) {
	w, take, all := sharing(t, 3)
	take(0, "SELECT", "3")
	take(0, "SET", "k", "three")
	take(0, "CLIENT", "REPLY", "SKIP")
	require.Equal(t, "$-1\r\n", take(1, "GET", "k"), "the database")
	take(0, "PING") // skipped
	take(1, "ACL", "SETUSER", "reader", "on", "nopass", "+@all", "-set", "~k*")
	take(2, "AUTH", "reader", "any")
	set := []string{"EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", "k"}
	require.Contains(t, take(2, set...), "-ERR The user executing the script", "its guard")
	require.Equal(t, "+OK\r\n", take(1, set...))
	require.Contains(t, take(2, set...), "-ERR The user executing the script")
	require.Equal(t, "$5\r\nthree\r\n", take(0, "GET", "k"))
	take(1, "HELLO", "3")
	take(1, "CLIENT", "TRACKING", "ON")
	take(1, "GET", "k")
	take(0, "GET", "k")
	take(0, "SELECT", "0")
	take(0, "GET", "other")
	take(2, "GET", "kother")
	require.Equal(t, int64(1), all[0].engine.recording.tracking.Keys(), "of the session that tracks only")
	require.Equal(t, "get", all[2].shown.view().lastCommand.FullName())
	take(1, "CLIENT", "TRACKING", "OFF")
	take(0, "PING")
	require.True(t, w.Serve(all[1]))
	all[1].Publish(Buffers{}) // messages were delivered, say
	all[1].Release()
	require.Equal(t, "client|tracking", all[1].shown.view().lastCommand.FullName())
	before := all[0].engine.stats.Commands()
	take(0, "PING")
	require.Equal(t, before, all[0].engine.stats.Commands(), "what is shared is counted by who shares it")
	w.Count()
	require.Less(t, before, all[0].engine.stats.Commands())
}

// TestNobodyWatchesTheNext: whoever saw the commands of a session does not see those of the next, even before
// its own begin.
func TestNobodyWatchesTheNext(t *testing.T) {
	w, take, all := sharing(t, 2)
	monitor := open(t, all[0].engine)
	send(monitor, "MONITOR")
	take(0, "PING")
	require.True(t, w.ctx.Env.Shown())
	send(monitor, "RESET")
	all[0].engine.locks.torn.add(store.AllShards)
	require.Empty(t, take(1, "GET", "k"))
	require.False(t, w.ctx.Env.Shown())
}

// TestBlockedKeepsItsWork: who serves a blocked session uses its Work, so nobody else has it until then.
func TestBlockedKeepsItsWork(t *testing.T) {
	w, take, all := sharing(t, 2)
	s := all[0]
	require.True(t, w.Serve(s))
	send(s, "BLPOP", "list", "0")
	s.Publish(Buffers{})
	require.Nil(t, s.Release())
	require.False(t, s.engine.NewWork().Serve(s), "it has one")
	other := s.engine.NewWork()
	other.Serve(all[1])
	send(all[1], "RPUSH", "list", "x")
	all[1].Publish(Buffers{})
	require.Same(t, other, all[1].Release())
	require.True(t, s.Ready())
	got := s.Resume()
	require.Len(t, got.Elems(), 2)
	require.Equal(t, "x", got.Elems()[1].Str())
	s.Publish(Buffers{})
	require.Same(t, w, s.Release())
	require.Equal(t, "$-1\r\n", take(0, "GET", "none"))
}

// TestLogOfACallWithoutWork: what a call has started may end after its session.
func TestLogOfACallWithoutWork(t *testing.T) {
	w, _, all := sharing(t, 1)
	s := all[0]
	s.engine.slow.logUs.Store(0)
	w.Serve(s)
	save := s.engine.table.Lookup([]byte("save"))
	b := &Blocked{session: s, cmd: save, call: &blockedCall{args: []string{"save"}}}
	s.Publish(Buffers{})
	require.Same(t, w, s.Release())
	b.log(1)
}
