package clock_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
)

// simSources simulate a kernel's clocks: both are truncated to microseconds, with
// different phases; reading takes time; the wall runs a little faster or slower,
// and is set.
type simSources struct {
	rng       *rand.Rand
	nowNs     int64 // true time
	readNs    int64 // true time of the last monotonic reading
	phaseNs   int64 // phase of the monotonic source's truncation
	baseNs    int64 // of the wall
	driftPPM  int64 // of the wall
	jitterNs  int64 // a reading takes less than this
	preempted int   // one reading in this many is delayed by up to 30 ms; 0: none
}

func newKernel(rng *rand.Rand) *simSources {
	return &simSources{
		rng: rng, phaseNs: rng.Int64N(1_000_000), baseNs: 1_700_000_000_000_000_000 + rng.Int64N(1_000_000),
		driftPPM: rng.Int64N(201) - 100, jitterNs: 1 + rng.Int64N(5000),
	}
}

func (k *simSources) sources() clock.Sources {
	return clock.Sources{
		Monotonic: func() int64 {
			k.read()
			k.readNs = k.nowNs
			return (k.nowNs + k.phaseNs) / 1000
		},
		Wall: func() int64 {
			k.read()
			return k.wallNs(k.nowNs) / 1000
		},
	}
}

func (k *simSources) read() {
	k.nowNs += k.rng.Int64N(k.jitterNs)
	if k.preempted > 0 && k.rng.IntN(k.preempted) == 0 {
		k.nowNs += k.rng.Int64N(30_000_000)
	}
}

// wallNs returns the wall clock at a true time.
func (k *simSources) wallNs(ns int64) int64 { return k.baseNs + ns + ns*k.driftPPM/1_000_000 }

// A checker reads a clock repeatedly and checks its readings.
type checker struct {
	*simSources
	clock  *clock.Clock
	hz     int64
	syncNs int64 // time of the next Sync

	lastUs, lastNs int64 // the previous reading
	maxAheadUs     int64 // allowed lead after the wall's steps
	convergedNs    int64 // when they must have met
	stepPending    bool  // the wall was set forwards since the last Sync

	worstUs int64   // maximum offset without a pending step
	slowest float64 // rate
}

func newWatch(k *simSources, hz int64) *checker {
	w := &checker{simSources: k, clock: clock.New(k.sources()), hz: hz, slowest: 1}
	w.syncNs = k.nowNs + 1_000_000_000/hz
	w.lastUs, w.lastNs = w.clock.NowUs(), k.readNs
	return w
}

// step sets the wall clock.
func (w *checker) step(us int64) {
	w.baseNs += us * 1000
	w.stepPending = us > 0
	w.maxAheadUs = max(w.aheadUs(w.lastUs, w.lastNs), 0) + 1000
	w.convergedNs = w.syncNs + 40_000_000*int64(min(w.preempted, 1)) + 2*w.maxAheadUs*1000
}

func (w *checker) aheadUs(us, ns int64) int64 { return us - w.wallNs(ns)/1000 }

// run advances time, with Syncs when they are due and a reading after each.
func (w *checker) run(t *testing.T, ns int64) {
	for end := w.nowNs + ns; w.nowNs < end; {
		w.nowNs = max(w.nowNs, min(end, w.syncNs))
		if w.nowNs >= w.syncNs {
			w.clock.Sync()
			w.syncNs = w.nowNs + 1_000_000_000/w.hz
			w.stepPending = false
		}
		w.check(t)
	}
}

// check reads the clock. It runs millions of times, so it does not use require.
func (w *checker) check(t *testing.T) {
	us := w.clock.NowUs()
	ns := w.readNs
	moved, passed := us-w.lastUs, (ns-w.lastNs)/1000
	if passed > 1000 {
		w.slowest = min(w.slowest, float64(moved)/float64(passed))
	}
	ahead := w.aheadUs(us, ns)
	converged := ns >= w.convergedNs
	if converged && !w.stepPending {
		w.worstUs = max(w.worstUs, ahead, -ahead)
	}
	fault := ""
	switch {
	case moved < 0:
		fault = "went back"
	case 2*moved+4 < passed:
		fault = "slower than half speed"
	case !w.stepPending && ahead <= -1000:
		fault = "behind the wall"
	case !w.stepPending && converged && ahead >= 1000:
		fault = "ahead of the wall"
	case !converged && ahead > w.maxAheadUs:
		fault = "further ahead than the step allows"
	}
	if fault != "" {
		t.Fatalf("%s: moved %d us in %d us, is ahead by %d us, at %d Hz, drift %d ppm", fault, moved, passed,
			ahead, w.hz, w.driftPPM)
	}
	w.lastUs, w.lastNs = us, ns
}

// runSeeds runs a function with many random seeds, which are logged.
func runSeeds(t *testing.T, run func(t *testing.T, rng *rand.Rand)) {
	first := rand.Uint64()
	for i := range uint64(300) {
		seed := first + i
		if !t.Run("", func(t *testing.T) {
			t.Logf("seed %d", seed)
			run(t, rand.New(rand.NewPCG(seed, 0)))
		}) {
			return
		}
	}
}

