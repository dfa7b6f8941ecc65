package doors_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
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
		var refusal *doors.Refusal
		errors.As(err, &refusal)
		return fmt.Sprintf("! %d %s", refusal.Reason, err)
	}
	return show(&out)
}

func TestDecide(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	for _, step := range [][2]string{
		{"each ip=a", "ok 0 [ok 3/minuteper-ip 2 in 59]"},
		{"each ip=a ip=a#2", "OVER 1 [ok 3/minuteper-ip 0 in 59] [OVER 3/minuteper-ip 0 in 59 retry 59000]"},
		{"each ip=a+0", "OVER 0 [OVER 3/minuteper-ip 0 in 59 retry 59000]"},
		{"each ip=b+0 ip=c+18446744073709551615", "OVER 1 [ok 3/minuteper-ip 3 in 59] " +
			"[OVER 3/minuteper-ip 0 in 59 retry -1]"},
		{"each none=a free=a", "ok -1 [ok 0] [ok 4294967295]"},
		{"each shadow=a quota=a", "ok 0 [ok 0/second 0 in 1 retry -1] [ok 0/second 0 retry -1 quota]"},
		{"each two=a", "ok 0 [ok 2/ 1 in 10]"},
		{"each two=a two=a", "OVER 1 [ok 2/ 0 in 10] [OVER 2/ 0 in 10 retry 10000]"},
		{"each job=a", "ok 0 [ok 9/ 8 in 1]"},
		{"each job=a", "ok 0 [ok 9/ 7 in 1]"}, // without an id no slot is taken
		{"other ip=a", "ok -1 [ok 0]"},
		{"all ip=a user=b", "ok 1 [ok 3/minute 2 in 59] [ok 2/hour 1 in 3599]"},
		{"all ip=a user=b", "ok 1 [ok 3/minute 1 in 59] [ok 2/hour 0 in 3599]"},
		// The other descriptor of a denied request counts nothing.
		{"all ip=a user=b", "OVER 1 [ok 3/minute 1 in 59] [OVER 2/hour 0 in 3599 retry 3599000]"},
		{"all ip=a", "ok 0 [ok 3/minute 0 in 59]"},
		{"all shadow=x user=c", "ok 0 [ok 0/second 0 in 1 retry -1] [ok 2/hour 1 in 3599]"},
		{"all user=c+0 ip=d", "ok 0 [ok 2/hour 1 in 3599] [ok 3/minute 2 in 59]"},
		{"all user=c+0", "ok 0 [ok 2/hour 1 in 3599]"},
	} {
		require.Equal(t, step[1], decide(c, step[0]), step[0])
	}
	require.Equal(t, "$1\r\n1\r\n", w.do("GET {all}_user_c_hour"))
	n := w.engine.Policies().Find("each.ip").Counts().Tally()
	require.Equal(t, [4]int64{2, 2, 0, 3}, [4]int64{n.Allowed, n.Denied, n.Shadow, n.Units})
}

// TestUnlimited has what is counted of unlimited limits: by RL.CHECK and by a door the same.
func TestUnlimited(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	tally := func() [2]int64 {
		counts := w.engine.Policies().Find("each.free").Counts().Tally()
		return [2]int64{counts.Allowed, counts.Units}
	}
	w.do("RL.CHECK each free a COST 7")
	require.Equal(t, [2]int64{1, 7}, tally())
	w.do("RL.CHECK each free a COST 7 PEEK")
	w.do("RL.CHECK each free a COST 0")
	decide(c, "each free=a+0")
	require.Equal(t, [2]int64{1, 7}, tally(), "nothing was taken")
	decide(c, "each free=a+3")
	require.Equal(t, [2]int64{2, 10}, tally())
	decide(c, "each free=a+18446744073709551615")
	decide(c, "each free=a+18446744073709551615")
	require.Equal(t, [2]int64{4, math.MaxInt64}, tally())
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, "--rl-policy-unknown-domain", "refuse")
	c := w.login(doors.Credentials{})
	for _, step := range [][2]string{
		{"other ip=a", "! 3 no file of rl-policies has this domain"},
		{"each", "! 0 rate limit descriptor list must not be empty"},
		{"each" + strings.Repeat(" ip=a", 129), "! 0 the descriptors of one request are too many, or empty"},
		{"all" + strings.Repeat(" ip=a", 2), "! 0 two descriptors, counted all or none, have one key"},
	} {
		require.Equal(t, step[1], decide(c, step[0]), step[0])
	}
	var out doors.Response
	require.EqualError(t, c.Decide(&doors.Request{}, &out), "rate limit domain must not be empty")
}

