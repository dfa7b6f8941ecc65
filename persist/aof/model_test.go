package aof_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/race"
)

// This file model-checks group commit and the switch of files. Two clients that append
// and wait, a rewrite, and the log's own goroutines run in a bubble. Each stops before
// an observable step: an append, a switch, a write, a sync or the rename of a manifest.
// When all have stopped, one continues. All orders are tried, and after each step the
// power is cut. The loaded log must be the groups in order, with all that were waited
// for.

// model runs one order.
type model struct {
	mu     sync.Mutex
	parked []stop
	groups int // appended
	acked  int // all groups below were acknowledged
	err    error

	finishing bool // Finish is to rename its manifest
}

type stop struct {
	name string
	pass chan struct{}
}

// at blocks its caller until it is chosen.
func (m *model) at(name string) {
	s := stop{name, make(chan struct{})}
	m.mu.Lock()
	m.parked = append(m.parked, s)
	m.mu.Unlock()
	<-s.pass
}

// choose resumes the i-th blocked goroutine by name, or the last if there are fewer.
// count is how many there were.
func (m *model) choose(i int) (count int, ok bool) {
	m.mu.Lock()
	slices.SortFunc(m.parked, func(a, b stop) int { return strings.Compare(a.name, b.name) })
	count = len(m.parked)
	if count == 0 {
		m.mu.Unlock()
		return 0, false
	}
	ok = i < count
	i = min(i, count-1)
	s := m.parked[i]
	m.parked = slices.Delete(m.parked, i, i+1)
	m.mu.Unlock()
	close(s.pass)
	return count, ok
}

func (m *model) client(log *aof.Log, name string, n int) {
	for range n {
		m.at(name)
		m.mu.Lock() // the shard's lock: number and log position are assigned in one step
		i := m.groups
		m.groups++
		end := log.Append(numbered(i), 1000)
		m.mu.Unlock()
		err := log.Wait(end, nil)
		m.mu.Lock()
		if err == nil {
			m.acked = max(m.acked, i+1)
		}
		m.mu.Unlock()
	}
}

func (m *model) rewriter(log *aof.Log, f *life) {
	if log.Prepare() != nil {
		return
	}
	m.at("switch")
	m.mu.Lock()
	log.Switch()
	at := m.groups
	m.finishing = true
	m.mu.Unlock()
	_ = log.Finish(false, f.base(at))
}

// stopsAt reports whether an operation is observable by the others.
func (m *model) stopsAt(op crashdisk.Op) bool {
	if strings.HasSuffix(op.Name, ".incr.aof") {
		return op.Kind == crashdisk.Write || op.Kind == crashdisk.Sync
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finishing && op.Kind == crashdisk.Rename && strings.HasSuffix(op.Name, ".manifest") {
		m.finishing = false
		return true
	}
	return false
}

// run plays an order: picks, then always the first. It returns how many goroutines were
// ready at each step, and whether the order could be played: which of two goroutines
// gets a released lock is the runtime's choice, and once in thousands of runs it
// differs from when the order was found.
func (m *model) run(
	t *testing.T, picks []int, each int, planted func(crashdisk.Op) crashdisk.Fault,
) (counts []int, strayed bool) {
	synctest.Test(t, func(t *testing.T) {
		on := crashdisk.New(1)
		f := &life{disk: on}
		log, err := aof.Open(aof.Options{FS: on.FS(), Policy: func() aof.Policy { return aof.Always }},
			&aof.Loaded{}, false, f.base(0))
		require.NoError(t, err)
		on.Hook(func(op crashdisk.Op) crashdisk.Fault {
			if m.stopsAt(op) {
				m.at(fmt.Sprint(op.Kind, " ", op.Name))
			}
			return planted(op)
		})
		var all sync.WaitGroup
		all.Go(func() { m.client(log, "client a", each) })
		all.Go(func() { m.client(log, "client b", 1) })
		all.Go(func() { m.rewriter(log, f) })
		for step := 0; ; step++ {
			synctest.Wait()
			if step >= len(picks)-1 { // before that, another order covered it
				m.cut(on, uint64(len(picks)+step))
			}
			pick := 0
			if step < len(picks) {
				pick = picks[step]
			}
			count, ok := m.choose(pick)
			if count == 0 {
				break
			}
			strayed = strayed || !ok
			counts = append(counts, count)
		}
		all.Wait()
		on.Hook(nil)
		_ = log.Close() // a planted fault may have broken it
	})
	return counts, strayed || len(counts) < len(picks)
}

// cut loads what a power cut now may leave.
func (m *model) cut(on *crashdisk.Disk, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	m.mu.Lock()
	defer m.mu.Unlock()
	for range 3 {
		left := on.PowerCut(rng)
		var r replay
		_, err := aof.Load(aof.Options{FS: left.FS()}, true, aof.Handler{Apply: r.apply})
		switch {
		case m.err != nil:
		case err != nil:
			m.err = err
		case r.part != 0 || r.groups < m.acked || r.groups > m.groups:
			m.err = fmt.Errorf("%d groups and %d parts are loaded, %d were acknowledged, %d appended",
				r.groups, r.part, m.acked, m.groups)
		}
		if m.err != nil {
			m.err = fmt.Errorf("%w\n%s", m.err, left)
			return
		}
	}
}

// orders tries all orders, or most if there are more than bound. It returns the number
// tried and the first fault.
func orders(
	t *testing.T, bound, each int, planted func(crashdisk.Op) crashdisk.Fault,
) (tried int, err error) {
	var picks []int
	for tried < bound {
		m := &model{}
		counts, strayed := m.run(t, picks, each, planted)
		tried++
		if m.err != nil {
			return tried, fmt.Errorf("order %v: %w", picks, m.err)
		}
		if strayed {
			continue // play it again
		}
		// The next order changes the last step that has an alternative.
		picks = append(picks, make([]int, len(counts)-len(picks))...)
		for len(picks) > 0 && picks[len(picks)-1]+1 >= counts[len(picks)-1] {
			picks = picks[:len(picks)-1]
		}
		if len(picks) == 0 {
			return tried, nil
		}
		picks[len(picks)-1]++
	}
	return tried, nil
}

// TestAllOrders tries all orders of a small model, and with -seeds many of a larger
// one.
func TestAllOrders(t *testing.T) {
	each, bound := 1, 1_000_000
	if *manySeeds > 0 {
		each, bound = 2, *manySeeds
	} else if testing.Short() || race.Enabled {
		bound = 60 // each takes ten times as long
	}
	tried, err := orders(t, bound, each, func(crashdisk.Op) crashdisk.Fault { return crashdisk.Fault{} })
	require.NoError(t, err)
	t.Logf("%d orders", tried)
}

// TestAllOrdersDetectFaults skips a sync: of any log file, and of the one that is
// switched from.
func TestAllOrdersDetectFaults(t *testing.T) {
	for _, name := range []string{".incr.aof", ".1.incr.aof"} {
		_, err := orders(t, 200, 1, func(op crashdisk.Op) crashdisk.Fault {
			return crashdisk.Fault{Lie: op.Kind == crashdisk.Sync && strings.HasSuffix(op.Name, name)}
		})
		require.Error(t, err, name)
	}
}
