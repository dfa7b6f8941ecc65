package doors_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

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
