package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readings returns two readings two seconds apart, of which the second was changed.
func readings(pinned bool, change func(*counters)) use {
	before := counters{at: time.Unix(0, 0), pinned: pinned}
	before.cores[0].stolen = 7 * time.Second
	after := before
	after.at = after.at.Add(2 * time.Second)
	change(&after)
	return after.since(before)
}

func TestSince(t *testing.T) {
	u := readings(true, func(l *counters) {
		l.server = processUse{cpu: 1800 * time.Millisecond, rss: 7}
		l.client.cpu, l.idle.cpu = time.Second, 20*time.Millisecond
		l.cores[0].busy, l.cores[1].busy = 1900*time.Millisecond, 1500*time.Millisecond
		l.cores[0].stolen += 40 * time.Millisecond
	})
	r := u.round(&tally{flows: 100, elapsed: time.Second, all: 200, admitted: 3, denied: 4})
	require.InDelta(t, 100, r.PerSecond, 1e-9)
	require.InDelta(t, 9000, r.CPUPerMega, 1e-6)
	require.InDelta(t, 0.9, r.ServerBusy, 1e-9)
	require.InDelta(t, 0.5, r.ClientBusy, 1e-9)
	require.InDelta(t, 0.01, r.IdleBusy, 1e-9)
	require.InDelta(t, 0.25, r.Disturbed, 1e-9, "the client's core: 1.5 s used, 1 s by the client")
	require.InDelta(t, 0.02, r.Stolen, 1e-9)
	require.EqualValues(t, 7, r.RSS)
	require.EqualValues(t, 3, r.Admitted)
}

func TestDisturbed(t *testing.T) {
	for _, c := range []struct {
		name   string
		pinned bool
		change func(*counters)
		want   float64
	}{
		{"nobody", true, func(l *counters) {
			l.server.cpu, l.cores[0].busy = time.Second, time.Second
		}, 0},
		{"another process and the hypervisor, on one core", true, func(l *counters) {
			l.server.cpu, l.cores[0].busy = time.Second, 1100*time.Millisecond
			l.cores[0].stolen += 200 * time.Millisecond
		}, 0.15},
		{"one on each core are not added up", true, func(l *counters) {
			l.cores[0].stolen += 100 * time.Millisecond
			l.cores[1].busy = 120 * time.Millisecond
		}, 0.06},
		{"the kernel's two clocks differ", true, func(l *counters) {
			l.server.cpu, l.cores[0].busy = time.Second, 900*time.Millisecond
		}, 0},
		{"nothing is pinned: all cores together", false, func(l *counters) {
			l.server.cpu, l.client.cpu, l.idle.cpu = time.Second, time.Second, 100*time.Millisecond
			l.cores[0].busy = 2200 * time.Millisecond
			l.cores[0].stolen += 20 * time.Millisecond
		}, 0.06},
	} {
		u := readings(c.pinned, c.change)
		require.InDelta(t, c.want, u.round(&tally{all: 1, elapsed: 1}).Disturbed, 1e-9, c.name)
	}
}

func TestCalmest(t *testing.T) {
	for _, c := range []struct {
		name     string
		left     int
		attempts []float64 // how disturbed each is
		want     float64
		taken    int
		leaves   int
		said     int
	}{
		{"calm", 5, []float64{0.05}, 0.05, 1, 5, 0},
		{"calm the second time", 5, []float64{0.2, 0.01}, 0.01, 2, 4, 1},
		{"never calm", 5, []float64{0.3, 0.1, 0.2}, 0.1, 3, 3, 3},
		{"none left after one", 1, []float64{0.2, 0.3}, 0.2, 2, 0, 2},
		{"none left, as with --quick", 0, []float64{0.2}, 0.2, 1, 0, 1},
	} {
		taken, said := 0, 0
		spare := repeats{left: c.left}
		r, err := spare.calmest(func() (round, error) {
			taken++
			return round{Disturbed: c.attempts[taken-1]}, nil
		}, func(round) { said++ })
		require.NoError(t, err, c.name)
		require.InDelta(t, c.want, r.Disturbed, 0, c.name)
		require.Equal(t, c.taken, taken, c.name)
		require.Equal(t, c.taken-1, r.Repeated, c.name)
		require.Equal(t, c.leaves, spare.left, c.name)
		require.Equal(t, c.said, said, "%s: it is said even if nothing can be done", c.name)
	}
	spare := repeats{left: 1}
	broken := errors.New("broken")
	_, err := spare.calmest(func() (round, error) { return round{Disturbed: 1}, broken }, func(round) {})
	require.ErrorIs(t, err, broken)
}