// randomHz returns 1 to 500, with small values as frequent as large ones.
func randomHz(rng *rand.Rand) int64 { return int64(math.Pow(501, rng.Float64())) }

// TestDriftingWall: at any hz the clock is within a millisecond of the wall, and
// within a few microseconds if the wall drifts little between two Syncs.
func TestDriftingWall(t *testing.T) {
	var worst int64
	slowest := 1.0
	runSeeds(t, func(t *testing.T, rng *rand.Rand) {
		k := newKernel(rng)
		w := newWatch(k, randomHz(rng))
		for range 2000 {
			w.run(t, rng.Int64N(4_000_000_000/w.hz))
		}
		// Two Syncs, rounding, the readings, and the drift between them.
		require.LessOrEqual(t, w.worstUs, 4+2*k.jitterNs/1000+100/w.hz+1)
		worst, slowest = max(worst, w.worstUs), min(slowest, w.slowest)
	})
	t.Logf("at most %d us from the wall; slowest rate over a millisecond and more: %.3f", worst, slowest)
}

// TestPreemptedReadings: a preempted goroutine does not mistake the delay between
// two readings for a step of the wall.
func TestPreemptedReadings(t *testing.T) {
	var worst int64
	runSeeds(t, func(t *testing.T, rng *rand.Rand) {
		k := newKernel(rng)
		k.preempted = 20
		w := newWatch(k, randomHz(rng))
		for range 500 {
			w.run(t, rng.Int64N(4_000_000_000/w.hz))
		}
		worst = max(worst, w.worstUs)
	})
	t.Logf("at most %d us from the wall", worst)
}

// TestWallSteps: after a step forwards the clock follows at the next Sync; after a
// step back it runs at half speed until they meet, and no longer.
func TestWallSteps(t *testing.T) {
	var worst int64
	slowest := 1.0
	runSeeds(t, func(t *testing.T, rng *rand.Rand) {
		w := newWatch(newKernel(rng), randomHz(rng))
		for range 20 {
			size := int64(1) << rng.IntN(23) // up to 8 s
			w.step(rng.Int64N(2*size+1) - size)
			for range 50 {
				w.run(t, rng.Int64N(2_000_000_000/w.hz+size*100))
			}
		}
		worst, slowest = max(worst, w.worstUs), min(slowest, w.slowest)
	})
	t.Logf("met: at most %d us from the wall; slowest rate over a millisecond and more: %.3f", worst, slowest)
	require.GreaterOrEqual(t, slowest, 0.49)
}

// TestHalfSpeedEndsOnTime checks to the microsecond, with one Sync a second.
func TestHalfSpeedEndsOnTime(t *testing.T) {
	h := &fakeSources{wall: 10_000_000}
	c := newClock(h)
	h.wall -= 10_000
	c.Sync()
	require.EqualValues(t, 10_000, c.AheadUs())
	for _, step := range []struct{ pass, ahead int64 }{{5_000, 7_500}, {14_998, 1}, {2, 0}, {980_000, 0}} {
		h.advance(step.pass)
		require.Equal(t, h.wall+step.ahead, c.NowUs())
		require.Equal(t, step.ahead, c.AheadUs())
	}
	c.Sync()
	require.Zero(t, c.AheadUs())
	require.Equal(t, h.wall, c.NowUs())
}

// TestReadDuringStepBack: a reading that began before a Sync and returned some time
// after it is not greater than later readings.
func TestReadDuringStepBack(t *testing.T) {
	h := &fakeSources{wall: 10_000_000}
	var meanwhile func()
	c := clock.New(clock.Sources{
		Monotonic: func() int64 {
			if run := meanwhile; run != nil {
				meanwhile = nil
				run()
			}
			return h.monotonic
		},
		Wall: func() int64 { return h.wall },
	})
	meanwhile = func() {
		h.wall -= 5_000_000
		c.Sync()
		h.advance(1_000_000)
	}
	first := c.NowUs()
	require.GreaterOrEqual(t, c.NowUs(), first)
}

// TestConcurrentReadersAreMonotonic: no goroutine reads less than another has read
// before, while the wall is set back and forth.
func TestConcurrentReadersAreMonotonic(t *testing.T) {
	var monotonic, wall atomic.Int64 // each monotonic reading takes a microsecond
	c := clock.New(clock.Sources{
		Monotonic: func() int64 { return monotonic.Add(1) },
		Wall:      func() int64 { return monotonic.Load() + wall.Load() },
	})
	var furthest atomic.Int64
	var wait sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				before := furthest.Load()
				us := c.NowUs()
				if us < before {
					t.Errorf("went back by %d us", before-us)
					return
				}
				for us > before && !furthest.CompareAndSwap(before, us) {
					before = furthest.Load()
				}
			}
		})
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		wall.Add(rng.Int64N(2001) - 1000)
		c.Sync()
	}
	close(done)
	wait.Wait()
}
