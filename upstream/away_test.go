package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/upstream/call"
)

// asks returns the calls of GET among those that a node was asked.
func asks(calls []string) (n int) {
	for _, c := range calls {
		if strings.HasPrefix(c, "GET ") {
			n++
		}
	}
	return n
}

// TestHalfOpen: a node that is away is tried by one round trip at a time, whoever asks. Everybody else gets
// an error at once, also while the try is under way, and goes on when it has succeeded.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	hangUp := func([]string) string { return "" }
	f := newFake(t, constant("+OK\r\n"))
	u := open(t, "redis+single://"+f.addr, func(o *Options) { o.Timeout = 20 * time.Second })
	n := u.node(f.addr)
	const databases = 8 // each has a queue and a connection of its own
	ask := func(db int) string {
		c := newCall("GET k")
		c.DB = db
		u.Run([]*call.Call{c})
		return string(c.Reply)
	}
	for db := range databases {
		require.Equal(t, "+OK\r\n", ask(db))
	}
	f.set(hangUp)
	for n.awaySince.Load() == 0 {
		require.Contains(t, ask(0), "-UPSTREAM "+f.addr)
	}
	isAway := func(reply string) bool { return strings.Contains(reply, errAway.Error()) }
	require.True(t, isAway(ask(1)))
	f.asked()
	require.True(t, isAway(ask(1)))
	require.Zero(t, asks(f.asked()), "nothing is sent while it is away")

	// A try that fails.
	failed := n.failures.Load()
	eventually(t, func() bool { return isAway(ask(2)) && n.failures.Load() > failed })
	require.Equal(t, failed+1, n.failures.Load())
	require.True(t, isAway(ask(3)))

	// A try under way, and nothing else.
	answer := make(chan struct{})
	f.set(func([]string) string {
		<-answer
		return "+OK\r\n"
	})
	var trying sync.WaitGroup
	var tried string
	f.asked()
	trying.Go(func() {
		for tried = ask(0); isAway(tried); tried = ask(0) {
		}
	})
	seen := 0
	eventually(t, func() bool {
		seen += asks(f.asked())
		return seen > 0
	})
	trips := n.trips.Load()
	for i := range 10 * databases {
		require.True(t, isAway(ask(1+i%(databases-1))))
	}
	require.Equal(t, trips, n.trips.Load())
	require.Equal(t, 1, seen+asks(f.asked()))
	require.Contains(t, u.status("node0"), "state=away")
	close(answer)
	trying.Wait()
	require.Equal(t, "+OK\r\n", tried)
	for db := range databases {
		require.Equal(t, "+OK\r\n", ask(db), "%d", db)
	}
	require.Contains(t, u.status("node0"), fmt.Sprintf("addr=%s,state=ok,away_seconds=0", f.addr))
}

// logged returns the lines of a log that have a message.
func logged(t *testing.T, log *syncBuffer, message string) (lines []map[string]string) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		if fields["msg"] != message {
			continue
		}
		texts := make(map[string]string)
		for name, value := range fields {
			texts[name] = fmt.Sprint(value)
		}
		lines = append(lines, texts)
	}
	return lines
}

// A syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // protected by mu
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written.
func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestDegradedSince: the log has one line when decisions begin to be degraded, with the reason, and one when
// they have not been for a while. INFO has the same instant.
func TestDegradedSince(t *testing.T) {
	for name, row := range map[string]struct {
		answer func([]string) string
		reason string
	}{
		"nobody answers":  {func([]string) string { return "" }, "EOF"},
		"an error reply":  {constant("-CLUSTERDOWN The cluster\r\n"), "CLUSTERDOWN The cluster"},
		"loading forever": {constant("-LOADING Redis is loading\r\n"), "LOADING Redis is loading"},
	} {
		inBubble(t, name, func(t *testing.T) {
			var log syncBuffer
			f := newPiped(t, row.answer)
			u := open(t, "redis+single://"+f.addr, func(o *Options) {
				o.Timeout, o.Log = 50*time.Millisecond, slog.New(slog.NewJSONHandler(&log, nil))
				o.Failure.Default = call.Policy{Mode: call.Open}
			})
			require.Equal(t, "0", u.status("degraded_since"))
			before := time.Now()
			for range 3 {
				c := newCall("RL.ALLOW k 1 1h")
				u.Run([]*call.Call{c})
				require.True(t, c.Degraded)
			}
			require.Equal(t, "3", u.status("degraded"))
			lines := logged(t, &log, "upstream: decisions are degraded")
			require.Len(t, lines, 1)
			require.Equal(t, "WARN", lines[0]["level"])
			require.Contains(t, lines[0]["error"], row.reason)
			since, err := time.Parse(time.RFC3339Nano, lines[0]["since"])
			require.NoError(t, err)
			require.False(t, since.Before(before.Truncate(time.Microsecond)), since)
			require.False(t, since.After(time.Now()), since)
			require.Equal(t, strconv.FormatInt(since.Unix(), 10), u.status("degraded_since"))

			u.limits.look(time.Now())
			require.Empty(t, logged(t, &log, "upstream: decisions are no longer degraded"))
			u.limits.look(time.Now().Add(refreshEvery))
			require.Equal(t, "0", u.status("degraded_since"))
			lines = logged(t, &log, "upstream: decisions are no longer degraded")
			require.Len(t, lines, 1)
			require.Equal(t, since.Truncate(time.Microsecond).Format(time.RFC3339Nano), lines[0]["since"])
			require.Equal(t, "3", lines[0]["degraded"])
		})
	}
}
