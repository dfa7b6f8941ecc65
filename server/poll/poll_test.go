package poll

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// pollers are all kinds, each with a connection of token 3 that ready makes ready.
func pollers(t *testing.T, do func(t *testing.T, p Poller, ready func())) {
	t.Run("memory", func(t *testing.T) {
		p := NewMemory()
		defer p.Close()
		do(t, p, func() { p.Ready(3) })
	})
	systemPoller(t, do)
}

func tokens(events []Event) (out []int32) {
	for _, e := range events {
		if e.Readable {
			out = append(out, e.Token)
		}
	}
	return out
}

// TestEventsAreReportedOnce: an event from before a wait ends it, and is reported once.
func TestEventsAreReportedOnce(t *testing.T) {
	pollers(t, func(t *testing.T, p Poller, ready func()) {
		require.Empty(t, tokens(p.Poll()))
		ready()
		require.Equal(t, []int32{3}, tokens(p.Wait()))
		require.Empty(t, tokens(p.Poll()))
		ready()
		require.Equal(t, []int32{3}, tokens(p.Poll()))
		ready()
		require.Equal(t, []int32{3}, tokens(p.Pass()))
	})
}

// TestWakeIsNotLost: a wake-up before a wait ends it, and so does one during it.
func TestWakeIsNotLost(t *testing.T) {
	pollers(t, func(t *testing.T, p Poller, ready func()) {
		p.Wake()
		require.Empty(t, tokens(p.Wait()))
		for range 1000 {
			go p.Wake()
			require.Empty(t, tokens(p.Wait()))
		}
		for range 1000 {
			go ready()
			var got []int32
			for got == nil {
				got = tokens(p.Wait())
			}
			require.Equal(t, []int32{3}, got)
		}
		for range 1000 { // nothing but its own wake-up ends it
			require.Empty(t, tokens(p.Pass()))
		}
	})
}
