//go:build unix

package main

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// allow asks a gateway for units and returns the five numbers of the reply.
func (c *client) allow(t *testing.T, line string) (d [5]int64) {
	t.Helper()
	require.Equal(t, "*5", c.ask(t, line))
	for i := range d {
		_, err := fmt.Sscanf(c.line(t), ":%d", &d[i])
		require.NoError(t, err)
	}
	return d
}

// TestLeaseOfAKilledGateway: a gateway over a redis-server is killed with units in its hands. Whoever asks
// the other one afterwards gets no unit above the limit in any window, and all of it when the lost ones have
// left: a window after the end of the lease.
func TestLeaseOfAKilledGateway(t *testing.T) {
	t.Parallel()
	if err := oracle.Find(); err != nil {
		t.Skip("there is no redis-server on this machine: ", err)
	}
	const (
		startMs, limit    = 1_700_000_000_000, 400
		windowMs, leaseMs = 60_000, 3_600_000 // the lease is longer than the test takes
		call              = "RL.ALLOW hot:1 400 60000"
	)
	r, err := oracle.Start(oracle.Options{NowMs: startMs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	gateway := func() (*process, *client) {
		args, _ := anyPort(t)
		p := startAsync(t, append(args, "--upstream", "redis+single://"+r.Addr(), "--rl-lease", "hot:", "50",
			fmt.Sprint(leaseMs), "--upstream-timeout", "60000")...)
		line, err := p.stdout.ReadString('\n')
		for err == nil && strings.Contains(line, `"upstream: found"`) {
			line, err = p.stdout.ReadString('\n')
		}
		require.NoError(t, err)
		p.readGreeting(t, bufio.NewReader(strings.NewReader(line)))
		return p, p.dial(t)
	}
	killed, a := gateway()
	_, b := gateway()
	stored := func() (n int64) {
		_, err := fmt.Sscanf(b.ask(t, "ZCARD hot:1"), ":%d", &n)
		require.NoError(t, err)
		return n
	}
	granted := int64(0)
	for range limit / 4 {
		granted += a.allow(t, call)[0]
		granted += b.allow(t, call)[0]
	}
	require.EqualValues(t, limit/2, granted)
	require.NoError(t, killed.cmd.Process.Kill())
	_ = killed.cmd.Wait() // killed
	for {                 // the other gateway grants what it holds, and what is left
		d := b.allow(t, call)
		if d[0] == 0 {
			break
		}
		granted++
	}
	lost := stored() - granted
	require.EqualValues(t, limit, stored(), "units that were granted, and those that are lost")
	require.Positive(t, lost, "the gateway was killed with nothing in its hands")
	t.Logf("%d units granted, %d lost", granted, lost)

	// Before the end of the lease nothing comes back but what was not leased, and is not lost.
	require.NoError(t, r.SetClock(startMs+windowMs))
	require.LessOrEqual(t, b.allow(t, call+" COST 400 ATMOST PEEK")[0], granted)
	require.NoError(t, r.SetClock(startMs+leaseMs+windowMs-1))
	d := b.allow(t, call+" COST 400 PEEK")
	require.Zero(t, d[0], "units of a lease count until a window after its end")
	require.NoError(t, r.SetClock(startMs+leaseMs+windowMs-1+d[3]))
	require.EqualValues(t, limit, b.allow(t, call+" COST 400")[0])
}
