package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// startNowMs is the first instant of a test's clock.
const startNowMs = 1_700_000_000_000

// hands move a test's clock.
type hands struct{ us int64 }

func (h *hands) pass(ms int64) { h.us += ms * 1000 }

// newEngine returns an engine whose clock stands still until the test moves it.
func newEngine(t testing.TB, directives ...string) (*engine.Engine, *hands) {
	t.Helper()
	return newYieldingEngine(t, nil, directives...)
}

// newYieldingEngine is newEngine with a function that is called when a walk yields.
func newYieldingEngine(t testing.TB, pause func(), directives ...string) (*engine.Engine, *hands) {
	t.Helper()
	cfg := config.New()
	if err := cfg.ParseArgs(directives, nil); err != nil {
		t.Fatal(err)
	}
	h := &hands{}
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { return h.us },
		Wall:      func() int64 { return startNowMs*1000 + h.us },
	})
	return engine.New(engine.Options{Config: cfg, Clock: c, Pause: pause}), h
}

// newSession opens a session that ends with the test.
func newSession(t testing.TB, e *engine.Engine) *engine.Session {
	t.Helper()
	s := e.NewSession(engine.Peer{Addr: "127.0.0.1:1", LocalAddr: "127.0.0.1:6379", Local: true})
	t.Cleanup(s.Close)
	return s
}

// args splits a command line at spaces.
func args(line string) [][]byte {
	var out [][]byte
	for _, word := range strings.Fields(line) {
		out = append(out, []byte(word))
	}
	return out
}

// do runs a command line and shows the reply as redis-cli would, in one line.
func do(s *engine.Session, line string) string { return show(s.Do(args(line))) }

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
