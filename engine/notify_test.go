package engine_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/store/effects"
)

// TestEventsNeedListeners checks that events are recorded only if they are configured and
// somebody listens.
func TestEventsNeedListeners(t *testing.T) {
	e, _, s := newServer(t)
	require.Zero(t, e.Wanted(), "by default")
	l := e.NewSession(engine.Peer{})
	do(l, "SUBSCRIBE anything")
	require.Zero(t, e.Wanted(), "a subscriber alone")
	do(s, "CONFIG SET notify-keyspace-events KEA")
	require.NotZero(t, e.Wanted())
	do(l, "UNSUBSCRIBE")
	require.Zero(t, e.Wanted(), "nobody listens")
	do(l, "SSUBSCRIBE shard")
	require.Zero(t, e.Wanted(), "a shard channel is not where events go")
	do(l, "PSUBSCRIBE nothing*")
	require.NotZero(t, e.Wanted())
	for _, off := range []string{"KE", "A", "g$mn", "Ktd", ""} {
		require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "notify-keyspace-events", off))
		require.Zero(t, e.Wanted(), off)
	}
	do(s, "CONFIG SET notify-keyspace-events Kx")
	require.Equal(t, effects.KeyspaceChannels|effects.Expiries, e.Wanted())
	l.Close()
	require.Zero(t, e.Wanted(), "the last one has gone")

	e.Record(&logBuffer{})
	require.Equal(t, effects.Logged, e.Wanted())
	do(s, "PSUBSCRIBE *")
	require.Equal(t, effects.Logged|effects.KeyspaceChannels|effects.Expiries, e.Wanted())
	e.Record(nil)
	require.Equal(t, effects.KeyspaceChannels|effects.Expiries, e.Wanted())
}

// TestEventsKeepOneOrderForAll checks that all listeners get the changes of a key in the
// order in which they were made, and those of a transaction together.
func TestEventsKeepOneOrderForAll(t *testing.T) {
	const writers, each = 4, 200
	e, _ := newEngine(t, "--notify-keyspace-events", "K$l")
	var listeners []*engine.Session
	for _, how := range []string{
		"PSUBSCRIBE __key*",
		"SUBSCRIBE __keyspace@0__:a __keyspace@0__:b __keyspace@0__:end", "PSUBSCRIBE *",
	} {
		l := newSession(t, e)
		do(l, how)
		l.Deliver(nil)
		listeners = append(listeners, l)
	}
	events := []string{"set", "append", "setrange"}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			s := e.NewSession(engine.Peer{})
			defer s.Close()
			lines := []string{"SET % 1", "APPEND % 1", "GETSET % 1", "SETRANGE % 0 1"}
			for i := range each {
				one, other := "ab"[i%2:i%2+1], "ba"[i%2:i%2+1]
				line := lines[w]
				if i%3 == 0 {
					do(s, "MULTI")
					do(s, strings.Replace(line, "%", one, 1))
					do(s, strings.Replace(line, "%", other, 1))
					do(s, "EXEC")
				} else {
					do(s, strings.Replace(line, "%", one, 1))
				}
				// Others come and go, and what is told of changes.
				if i%10 == 0 {
					do(s, "SUBSCRIBE x")
					do(s, "UNSUBSCRIBE x")
				}
				if w == 0 && i%50 == 0 {
					do(s, "CONFIG SET notify-keyspace-events K$l")
				}
			}
		})
	}
	group.Wait()
	var first []string
	for i, l := range listeners {
		sent, lost := l.Deliver(nil)
		require.Zero(t, lost)
		var heard []string
		for _, m := range messagesIn(t, sent) {
			heard = append(heard, strings.Join(m[len(m)-2:], " "))
		}
		if i == 0 {
			first = heard
			require.Len(t, heard, writers*(each+(each+2)/3))
			for _, event := range events {
				require.True(t, slices.ContainsFunc(heard,
					func(h string) bool { return strings.HasSuffix(h, event) }), event)
			}
			continue
		}
		require.Equal(t, first, heard)
	}
}
