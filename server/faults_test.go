package server_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// A faultClient returns replies in one line.
type faultClient struct {
	*wire
	t *testing.T
}

func (c *faultClient) ask(line string) string {
	require.NoError(c.t, c.send(wordsOf(c.t, line)))
	reply, err := c.readReply()
	require.NoError(c.t, err)
	return showReply(c.t, reply)
}

// startFaults runs a server in memory whose clients may use DEBUG.
func startFaults(t *testing.T, directives ...string) (dial func() *faultClient) {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(append([]string{"--enable-debug-command", "yes"}, directives...), nil))
	_, l := servePipe(t, server.Options{Config: cfg, NoCron: true})
	return func() *faultClient {
		conn, err := l.Dial(context.Background())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		return &faultClient{newWire(conn), t}
	}
}

// TestDebugFaultDelay delays by the bubble's clock. Others go on meanwhile, and a server that
// ends does not wait.
func TestDebugFaultDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := startFaults(t)
		control, client := dial(), dial()
		control.ask("DEBUG FAULT INJECT DELAY AFTER 60000 ON GET TIMES 2")
		began := time.Now()
		answered := make(chan string)
		go func() { answered <- client.ask("GET k") }()
		synctest.Wait()
		require.Equal(t, "PONG", control.ask("PING"))
		require.Zero(t, time.Since(began))
		require.Equal(t, "(nil)", <-answered)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// TestDebugReset checks that nothing of a test is left for the next one.
func TestDebugReset(t *testing.T) {
	t.Parallel()
	dial := startFaults(t)
	c := dial()
	for _, command := range []string{
		"DEBUG CLOCK FREEZE", "DEBUG CLOCK ADVANCE 3600000", "SET k v", "SELECT 3", "SET other v",
		"SCRIPT LOAD return(1)", "DEBUG FAULT INJECT LOADING ON PING",
		`FUNCTION LOAD "#!lua name=f\nredis.register_function('f', function() return 1 end)"`,
	} {
		require.NotRegexp(t, "^ERR", c.ask(command), command)
	}
	before := time.Now().UnixMilli()
	require.Equal(t, "OK", c.ask("DEBUG RESET"))
	var seconds, us int64
	_, err := fmt.Sscanf(c.ask("TIME"), "[%d %d]", &seconds, &us)
	require.NoError(t, err)
	require.InDelta(t, before, seconds*1000+us/1000, float64(time.Now().UnixMilli()-before+1))
	require.Equal(t, "PONG", c.ask("PING"))
	require.Equal(t, "0", c.ask("DBSIZE"))
	require.Equal(t, "0", dial().ask("DBSIZE"))
	require.Equal(t, "[0]", c.ask("SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db"))
	require.Equal(t, "[]", c.ask("FUNCTION LIST"))
	require.Equal(t, "[]", c.ask("DEBUG FAULT LIST"))
}
