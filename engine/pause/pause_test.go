package pause_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/store"
)

// A bench has pauses without timers, and the names of what they have released.
type bench struct {
	pause.Pauses
	released []string
	over     int
}

func newBench() *bench {
	b := &bench{}
	still := func() int64 { return 0 }
	b.Init(pause.Options{
		Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}), Store: store.New(),
		Over: func() { b.over++ },
	})
	return b
}

// postpone postpones a command, which reports when it is released.
func (b *bench) postpone(t *testing.T, name string, least pause.Kind, waits bool) *pause.Command {
	blocked := false
	c := &pause.Command{Least: least, Release: func() bool {
		if waits {
			b.released = append(b.released, name)
		}
		return waits
	}}
	require.True(t, b.Postpone(c, func() { blocked = true }))
	require.True(t, blocked)
	return c
}

func unlimited(kind pause.Kind) pause.Period {
	return pause.Period{Kind: kind, UntilUs: pause.Unlimited}
}

// TestOrder releases one command after the other. One whose wait was ended is passed over.
func TestOrder(t *testing.T) {
	b := newBench()
	b.Begin(pause.ByClient, unlimited(pause.Writes))
	first := b.postpone(t, "first", pause.Writes, true)
	b.postpone(t, "gone", pause.Writes, false)
	last := b.postpone(t, "last", pause.Writes, true)
	b.End(pause.ByClient)
	require.Equal(t, []string{"first"}, b.released)
	require.True(t, b.On(), "the last has not run, so others wait behind it")
	late := b.postpone(t, "late", pause.Writes, true)
	b.Finished(first)
	require.Equal(t, []string{"first", "last"}, b.released)
	b.Finished(last)
	require.Zero(t, b.over)
	b.Finished(late)
	require.Equal(t, []string{"first", "last", "late"}, b.released)
	require.False(t, b.On())
	require.Equal(t, 1, b.over)
}

// TestPurposes ends one pause of two, and lets run what the other does not postpone.
func TestPurposes(t *testing.T) {
	b := newBench()
	b.Begin(pause.ByClient, unlimited(pause.All))
	b.Begin(pause.ForFailover, unlimited(pause.Writes))
	b.postpone(t, "write", pause.Writes, true)
	read := b.postpone(t, "read", pause.All, true)
	b.End(pause.ByClient)
	require.Equal(t, []string{"read"}, b.released)
	b.Finished(read)
	require.Equal(t, pause.Writes, b.Kind())
	require.False(t, b.Postpone(&pause.Command{Least: pause.All}, func() { require.Fail(t, "it may run") }))
	b.End(pause.ForFailover)
	require.Equal(t, []string{"read", "write"}, b.released)
}

// TestFinishedInQueue forgets a command that never runs.
func TestFinishedInQueue(t *testing.T) {
	b := newBench()
	b.Begin(pause.ByClient, unlimited(pause.All))
	b.Finished(b.postpone(t, "closed", pause.All, true))
	b.End(pause.ByClient)
	require.Empty(t, b.released)
	require.False(t, b.On())
}
