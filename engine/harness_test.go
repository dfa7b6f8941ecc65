package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// startNowMs is the first instant of a test's clock.
const startNowMs = 1_700_000_000_000

// hands move a test's clock.
type hands struct {
	us       atomic.Int64
	step     atomic.Int64 // microseconds that each reading takes
	readings atomic.Int64
}

func (h *hands) pass(ms int64) { h.us.Add(ms * 1000) }

func (h *hands) read() int64 {
	h.readings.Add(1)
	return h.us.Add(h.step.Load())
}

// newEngine returns an engine whose clock stands still until the test moves it.
func newEngine(t testing.TB, directives ...string) (*engine.Engine, *hands) {
	t.Helper()
	return newEngineWith(t, engine.Options{}, directives...)
}

// newEngineWith is newEngine with options.
func newEngineWith(t testing.TB, o engine.Options, directives ...string) (*engine.Engine, *hands) {
	t.Helper()
	h := &hands{}
	return newEngineBy(t, h, o, directives...), h
}

// newEngineBy returns an engine whose clock h moves.
func newEngineBy(t testing.TB, h *hands, o engine.Options, directives ...string) *engine.Engine {
	t.Helper()
	o.Config = config.New()
	require.NoError(t, o.Config.ParseArgs(directives, nil))
	o.Clock = clock.New(clock.Sources{
		Monotonic: h.read,
		Wall:      func() int64 { return startNowMs*1000 + h.us.Load() },
	})
	e := engine.New(o)
	require.NoError(t, e.LoadFiles())
	return e
}

// withPolicies are directives with policies, without which RL.CHECK changes nothing.
var withPolicies = []string{"--rl-policies", "testdata/policies.yaml"}

// newSession opens a session that ends with the test.
func newSession(t testing.TB, e *engine.Engine) *engine.Session {
	t.Helper()
	s := e.NewSession(engine.Peer{Addr: "127.0.0.1:1", LocalAddr: "127.0.0.1:6379", Local: true})
	t.Cleanup(s.Close)
	return s
}

// newServer returns an engine as newEngine does, and a session.
func newServer(t testing.TB, directives ...string) (*engine.Engine, *hands, *engine.Session) {
	t.Helper()
	e, h := newEngine(t, directives...)
	return e, h, newSession(t, e)
}

// args splits a command line at spaces. The words are in one buffer, as the server has them.
func args(line string) [][]byte { return bytes.Fields([]byte(line)) }

// do runs a command line and shows the reply as redis-cli would, in one line.
func do(s *engine.Session, line string) string { return show(s.Do(args(line))) }

// A client is a session that can wait, as one of a connection can.
type client struct {
	*engine.Session
	woken chan struct{} // its peer's Wake has been called
}

func newClient(e *engine.Engine, peer engine.Peer) *client {
	c := &client{woken: make(chan struct{}, 1)}
	peer.Wake = func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
	}
	c.Session = e.NewSession(peer)
	return c
}

// do is do for a command that may wait.
func (c *client) do(line string) string {
	reply := c.Do(args(line))
	if c.Blocked() == nil {
		return show(reply)
	}
	for !c.Ready() {
		<-c.woken
	}
	return show(c.Resume())
}

func show(v resp.Value) string {
	switch v.Kind() {
	case resp.KindNone:
		return "(nothing)"
	case resp.KindNull, resp.KindNullArray:
		return "(nil)"
	case resp.KindInteger, resp.KindBulkInt, resp.KindBool:
		return fmt.Sprint(v.Int())
	case resp.KindDouble:
		return string(resp.AppendFloat(nil, v.Float()))
	case resp.KindArray, resp.KindSet, resp.KindMap, resp.KindPush:
		var words []string
		for _, e := range v.Elems() {
			words = append(words, show(e))
		}
		return "[" + strings.Join(words, " ") + "]"
	}
	return v.Str()
}

// infoOf returns a field of INFO, or "" if there is none.
func infoOf(s *engine.Session, field string) string {
	for line := range strings.Lines(do(s, "INFO everything")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			return value
		}
	}
	return ""
}