func TestOnFailure(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	require.Equal(t, "+OK\r\n", w.do("CONFIG SET maxmemory 1"))
	require.Equal(t, "ok 0 [ok 7/second 7]", decide(c, "each open=a"))
	require.Equal(t, "OVER 0 [OVER 7/second 0]", decide(c, "each shut=a"))
	require.Contains(t, decide(c, "each ip=a"), "! 4 OOM ")
}

func TestLogin(t *testing.T) {
	w := newWorld(t, "--requirepass", "secret")
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	require.Equal(t, "+OK\r\n", w.do("ACL SETUSER envoy on >pass ~each_* +rl.check"))
	require.Equal(t, "+OK\r\n", w.do("ACL SETUSER off off nopass ~* +@all"))
	const allowed, elsewhere = "ok 0 [ok 3/minuteper-ip", "! 2 NOPERM"
	for _, step := range []struct{ name, user, header, common, ip, all string }{
		{"password", "", basic("default:secret"), "", allowed, "ok"},
		{"password without a name", "", basic(":secret"), "", allowed, "ok"},
		{"user", "", basic("envoy:pass"), "", allowed, elsewhere},
		{"bearer", "", "bearer secret", "", allowed, "ok"},
		{"bearer of a user", "", "Bearer envoy:pass", "", allowed, elsewhere},
		{"user of the door", "envoy", "", "", allowed, elsewhere},
		{"credentials beside the user of the door", "envoy", basic("default:secret"), "", allowed, "ok"},
		{"certificate", "", "", "envoy", allowed, elsewhere},
		{"none", "", "", "", "! 1", ""},
		{"certificate of the default user", "", "", "default", "! 1", ""},
		{"certificate of nobody", "", "", "nobody", "! 1", ""},
		{"certificate of a user that is off", "", "", "off", "! 1", ""},
		{"user of the door that does not exist", "nobody", "", "", "! 1", ""},
		{"wrong password", "", basic("envoy:wrong"), "envoy", "! 1", ""},
		{"no base64", "", "Basic ???", "", "! 1", ""},
		{"no colon", "", basic("envoy"), "", "! 1", ""},
		{"another scheme", "", "Digest x", "", "! 1", ""},
	} {
		t.Run(step.name, func(t *testing.T) {
			access := w.access
			access.User = step.user
			c, err := access.Login(doors.Credentials{
				Authorization: step.header, CommonName: step.common, Addr: step.name,
			})
			if strings.HasPrefix(step.ip, "!") {
				var refusal *doors.Refusal
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, doors.Unauthenticated, refusal.Reason)
				return
			}
			require.NoError(t, err)
			defer c.Close()
			require.Contains(t, decide(c, "each ip="+strings.ReplaceAll(step.name, " ", "-")), step.ip)
			require.Contains(t, decide(c, "all ip="+strings.ReplaceAll(step.name, " ", "-")), step.all)
		})
	}
}

// TestKilled has a client whose session CLIENT KILL has ended: it logs in again, if it still can.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "+OK\r\n", w.do("ACL SETUSER envoy on nopass ~* +rl.check"))
	c := w.login(doors.Credentials{CommonName: "envoy", Addr: "1"})
	require.Contains(t, decide(c, "each ip=a"), "ok 0 [ok 3/minuteper-ip 2 ")
	w.do("CLIENT KILL USER envoy")
	require.Contains(t, decide(c, "each ip=a"), "ok 0 [ok 3/minuteper-ip 1 ")
	w.do("ACL DELUSER envoy")
	// It is the default user from now on, as who has no user's certificate.
	require.Contains(t, decide(c, "each ip=a"), "ok 0 [ok 3/minuteper-ip 0 ")
	w.do("CONFIG SET requirepass secret")
	w.do("CLIENT KILL USER default")
	require.Equal(t, "! 1 NOAUTH wrong user or password", decide(c, "each ip=a"))
	require.Equal(t, "! 1 wrong user or password", decide(c, "each ip=a"))
	w.do("ACL SETUSER default nopass")
	require.Contains(t, decide(c, "each ip=b"), "ok 0")
}

// TestAllocations of a decision about two descriptors.
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

func TestAllocations(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	r, out := request("each ip=a two=b"), new(doors.Response)
	require.NoError(t, c.Decide(r, out))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = c.Decide(r, out) }))
}
