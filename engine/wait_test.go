package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaitEnds checks that a WAIT for replicas ends by its timeout, CLIENT UNBLOCK or the
// end of the client; the replies are those of redis-server without replicas.
func TestWaitEnds(t *testing.T) {
	for _, c := range []struct{ name, end, want string }{
		{"timeout", "", "0"},
		{"unblocked", "CLIENT UNBLOCK %", "0"},
		{"unblocked as by a timeout", "CLIENT UNBLOCK % TIMEOUT", "0"},
		{
			"unblocked with an error", "CLIENT UNBLOCK % ERROR",
			"UNBLOCKED client unblocked via CLIENT UNBLOCK",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, _ := newEngine(t)
			s, other := newSession(t, e), newSession(t, e)
			id := do(s, "CLIENT ID")
			do(s, "SET k v")
			require.Equal(t, "(nothing)", do(s, "WAIT 1 100"))
			b := s.Blocked()
			require.NotNil(t, b)
			require.EqualValues(t, 100, b.TimeoutMs())
			require.Contains(t, do(other, "INFO clients"), "blocked_clients:1\r\n")
			require.Contains(t, do(other, "CLIENT LIST ID "+id), " flags=b ")
			require.Equal(t, "v", do(other, "GET k"), "nothing is locked")
			if c.end == "" {
				b.TimeOut()
			} else {
				require.Equal(t, "1", do(other, strings.Replace(c.end, "%", id, 1)))
			}
			require.True(t, s.Ready())
			require.Equal(t, c.want, show(s.Resume()))
			require.Contains(t, do(other, "INFO clients"), "blocked_clients:0\r\n")
			require.Equal(t, "v", do(s, "GET k"))
		})
	}
}

func TestWaitForEver(t *testing.T) {
	e, _ := newEngine(t)
	s, other := newWaiting(e), newSession(t, e)
	do(s.Session, "WAIT 9223372036854775807 0")
	require.Zero(t, s.Blocked().TimeoutMs())
	s.Close()
	require.Contains(t, do(other, "INFO clients"), "blocked_clients:0\r\n")
}

// TestWaitIsAnsweredAtOnce checks that WAIT for no replica does not block, nor any WAIT
// in a transaction.
func TestWaitIsAnsweredAtOnce(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	require.Equal(t, "0", do(s, "WAIT 0 0"))
	require.Equal(t, "0", do(s, "WAIT -5 100"))
	do(s, "MULTI")
	do(s, "WAIT 1 0")
	require.Equal(t, "[0]", do(s, "EXEC"))
	require.Nil(t, s.Blocked())
	do(s, "CLIENT REPLY OFF")
	do(s, "WAIT 1 50")
	s.Blocked().TimeOut()
	require.Equal(t, "(nothing)", show(s.Resume()))
	require.Equal(t, "OK", do(s, "CLIENT REPLY ON"))
}
