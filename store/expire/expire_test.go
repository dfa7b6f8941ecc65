package expire

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// A table is the owner of an Index: keys, represented by their hashes, with deadlines.
type table struct {
	x     Index
	dueMs map[uint32]int64 // of every key; Never: none
}

func newTable() *table { return &table{dueMs: map[uint32]int64{}} }

func (m *table) put(hash uint32) {
	if _, held := m.dueMs[hash]; !held {
		m.dueMs[hash] = Never
		m.resize()
	}
}

func (m *table) expire(hash uint32, dueMs int64) {
	m.put(hash)
	m.dueMs[hash] = dueMs
	if !m.x.Covers(hash, dueMs) {
		m.x.Add(hash, dueMs)
		m.resize()
	}
}

func (m *table) remove(hash uint32) {
	delete(m.dueMs, hash)
	m.resize()
}

func (m *table) resize() {
	for _, due := range m.dueMs {
		if due != Never {
			m.x.Resize(len(m.dueMs))
			return
		}
	}
	m.x.Resize(0)
}

// reclaim removes the keys that are due and returns how many it examined.
func (m *table) reclaim(t *testing.T, nowMs int64) (examined int) {
	t.Helper()
	var groups map[int][]uint32
	for {
		group, ok := m.x.Due(nowMs)
		if !ok {
			break
		}
		if groups == nil {
			groups = map[int][]uint32{}
			for hash := range m.dueMs {
				of := int(hash) % m.x.Groups()
				groups[of] = append(groups[of], hash)
			}
		}
		next := int64(Never)
		for _, hash := range groups[group] {
			examined++
			if due := m.dueMs[hash]; due <= nowMs {
				delete(m.dueMs, hash)
			} else {
				next = min(next, due)
			}
		}
		require.Greater(t, next, nowMs)
		m.x.SetBound(group, next)
	}
	m.resize()
	return examined
}

// check compares the index with the keys: no bound is later than a deadline, and groups have the right size.
func (m *table) check(t *testing.T) {
	t.Helper()
	require.NoError(t, m.x.check())
	with := 0
	for hash, due := range m.dueMs {
		if due == Never {
			continue
		}
		with++
		require.NotZero(t, m.x.Groups())
		require.LessOrEqual(t, m.x.groups[int(hash)%m.x.Groups()], due)
		require.True(t, m.x.Covers(hash, due))
	}
	if with == 0 {
		require.Zero(t, m.x.Groups())
		return
	}
	n := m.x.Groups()
	require.LessOrEqual(t, len(m.dueMs), maxKeys*n)
	require.True(t, n == 1 || len(m.dueMs) >= minKeys*n, "%d groups of %d keys", n, len(m.dueMs))
}

// run runs a program on the table: six bytes an operation.
func (m *table) run(t *testing.T, program []byte) {
	t.Helper()
	for ; len(program) >= 6; program = program[6:] {
		hash := uint32(binary.LittleEndian.Uint16(program[1:])) * 0x9e3779b1
		due := int64(int16(binary.LittleEndian.Uint16(program[3:])))
		switch due { // extreme deadlines
		case 1000:
			due = Never - 1
		case 1001:
			due = math.MinInt64
		}
		switch program[0] % 8 {
		default:
			m.expire(hash, due)
		case 3:
			m.put(hash)
		case 4: // PERSIST: the index does not change
			if _, held := m.dueMs[hash]; held {
				m.dueMs[hash] = Never
			}
			m.resize()
		case 5:
			m.remove(hash)
		case 6:
			for range 32 {
				hash += 0x9e3779b1
				m.expire(hash, due+int64(hash%64))
			}
		case 7:
			m.reclaim(t, due)
			for hash, left := range m.dueMs {
				require.Greater(t, left, due, "%d", hash)
			}
		}
		m.check(t)
	}
	m.reclaim(t, Never-1)
	m.check(t)
	require.Zero(t, m.x.Groups())
}

func TestModel(t *testing.T) {
	for _, items := range []uint32{3, 40, 2000} {
		for seed := range uint64(race.Fewer(4)) {
			t.Run(fmt.Sprintf("items %d seed %d", items, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(items)))
				var program []byte
				for range 400 {
					program = append(program, byte(rng.Uint32()))
					program = binary.LittleEndian.AppendUint16(program, uint16(rng.Uint32N(items)))
					program = binary.LittleEndian.AppendUint16(program, uint16(rng.Uint32()>>rng.Uint32N(16)))
					program = append(program, 0)
				}
				newTable().run(t, program)
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 0, 0, 6, 2, 0, 8, 0, 0, 4, 1, 0, 7, 0, 0, 7, 0, 0, 8, 0, 0, 5, 2, 0, 0, 0, 0})
	f.Add([]byte{0, 1, 0, 232, 3, 0, 6, 2, 0, 233, 3, 0, 7, 0, 0, 233, 3, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		newTable().run(t, program[:min(len(program), 6*300)])
	})
}

