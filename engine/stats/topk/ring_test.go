package topk_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/stats/topk"
)

// TestRingWindows: the answer for a window has the bounds of an exact count of the same
// window, which begins with a slot and so is a little longer than asked for.
func TestRingWindows(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		ring := topk.NewRing()
		nowMs := 1_700_000_000_000 + r.Int64N(3_600_000)
		var history []struct {
			atMs int64
			name string
		}
		spread := []int64{5, 500, 5_000}[r.IntN(3)]
		for step := range 4000 {
			switch r.IntN(400) {
			case 0:
				nowMs += r.Int64N(900_000)
			case 1:
				nowMs += r.Int64N(20_000)
			case 2:
				nowMs -= r.Int64N(3_000)
			default:
				nowMs += r.Int64N(2_000)
			}
			name := fmt.Sprint("k", r.Int64N(spread))
			addAt(ring, nowMs, name, 1)
			history = append(history, struct {
				atMs int64
				name string
			}{nowMs, name})
			if r.IntN(50) != 0 {
				continue
			}
			windowMs := 1 + r.Int64N([]int64{60_000, 600_000, topk.MaxWindowMs}[r.IntN(3)])
			sum, fromMs := ring.Window(nowMs, windowMs)
			require.LessOrEqual(t, fromMs, nowMs-windowMs)
			require.GreaterOrEqual(t, fromMs, nowMs-windowMs-slotOf(windowMs))
			x, all := exact{}, exact{}
			for _, h := range history {
				all.add(0, h.name, 1)
				if h.atMs >= fromMs-3_000 { // what came after the clock stepped back is in the present slot
					x.add(0, h.name, 1)
				}
			}
			low := exact{}
			for _, h := range history {
				if h.atMs >= fromMs {
					low.add(0, h.name, 1)
				}
			}
			where := fmt.Sprintf("seed %d, step %d, window %d", seed, step, windowMs)
			if low.total() == x.total() {
				require.Empty(t, x.fault(sum, 64), where)
			} else {
				require.True(t, low.total() <= sum.Total() && sum.Total() <= x.total(), where)
			}
			require.Empty(t, all.fault(ring.Whole(), 64), where)
		}
	}
}

func addAt(r *topk.Ring, nowMs int64, name string, n int64) {
	r.Add(nowMs, topk.Hash([]byte(name)), 0, []byte(name), n, [2]int64{})
}

func (x exact) total() (n int64) {
	for _, one := range x {
		n += one
	}
	return n
}

// slotOf returns the length of the slots from which the answer for a window is made.
func slotOf(windowMs int64) int64 {
	switch {
	case windowMs <= 60_000:
		return 10_000
	case windowMs <= 600_000:
		return 60_000
	}
	return 600_000
}

// TestRingForgets: what is older than the window is not in it; what is old is still in
// the whole.
func TestRingForgets(t *testing.T) {
	ring := topk.NewRing()
	const startMs = 1_700_000_000_000
	addAt(ring, startMs, "old", 5)
	for _, c := range []struct{ afterMs, windowMs, want int64 }{
		{0, 1, 5},
		{59_000, 60_000, 5},
		{69_000, 60_000, 5},
		{70_001, 60_000, 0},
		{70_001, 60_001, 5},
		{600_000, 600_000, 5},
		{720_001, 600_000, 0},
		{720_001, 600_001, 5},
		{3_600_000, 3_600_000, 5},
		{4_800_001, 3_600_000, 0},
		{1 << 40, 3_600_000, 0},
	} {
		sum, _ := ring.Window(startMs+c.afterMs, c.windowMs)
		require.Equal(t, c.want, sum.Total(), "%d ms in %d ms", c.afterMs, c.windowMs)
		require.EqualValues(t, 5, ring.Whole().Total())
	}
}

// TestRingClockSetBack: windows begin anew, the whole stays.
func TestRingClockSetBack(t *testing.T) {
	ring := topk.NewRing()
	addAt(ring, 1_700_000_000_000, "a", 1)
	addAt(ring, 1_700_000_100_000, "a", 1)
	addAt(ring, 1_600_000_000_000, "b", 1)
	sum, _ := ring.Window(1_600_000_000_000, 60_000)
	require.EqualValues(t, 1, sum.Total())
	require.EqualValues(t, 3, ring.Whole().Total())
	sum, _ = ring.Window(-1, 60_000)
	require.EqualValues(t, 0, sum.Total(), "before 1970")
}

// TestRingMemory: however long and varied the stream, a Ring has a bounded number of
// entries.
func TestRingMemory(t *testing.T) {
	ring := topk.NewRing()
	for i := range 150_000 {
		addAt(ring, int64(i)*70, fmt.Sprint("k", i), 1)
		require.LessOrEqual(t, ring.Entries(), topk.MaxEntries)
	}
	require.Greater(t, ring.Entries(), topk.MaxEntries/2)
}

// TestRingBytes: what a Ring says it takes is what the heap grows by. Names that slots
// share count more than once.
func TestRingBytes(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	rings := make([]*topk.Ring, 20)
	before, counted := heap(), int64(0)
	for i := range rings {
		rings[i] = topk.NewRing()
		for j := range 40_000 {
			addAt(rings[i], int64(j)*100, fmt.Sprint("some-longer-key-", i, j), 1)
		}
		counted += rings[i].Bytes()
	}
	require.InEpsilon(t, heap()-before, counted, 0.4)
	runtime.KeepAlive(rings)

	addAt(rings[0], -1_000_000, "back", 1)
	require.Less(t, rings[0].Bytes(), counted/int64(len(rings)), "the slots are gone")
}
