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

// TestNoLimits has a request that no text of a case can be.
func TestNoLimits(t *testing.T) {
	var d doors.KeyDecision
	err := newWorld(t).login(doors.Credentials{}).Allow(&doors.KeyRequest{Key: []byte("k")}, &d)
	require.EqualError(t, err, "a key has one limit at least")
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
