package server_test

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timedReply is the reply to a command, and the interval of the system's clock in
// which the server ran it.
type timedReply struct {
	values    []int64
	sent, got int64 // unix microseconds
}

// A timedClient records the times of its commands.
type timedClient struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (c *timedClient) ask(command string) (r timedReply) {
	r.sent = time.Now().UnixMicro()
	_, err := fmt.Fprintf(c.conn, "%s\r\n", command)
	require.NoError(c.t, err)
	for left := 1; left > 0; left-- {
		line, err := c.in.ReadString('\n')
		require.NoError(c.t, err)
		n, _ := strconv.ParseInt(strings.TrimSpace(line[1:]), 10, 64)
		switch line[0] {
		case '*':
			left += int(n)
		case ':':
			r.values = append(r.values, n)
		case '$':
			line, err = c.in.ReadString('\n')
			require.NoError(c.t, err)
			n, err = strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			require.NoError(c.t, err)
			r.values = append(r.values, n)
		}
	}
	r.got = time.Now().UnixMicro()
	return r
}

// TestSystemClockOnTheWire compares the server's clock, as clients see it, with the
// system's: TIME, the lifetime of a key, and how often a limit admits.
func TestSystemClockOnTheWire(t *testing.T) {
	for _, hz := range []string{"1", "10", "100"} {
		t.Run("hz "+hz, func(t *testing.T) { testClockOnTheWire(t, hz) })
	}
}

func testClockOnTheWire(t *testing.T, hz string) {
	const (
		// slackUs allows for truncated readings, and for drift of the wall clock
		// between two readings.
		slackUs = 1000
		// cutUs: instants are whole milliseconds, so 20 of them are 19 to 21 of
		// real time.
		cutUs    = 1000
		lifeUs   = 20_000
		windowUs = 100_000
		longUs   = 600_000
	)
	srv := start(t, "--bind", "127.0.0.1", "--hz", hz)
	conn, err := net.Dial("tcp", srv.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(5*time.Minute)))
	c := &timedClient{t, conn, bufio.NewReader(conn)}

	var set, admitted timedReply
	lives, admissions := 0, 0
	begin := c.ask("TIME")
	for now := begin; now.sent-begin.got < longUs || lives == 0 || admissions < 2; now = c.ask("TIME") {
		us := now.values[0]*1_000_000 + now.values[1]
		require.Greater(t, us, now.sent-slackUs, "TIME is before the command")
		require.Less(t, us, now.got+slackUs, "TIME is after the reply")

		if ttl := c.ask("PTTL k"); ttl.values[0] >= 0 {
			require.LessOrEqual(t, ttl.sent-set.got, int64(lifeUs+cutUs+slackUs), "key expired too late")
		} else {
			if set.sent > 0 {
				lives++
				require.GreaterOrEqual(t, ttl.got-set.sent, int64(lifeUs-slackUs), "key expired too early")
			}
			set = c.ask("SET k v PX 20")
		}

		if d := c.ask("RL.ALLOW w 1 100ms"); d.values[0] == 1 {
			if admissions++; admissions > 1 {
				require.GreaterOrEqual(t, d.got-admitted.sent, int64(windowUs-cutUs-slackUs),
					"admitted twice in a window")
			}
			admitted = d
		}
	}
	t.Logf("%d lives, %d admissions", lives, admissions)
}
