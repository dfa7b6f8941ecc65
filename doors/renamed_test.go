package doors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// TestRenamed: a door decides by RL.CHECK under any name that rename-command gives it.
func TestRenamed(t *testing.T) {
	w := newWorld(t, "--rename-command", "rl.check", "hidden")
	c := w.login(doors.Credentials{})
	require.Equal(t, "ok 0 [ok 3/minuteper-ip 2 in 59]", decide(c, "each ip=a"))
	w.do("CLIENT KILL TYPE normal SKIPME yes")
	require.Equal(t, "ok 0 [ok 3/minuteper-ip 1 in 59]", decide(c, "each ip=a"),
		"made again by another session")
	require.Contains(t, w.do("HIDDEN each ip a"), "*5\r\n:1\r\n:3\r\n:0\r\n")
	require.Contains(t, w.do("RL.CHECK each ip a"), "-ERR unknown command 'RL.CHECK'")
}

// TestRenamedAndPaused: a call that CLIENT PAUSE postpones is looked up again when it runs.
func TestRenamedAndPaused(t *testing.T) {
	w := newWorld(t, "--rename-command", "rl.check", "hidden")
	s, err := w.engine.LoginSession(engine.Peer{Local: true, FD: -1, Wake: func() {}}, "", "")
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "+OK\r\n", w.do("CLIENT PAUSE 100000 WRITE"))
	s.Do([][]byte{[]byte("hidden"), []byte("each"), []byte("ip"), []byte("a")})
	require.NotNil(t, s.Blocked())
	require.Equal(t, "+OK\r\n", w.do("CLIENT UNPAUSE"))
	require.True(t, s.Ready())
	require.Equal(t, resp.KindArray, s.Resume().Kind())
}
