package doors_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

const files = `
domain: each
descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 3, name: per-ip}
  - key: two
    limits: [{limit: 2, window: 10s}, {limit: 3, window: 1h}]
  - key: shadow
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: quota
    quota_mode: true
    rate_limit: {unit: second, requests_per_unit: 0}
  - key: free
    rate_limit: {unlimited: true}
  - key: open
    on_failure: allow
    rate_limit: {unit: second, requests_per_unit: 7}
  - key: shut
    on_failure: deny
    rate_limit: {unit: second, requests_per_unit: 7}
  - key: job
    limits: [{limit: 9, window: 1s}]
    concurrency: {max: 1, lease: 1m}
---
domain: all
count: all
descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 2}
  - key: shadow
    shadow_mode: true
    rate_limit: {unit: second, requests_per_unit: 0}
`

// A world is an engine with policies. That of newWorld has a clock that stands at 12:00:01.
type world struct {
	t      *testing.T
	engine *engine.Engine
	admin  *engine.Session
	access doors.Access
}

func newWorld(t *testing.T, directives ...string) *world {
	t.Helper()
	now := func() int64 { return 1_700_049_601_000_000 }
	return worldOf(t, files, clock.Sources{Monotonic: now, Wall: now}, directives...)
}

// worldOf returns an engine with policies and a clock.
func worldOf(t *testing.T, policies string, sources clock.Sources, directives ...string) *world {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(path, []byte(policies), 0o600))
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(append([]string{"--rl-policies", path}, directives...), nil))
	e := engine.New(engine.Options{Config: cfg, Clock: clock.New(sources)})
	require.NoError(t, e.LoadFiles())
	w := &world{t: t, engine: e, admin: e.NewSession(engine.Peer{Owner: true, Local: true})}
	w.access = doors.Access{
		Engine: e, Ending: make(chan struct{}),
		Peer: func(addr string) engine.Peer { return engine.Peer{Addr: addr, Network: addr, FD: -1} },
	}
	t.Cleanup(w.admin.Close)
	return w
}

// do runs a command as the program that runs the engine.
func (w *world) do(line string) string {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		args = append(args, []byte(word))
	}
	reply := w.admin.Do(args)
	return string(resp.Append(nil, &reply, resp.RESP2))
}

func (w *world) login(cr doors.Credentials) doors.Client {
	w.t.Helper()
	c, err := w.access.Login(cr)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// request parses domain key=value,key=value+hits ... with the hits of the request behind '#'.
func request(text string) *doors.Request {
	text, hits, _ := strings.Cut(text, "#")
	words := strings.Fields(text)
	r := &doors.Request{Domain: []byte(words[0])}
	_, _ = fmt.Sscan(hits, &r.Hits)
	for _, word := range words[1:] {
		var d doors.Descriptor
		word, own, ok := strings.Cut(word, "+")
		if ok {
			d.Hits = new(uint64)
			_, _ = fmt.Sscan(own, d.Hits)
		}
		for pair := range strings.SplitSeq(word, ",") {
			key, value, _ := strings.Cut(pair, "=")
			d.Entries = append(d.Entries, doors.Entry{Key: []byte(key), Value: []byte(value)})
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	return r
}

var codes = [...]string{"?", "ok", "OVER"}

func show(out *doors.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", codes[out.Code], out.Binding)
	for _, s := range out.Statuses {
		fmt.Fprintf(&b, " [%s", codes[s.Code])
		if s.HasLimit {
			fmt.Fprintf(&b, " %d/%s%s", s.Limit.Requests, s.Limit.Unit, s.Limit.Name)
		}
		fmt.Fprintf(&b, " %d", s.Remaining)
		if s.HasReset {
			fmt.Fprintf(&b, " in %d", s.ResetSeconds)
		}
		if s.RetryMs != 0 {
			fmt.Fprintf(&b, " retry %d", s.RetryMs)
		}
		if s.QuotaOver {
			b.WriteString(" quota")
		}
		b.WriteString("]")
	}
	return b.String()
}

func decide(c doors.Client, text string) string {
	var out doors.Response
	if err := c.Decide(request(text), &out); err != nil {
		return refused(err)
	}
	return show(&out)
}

func refused(err error) string {
	var refusal *doors.Refusal
	errors.As(err, &refusal)
	return fmt.Sprintf("! %d %s", refusal.Reason, err)
}

// TestNoDomain has a request that no text of a case can be.
func TestNoDomain(t *testing.T) {
	var out doors.Response
	err := newWorld(t).login(doors.Credentials{}).Decide(&doors.Request{}, &out)
	require.EqualError(t, err, "rate limit domain must not be empty")
}

// TestKilledWhilePaused: a session may end while CLIENT PAUSE postpones its call, which another one then
// makes.
func TestKilledWhilePaused(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{Addr: "1"})
	require.Equal(t, "+OK\r\n", w.do("CLIENT PAUSE 1000000 WRITE"))
	answer := make(chan string)
	go func() { answer <- decide(c, "each ip=a") }()
	for !strings.Contains(w.do("INFO clients"), "blocked_clients:1\r\n") {
		runtime.Gosched()
	}
	w.do("CLIENT KILL TYPE normal SKIPME yes")
	require.Equal(t, "+OK\r\n", w.do("CLIENT UNPAUSE"))
	require.Contains(t, <-answer, "ok 0 [ok 3/minuteper-ip 2 ")
}

// TestGoneWhilePaused: a call that CLIENT PAUSE postpones ends without a decision when nobody waits for it,
// and its client can go on.
func TestGoneWhilePaused(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{Addr: "1"})
	require.False(t, w.engine.ChecksWait())
	require.Equal(t, "+OK\r\n", w.do("CLIENT PAUSE 1000000 WRITE"))
	require.True(t, w.engine.ChecksWait())
	gone, answer := make(chan struct{}), make(chan error)
	r := request("each ip=a")
	r.Gone = gone
	go func() { answer <- c.Decide(r, new(doors.Response)) }()
	for !strings.Contains(w.do("INFO clients"), "blocked_clients:1\r\n") {
		runtime.Gosched()
	}
	close(gone)
	require.Error(t, <-answer)
	require.Contains(t, w.do("INFO clients"), "blocked_clients:0\r\n")
	require.Equal(t, "+OK\r\n", w.do("CLIENT UNPAUSE"))
	require.Contains(t, decide(c, "each ip=a"), "ok 0 [ok 3/minuteper-ip 2 ")
}

// TestAllocations of a decision about two descriptors.
func TestAllocations(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	r, out := request("each ip=a two=b"), new(doors.Response)
	require.NoError(t, c.Decide(r, out))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = c.Decide(r, out) }))
}
