package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
	upstream "github.com/zlimit/zlimit/upstream/call"
)

// A farUpstream answers each call after 20 milliseconds.
type farUpstream struct{ hands *hands }

func (u *farUpstream) Run(calls []*upstream.Call) {
	u.hands.pass(20)
	for _, c := range calls {
		c.Reply = []byte("+OK\r\n")
	}
}

func (*farUpstream) Await(_ *upstream.Call, over <-chan struct{}) { <-over }
func (*farUpstream) Subscribe(upstream.Kind, string, bool)        {}
func (*farUpstream) Status() []upstream.Fact                      { return nil }

// TestForwardedCallEndsTheOneBefore: the time of a call upstream is not that of the call before it.
func TestForwardedCallEndsTheOneBefore(t *testing.T) {
	for _, forwards := range []bool{false, true} {
		far := &farUpstream{hands: &hands{}}
		e := newEngineBy(t, far.hands, engine.Options{Upstream: far}, "--slowlog-log-slower-than", "5000")
		s := e.NewSession(engine.Peer{Addr: "127.0.0.1:7", KeepsArgs: true, Forwards: forwards})
		t.Cleanup(s.Close)
		for _, line := range []string{"get k", "dbsize", "watch k"} {
			for range 50 { // one call in sixteen has ended before
				do(s, "client id")
				do(s, line)
				s.ForwardBatch()
				s.Publish(engine.Buffers{})
			}
			require.NotContains(t, slowlog(s), "client", line)
			do(s, "unwatch")
		}
		require.Contains(t, slowlog(s), "get:20000", "the call itself took that long")

		do(s, "slowlog reset")
		for range 50 {
			do(s, "client id")
			do(s, "blpop k 0")
			far.hands.pass(20)
			s.Publish(engine.Buffers{})
			s.Blocked().TimeOut()
			s.Resume()
		}
		require.NotContains(t, slowlog(s), "client", "blpop")
	}
}

// TestPanicLeavesNothing: what held for a script that has panicked, and what it has found, does not hold for
// the next command that runs with the same Work.
func TestPanicLeavesNothing(t *testing.T) {
	e, _, s := newServer(t)
	rowOf := func(name string) *commands.Command { return e.Table().Own([]byte(name)) }
	rowOf("eval").Handler = func(c *commands.Ctx) resp.Value {
		require.True(t, c.Mode.Is(commands.MayRetry))
		require.NotNil(t, c.Remembered())
		c.Retry, c.Cut = true, commands.CutHalf
		panic("planted")
	}
	require.PanicsWithValue(t, "planted", func() { do(s, "eval x 1 k") })

	ran := false
	rowOf("set").Handler = func(c *commands.Ctx) resp.Value {
		ran = true
		require.Zero(t, c.Mode)
		require.Zero(t, c.Outcome)
		require.Nil(t, c.Remembered())
		return resp.OK
	}
	require.Equal(t, "OK", do(s, "set k v"))
	require.True(t, ran)
}
