package replication

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// A model is some nodes, of which one began as the master of the others, and what goes wrong.
type model struct {
	random  *rand.Rand
	off     int64 // a fault: by how much replicas are wrong about their offsets
	now     clock
	nodes   []*node
	counter int
	log     []string

	mu    sync.Mutex // protects the fields below
	conns []conn     // the replicas' ends
	wrong string     // a violation that a goroutine has seen
}

func newModel(seed uint64, size int, off int64) *model {
	m := &model{random: rand.New(rand.NewPCG(seed, 1)), off: off}
	m.now.advance(1000 * second)
	for i := range size {
		n := &node{keeper: newKeeper(), model: m, name: string(rune('A' + i))}
		n.keeper.stream.SetSize([]int64{100, 1 << 20}[m.random.IntN(2)])
		n.master = NewMaster(&n.keeper.stream, MasterOptions{
			Snapshot: n.snapshot, Activated: n.keeper.stream.Activate, Log: discard,
		})
		m.nodes = append(m.nodes, n)
	}
	for _, n := range m.nodes[1:] {
		n.follow(m.nodes[0])
	}
	return m
}

// tick lets time pass everywhere.
func (m *model) tick(us int64) {
	m.now.advance(us)
	for _, n := range m.nodes {
		n.master.Tick(m.now.now(), MasterSettings{PingUs: 10 * second, TimeoutUs: 60 * second})
		if n.link != nil {
			n.link.Tick()
		}
	}
}

// step does something at random.
func (m *model) step() {
	n := m.nodes[m.random.IntN(len(m.nodes))]
	switch k := m.random.IntN(100); {
	case k < 40:
		for n.link != nil {
			n = n.of
		}
		m.note("%s writes", n.name)
		n.write()
	case k < 55:
		if len(m.conns) > 0 {
			c := m.conns[len(m.conns)-1-m.random.IntN(min(3, len(m.conns)))]
			c.in.mu.Lock()
			c.in.left = m.random.IntN(200)
			m.note("a connection will be cut after %d bytes", c.in.left)
			c.in.mu.Unlock()
		}
	case k < 60:
		if n.link != nil {
			m.note("%s is promoted", n.name)
			n.promote()
		}
	case k < 67:
		to := m.nodes[m.random.IntN(len(m.nodes))]
		for x := to; x != nil; x = x.of {
			if x == n {
				return // it would be a circle
			}
		}
		m.note("%s becomes a replica of %s", n.name, to.name)
		n.follow(to)
	case k < 75:
		for n.link != nil {
			n = n.of
		}
		// An empty line is one byte: histories differ by no more.
		line := [][]byte{raw("REPLCONF GETACK *"), []byte("\n")}[m.random.IntN(2)]
		m.note("%s sends %q", n.name, line)
		n.keeper.stream.Tell(line)
	default:
		m.note("a second passes")
		m.tick(second)
	}
	synctest.Wait()
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

// check returns what is wrong now. Everything that was sent has arrived.
func (m *model) check() error {
	if m.wrong != "" {
		return errors.New(m.wrong)
	}
	for _, n := range m.nodes {
		if n.link == nil || !n.link.Up() || !n.of.sent() {
			continue
		}
		mine, theirs := n.keeper.get(), n.of.keeper.get()
		at, of := n.keeper.stream.Position(), n.of.keeper.stream.Position()
		switch {
		case mine != theirs:
			return fmt.Errorf("%s differs from %s:\n%q\n%q", n.name, n.of.name, mine, theirs)
		case at != of:
			return fmt.Errorf("%s is at %v, %s at %v", n.name, at, n.of.name, of)
		}
	}
	return nil
}

// settle cuts nothing more, waits until every link is up, and returns what is wrong then.
func (m *model) settle() error {
	for _, c := range m.conns {
		c.in.mu.Lock()
		c.in.left = -1
		c.in.mu.Unlock()
	}
	for range 20 {
		m.tick(second)
		synctest.Wait()
	}
	for _, n := range m.nodes {
		if n.link == nil {
			n.write()
		}
	}
	synctest.Wait()
	for _, n := range m.nodes {
		if n.link != nil && (!n.link.Up() || !n.of.sent()) {
			return fmt.Errorf("%s does not follow %s: %+v", n.name, n.of.name, n.link.Status())
		}
	}
	return m.check()
}

func (m *model) close() {
	for _, n := range m.nodes {
		n.unlink()
	}
	for _, c := range m.conns {
		_ = c.Close()
	}
	for _, n := range m.nodes {
		n.master.Close()
	}
}

// runModel runs a schedule, and returns what was done and what is wrong after it.
func runModel(t *testing.T, seed uint64, off int64) (log []string, loads, continued int, err error) {
	synctest.Test(t, func(*testing.T) {
		m := newModel(seed, 3, off)
		defer m.close()
		synctest.Wait()
		for range 40 {
			if m.step(); err == nil {
				err = m.check()
			}
			if err != nil {
				break
			}
		}
		if err == nil {
			m.note("all is repaired")
			err = m.settle()
		}
		log = m.log
		for _, n := range m.nodes {
			loads, continued = loads+n.keeper.loads, continued+n.keeper.continued
		}
	})
	return log, loads, continued, err
}

// Random schedules of a master and two replicas that are cut, promoted and turned into each other's
// replicas: whoever follows has its master's keys, nothing twice, nothing skipped.
func TestModel(t *testing.T) {
	schedules := 2000
	if testing.Short() || race.Enabled {
		schedules = 200
	}
	seed := rand.Uint64()
	loads, continued := 0, 0
	for i := range schedules {
		log, l, c, err := runModel(t, seed+uint64(i), 0)
		require.NoError(t, err, "seed %d:\n%s", seed+uint64(i), strings.Join(log, "\n"))
		loads, continued = loads+l, continued+c
	}
	t.Logf("seed %d: %d full and %d partial resynchronizations", seed, loads, continued)
	require.Greater(t, loads, schedules)
	require.Greater(t, continued, schedules/2)
}

// The model notices replicas that are wrong about their offsets by one.
func TestModelCanFail(t *testing.T) {
	for _, off := range []int64{-1, 1} {
		caught := 0
		for seed := range uint64(100) {
			if _, _, _, err := runModel(t, seed, off); err != nil {
				caught++
			}
		}
		require.Greater(t, caught, 20, "off by %d", off)
	}
}
