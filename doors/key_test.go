package doors_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

// ofKey parses key cost limit/window[,limit/window ...] [algorithm [parameter]].
func ofKey(text string) *doors.KeyRequest {
	words := strings.SplitN(text, " ", 4)
	r := &doors.KeyRequest{Key: []byte(words[0])}
	_, _ = fmt.Sscan(words[1], &r.Cost)
	for quota := range strings.SplitSeq(words[2], ",") {
		limit, window, _ := strings.Cut(quota, "/")
		l := doors.KeyLimit{Window: []byte(window)}
		_, _ = fmt.Sscan(limit, &l.Limit)
		r.Limits = append(r.Limits, l)
	}
	if len(words) > 3 {
		r.Algorithm = []byte(words[3])
	}
	return r
}

// allow returns a decision as text, or a refusal.
func allow(c doors.Client, text string) string {
	var d doors.KeyDecision
	if err := c.Allow(ofKey(text), &d); err != nil {
		var refusal *doors.Refusal
		errors.As(err, &refusal)
		return fmt.Sprintf("! %d %s", refusal.Reason, err)
	}
	return fmt.Sprintf("%s %d/%d left %d retry %d reset %d", codes[d.Code], d.Limit, d.WindowMs, d.Remaining,
		d.RetryMs, d.ResetMs)
}

func TestAllow(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	for _, step := range [][2]string{
		{"k 1 2/1m", "ok 2/60000 left 1 retry 0 reset 60000"},
		{"k 2 2/1m", "OVER 2/60000 left 1 retry 60000 reset 60000"},
		{"k 0 2/1m", "ok 2/60000 left 1 retry 0 reset 60000"},
		{"k 1 2/1m", "ok 2/60000 left 0 retry 0 reset 60000"},
		{"k 0 2/1m", "OVER 2/60000 left 0 retry 60000 reset 60000"},
		{"k 3 2/1m", "OVER 2/60000 left 0 retry -1 reset 60000"},
		{"k 1 2/1m,9/1h", "OVER 2/60000 left 0 retry 60000 reset 60000"},
		{"m 5 9/1000,6/1h LOG", "ok 6/3600000 left 1 retry 0 reset 3600000"},
		{"g 5 1/1s GCRA 5", "ok 1/1000 left 0 retry 0 reset 5000"},
		{"g 1 1/1s gcra 5", "OVER 1/1000 left 0 retry 1000 reset 5000"},
		{"f 1 5/1mo@Europe/Zurich FIXED", "ok 5/2592000000 left 4 retry 0 reset "},
		{"z 1 0/1s", "OVER 0/1000 left 0 retry -1 reset 0"},
	} {
		require.Contains(t, allow(c, step[0]), step[1], step[0])
	}
	require.Equal(t, ":2\r\n", w.do("ZCARD k"), "what was denied, or cost 0, has not counted")
	require.Equal(t, "ok 2/60000 left 1 retry 0 reset 60000", allow(c, " 1 2/1m"), "an empty key is one")
}

func TestRefusalsOfKeys(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	w.do("SET text 1")
	w.do("ZADD set 1 a")
	for _, step := range [][2]string{
		{"k 1 1/1x", "! 0 ERR window must be"},
		{"k 1 1/", "! 0 ERR window must be"},
		{"k 1 -1/1m", "! 0 ERR "},
		{"k -1 1/1m", "! 0 ERR COST must not be negative"},
		{"k 1 1/1m" + strings.Repeat(",1/1m", 16), "! 0 ERR "},
		{"k 1 1/1m,2/1h FIXED", "! 0 ERR "},
		{"k 1 1/1m EXACT", "! 0 ERR ALGO 'EXACT' is not"},
		{"k 1 1/1m GCRA", "! 0 ERR syntax error"},
		{"k 1 1/1m LOG 5", "! 0 ERR syntax error"},
		// No other option comes in by the algorithm's parameter.
		{"k 1 1/1m LOG PEEK", "! 0 an algorithm is"},
		{"k 1 1/1m LOG WAIT 1000", "! 0 an algorithm is"},
		{"k 1 1/1m LOG ", "! 0 an algorithm is"},
		{"text 1 1/1m", "! 0 WRONGTYPE "},
		{"set 1 1/1m", "! 0 ERR key holds"},
	} {
		require.Contains(t, allow(c, step[0]), step[1], step[0])
	}
	var d doors.KeyDecision
	require.EqualError(t, c.Allow(&doors.KeyRequest{Key: []byte("k")}, &d), "a key has one limit at least")
	require.Equal(t, ":0\r\n", w.do("EXISTS k"))
	require.Equal(t, "+OK\r\n", w.do("CONFIG SET maxmemory 1"))
	require.Contains(t, allow(c, "k 1 1/1m"), "! 4 OOM ")
}

// TestRightsOfKeys: a decision about a key is the user's RL.ALLOW of that key.
func TestRightsOfKeys(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, "+OK\r\n", w.do("ACL SETUSER app on nopass resetkeys ~user:* -@all +rl.allow"))
	require.Equal(t, "+OK\r\n", w.do("ACL SETUSER proxy on nopass resetkeys ~* -@all +rl.check"))
	app := w.login(doors.Credentials{CommonName: "app"})
	proxy := w.login(doors.Credentials{CommonName: "proxy"})
	require.Contains(t, allow(app, "user:1 1 1/1m"), "ok 1/60000 left 0")
	require.Contains(t, allow(app, "other 1 1/1m"), "! 2 NOPERM ")
	require.Contains(t, allow(proxy, "user:1 1 1/1m"), "! 2 NOPERM ")
	require.Contains(t, decide(app, "each ip=a"), "! 2 NOPERM ")
	w.do("CLIENT KILL USER app")
	require.Contains(t, allow(app, "user:1 1 1/1m"), "OVER 1/60000 left 0", "it has logged in again")
	w.do("ACL DELUSER app")
	w.do("CONFIG SET requirepass secret")
	require.Contains(t, allow(app, "user:1 1 1/1m"), "! 1 NOAUTH ")
}

// TestKeysWithoutPolicies: they need none.
func TestKeysWithoutPolicies(t *testing.T) {
	w := newWorld(t, "--rl-policies", "", "--rename-command", "rl.allow", "hidden")
	c := w.login(doors.Credentials{})
	require.Contains(t, decide(c, "each ip=a"), "no rate limit configuration loaded")
	require.Contains(t, allow(c, "k 1 1/1m"), "ok 1/60000 left 0")
	require.Contains(t, w.do("HIDDEN k 1 1m"), "*5\r\n:0\r\n")
}

// TestKeysWhilePaused: a decision about a key waits for the end of a pause, or until nobody waits for it.
func TestKeysWhilePaused(t *testing.T) {
	w := newWorld(t)
	c := w.login(doors.Credentials{})
	require.Equal(t, "+OK\r\n", w.do("CLIENT PAUSE 1000000 WRITE"))
	paused := func() {
		for !strings.Contains(w.do("INFO clients"), "blocked_clients:1\r\n") {
			runtime.Gosched()
		}
	}
	gone, refused := make(chan struct{}), make(chan error)
	r := ofKey("k 1 2/1m")
	r.Gone = gone
	go func() { refused <- c.Allow(r, new(doors.KeyDecision)) }()
	paused()
	close(gone)
	require.Error(t, <-refused)
	answer := make(chan string)
	go func() { answer <- allow(c, "k 1 2/1m") }()
	paused()
	require.Equal(t, "+OK\r\n", w.do("CLIENT UNPAUSE"))
	require.Contains(t, <-answer, "ok 2/60000 left 1")
}
