package server_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// now returns the node's time.
func (n *node) now(t *testing.T) time.Time {
	t.Helper()
	words := strings.Split(n.do(t, "TIME"), "\r\n")
	require.Len(t, words, 5)
	seconds, err := strconv.ParseInt(words[2], 10, 64)
	require.NoError(t, err)
	us, err := strconv.ParseInt(words[4], 10, 64)
	require.NoError(t, err)
	return time.Unix(seconds, us*1000)
}

// pass lets time pass at a node: the clocks of a server of ours are moved in steps of a second, and
// redis-server, whose periodic work follows no clock that a test can move, is waited for.
func (f *fabric) pass(n *node, d time.Duration) {
	f.t.Helper()
	if n.kind == redis {
		end := n.now(f.t).Add(d)
		f.until(func() bool { return n.now(f.t).After(end) })
		return
	}
	for ; d > 0; d -= time.Second {
		n.jump(f.t, min(d, time.Second))
		f.tick()
	}
}

// TestPingPeriod: a master pings its replicas once in repl-ping-replica-period, which CONFIG SET changes,
// under its old name too. Between two pings nothing else moves the offset.
func TestPingPeriod(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		f.held = k == ours // redis-server's periodic work follows the machine's clock
		master := f.node(k, "--repl-ping-replica-period", "2")
		w := f.attach(master)
		ping := func() {
			t.Helper()
			require.Regexp(t, `^\*[12]\r\n\$4\r\n(PING|ping)`, f.await(w))
		}
		if k == ours { // a replica is pinged when it comes, so that it knows the time
			f.tick()
			ping()
		}
		for _, c := range []struct {
			directive string
			seconds   int
		}{
			{"", 2}, {"repl-ping-replica-period", 1}, {"repl-ping-slave-period", 4},
		} {
			if c.directive != "" {
				master.fill(t, "CONFIG SET "+c.directive+" "+strconv.Itoa(c.seconds))
			}
			require.Equal(t, "*2\r\n$24\r\nrepl-ping-replica-period\r\n$1\r\n"+strconv.Itoa(c.seconds),
				master.do(t, "CONFIG GET repl-ping-replica-period"))
			period := time.Duration(c.seconds) * time.Second
			at := master.offset(t)
			if k == redis {
				var from time.Time // not after the first ping
				f.until(func() bool {
					now := master.now(t)
					pinged := master.offset(t) > at
					if !pinged {
						from = now
					}
					return pinged
				})
				f.until(func() bool { return master.offset(t) >= at+3*int64(len("*1\r\n$4\r\nPING\r\n")) })
				require.Greater(t, master.now(t).Sub(from), 2*period-time.Second/2, "of two periods")
				for range 3 {
					ping()
				}
				continue
			}
			f.pass(master, period)
			ping()
			at = master.offset(t)
			for range 3 {
				f.pass(master, period-100*time.Millisecond)
				require.Equal(t, at, master.offset(t), "early")
				f.pass(master, 100*time.Millisecond)
				require.Greater(t, master.offset(t), at, "late")
				ping()
				at = master.offset(t)
			}
		}
	})
}