// A limiter extends its key on every hit without changing the index. The key is examined once a window.
func TestExtendingDoesNotChangeIndex(t *testing.T) {
	m := newTable()
	const windowMs = 60_000
	examined := 0
	for nowMs := int64(1_000_000); nowMs < 1_000_000+100*windowMs; nowMs += 10 {
		m.expire(7, nowMs+windowMs)
		examined += m.reclaim(t, nowMs)
	}
	require.Equal(t, 99, examined)
}

// Busy keys, extended at every moment of a window, are examined a few times in it: for their own deadlines
// and for those of their group.
func TestExaminationsOfBusyKeys(t *testing.T) {
	const keys, windowMs, tickMs, windows = 2048, 60_000, 100, 4
	m := newTable()
	rng := rand.New(rand.NewPCG(1, 2))
	hashes := make([]uint32, keys)
	for i := range hashes {
		hashes[i] = rng.Uint32()
	}
	examined := 0
	for nowMs := int64(0); nowMs < (windows+1)*windowMs; nowMs += tickMs {
		for i := nowMs / tickMs % 8; i < keys; i += 8 { // each key once in 800 ms
			m.expire(hashes[i], nowMs+windowMs)
		}
		if n := m.reclaim(t, nowMs); nowMs >= windowMs {
			examined += n
		}
	}
	perWindow := float64(examined) / keys / windows
	require.Less(t, perWindow, 4.0, "keys extended together stay together")
	require.Len(t, m.dueMs, len(hashes))

	// The worst case: each key is extended once a window, at its own moment.
	m = newTable()
	examined = 0
	for nowMs := int64(0); nowMs < (windows+1)*windowMs; nowMs += tickMs {
		for i := range hashes {
			if int64(i)*windowMs/keys/tickMs == nowMs%windowMs/tickMs {
				m.expire(hashes[i], nowMs+windowMs+tickMs)
			}
		}
		if n := m.reclaim(t, nowMs); nowMs >= windowMs {
			examined += n
		}
	}
	require.Less(t, float64(examined)/keys/windows, 2*float64(maxKeys))
}

// Keys that are due at the same time are found group by group, each examined once.
func TestBurstOfEqualDeadlines(t *testing.T) {
	const keys = 1 << 20
	var x Index
	for hash := range uint32(keys) {
		if x.Resize(int(hash)); !x.Covers(hash, 5000) {
			x.Add(hash, 5000)
		}
	}
	_, ok := x.Due(4999)
	require.False(t, ok)
	groups := 0
	for {
		group, ok := x.Due(5000)
		if !ok {
			break
		}
		require.Equal(t, groups, group, "in order")
		x.SetBound(group, Never)
		groups++
	}
	require.Equal(t, x.Groups(), groups)
	require.GreaterOrEqual(t, groups, keys/maxKeys)
	require.LessOrEqual(t, groups, keys/minKeys)
}

// A deadline that is added behind the position of Due is found in the same pass.
func TestAddBehindDue(t *testing.T) {
	var x Index
	x.Add(0, 100)
	x.Resize(maxKeys * 4 * runLen)
	x.Resize(maxKeys * 4 * runLen)
	for hash := range uint32(4 * runLen) {
		x.Add(hash, 10)
	}
	for range 2 * runLen {
		group, _ := x.Due(10)
		x.SetBound(group, 1000)
	}
	x.Add(3, 5)
	seen := map[int]int{}
	for {
		group, ok := x.Due(10)
		if !ok {
			break
		}
		seen[group]++
		x.SetBound(group, 1000)
	}
	require.Len(t, seen, 2*runLen+1)
	require.Equal(t, 1, seen[3])
	require.NoError(t, x.check())
}

// check must detect each of these faults.
func TestCheckDetectsFaults(t *testing.T) {
	build := func() *Index {
		var x Index
		x.Add(0, 10)
		x.Resize(100 * runLen)
		return &x
	}
	require.NoError(t, build().check())
	for name, corrupt := range map[string]func(*Index){
		"a run too late":    func(x *Index) { x.groups[3] = 5 },
		"all too late":      func(x *Index) { x.runs[0], x.groups[0] = 5, 5 },
		"a lost run":        func(x *Index) { x.runs = x.runs[:1] },
		"a lost group":      func(x *Index) { x.groups = x.groups[:9] },
		"next out of range": func(x *Index) { x.next = 1 << 20 },
	} {
		t.Run(name, func(t *testing.T) {
			x := build()
			corrupt(x)
			require.Error(t, x.check())
		})
	}
}

func TestAllocationCeilings(t *testing.T) {
	var x Index
	x.Add(0, 1<<40)
	x.Resize(5000)
	hash, due := uint32(0), int64(1<<30)
	for name, run := range map[string]func(){
		"Add later":   func() { hash++; x.Add(hash, due+int64(hash)) },
		"Add earlier": func() { hash++; due--; x.Add(hash, due) },
		"Covers":      func() { hash++; x.Covers(hash, due) },
		"Resize":      func() { x.Resize(5001) },
		"Due and SetBound": func() {
			if group, ok := x.Due(due); ok {
				x.SetBound(group, 1<<40)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(500, run))
		})
	}
}
