package expire

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

type entry struct {
	id     int
	h      Handle
	diesMs int64 // the entry's own deadline, the truth
}

func newIndex() *Index[*entry] {
	return New(func(e *entry) *Handle { return &e.h })
}

// model drives an Index and a plain map of bounds alike. Five bytes of the
// program are one operation: what, on which of 4,096 items, with which deadline.
type model struct {
	x     *Index[*entry]
	items [4096]*entry
	bound map[*entry]int64
}

func newModel() *model {
	m := &model{x: newIndex(), bound: map[*entry]int64{}}
	for i := range m.items {
		m.items[i] = &entry{id: i}
	}
	return m
}

func (m *model) run(t *testing.T, program []byte) {
	t.Helper()
	for ; len(program) >= 5; program = program[5:] {
		e := m.items[binary.LittleEndian.Uint16(program[1:])%uint16(len(m.items))]
		m.step(t, program[0], e, int64(int16(binary.LittleEndian.Uint16(program[3:]))))
	}
	require.NoError(t, m.x.check())
	for len(m.bound) > 0 {
		m.pop(t, math.MaxInt64)
	}
	require.NoError(t, m.x.check())
}

func (m *model) step(t *testing.T, op byte, e *entry, dueMs int64) {
	t.Helper()
	switch dueMs { // the ends of the range too
	case 1000:
		dueMs = math.MaxInt64
	case 1001:
		dueMs = math.MinInt64
	}
	old, filed := m.bound[e]
	require.Equal(t, filed, e.h.Filed())
	if e.h.Covers(dueMs) {
		require.True(t, filed && old <= dueMs, "%d %d", old, dueMs)
	} else if filed && old < 1<<40 && dueMs > 0 { // it knows but for the last second
		require.Greater(t, old, dueMs-1<<boundBits)
	}
	switch op % 8 {
	default:
		m.x.File(e, dueMs)
		if !filed || dueMs < old {
			m.bound[e] = dueMs
		}
	case 4:
		m.x.Refile(e, dueMs)
		m.bound[e] = dueMs
	case 5, 6:
		m.x.Remove(e)
		delete(m.bound, e)
	case 7:
		m.pop(t, dueMs)
	}
	require.Equal(t, len(m.bound), m.x.Len())
}

// pop asks what is due, compares with the least bound, and removes it.
func (m *model) pop(t *testing.T, nowMs int64) {
	t.Helper()
	least := int64(math.MaxInt64)
	for _, due := range m.bound {
		least = min(least, due)
	}
	next, ok := m.x.Next()
	require.Equal(t, len(m.bound) > 0, ok)
	if ok {
		require.Equal(t, least, next)
	}
	e, ok := m.x.Due(nowMs)
	require.Equal(t, len(m.bound) > 0 && least <= nowMs, ok)
	if ok {
		require.Equal(t, least, m.bound[e])
		m.x.Remove(e)
		delete(m.bound, e)
	}
}

func TestModel(t *testing.T) {
	for _, items := range []uint32{3, 40, 4096} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("items %d seed %d", items, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(items)))
				program := make([]byte, 0, 5*6000)
				for range 6000 {
					program = append(program, byte(rng.Uint32()))
					program = binary.LittleEndian.AppendUint16(program, uint16(rng.Uint32N(items)))
					program = binary.LittleEndian.AppendUint16(program, uint16(rng.Uint32()>>rng.Uint32N(16)))
				}
				newModel().run(t, program)
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 1, 0, 9, 0, 0, 2, 0, 8, 0, 4, 1, 0, 7, 0, 7, 0, 0, 8, 0, 5, 2, 0, 0, 0})
	f.Add([]byte{0, 1, 0, 232, 3, 0, 2, 0, 233, 3, 7, 0, 0, 233, 3})
	f.Fuzz(func(t *testing.T, program []byte) {
		newModel().run(t, program[:min(len(program), 5*2000)])
	})
}

// Items come and go at every size, over the borders of chunks.
func TestGrowAndShrink(t *testing.T) {
	x := newIndex()
	require.NoError(t, x.check())
	const top = 3*chunkLen + 77
	rng := rand.New(rand.NewPCG(1, 2))
	items := make([]*entry, top)
	for i := range items {
		items[i] = &entry{id: i}
		x.File(items[i], rng.Int64N(1000)+1)
		if i < 70 || i%50 == 0 || i&chunkMask < 2 {
			require.NoError(t, x.check())
		}
	}
	for i, e := range items {
		x.Remove(e)
		x.Remove(e) // a second time is nothing
		require.False(t, e.h.Filed())
		if left := top - i - 1; left < 70 || left%50 == 0 {
			require.NoError(t, x.check())
		}
	}
	require.Nil(t, x.chunks)
}

// The limiter's life: every hit extends, the index is touched once a window.
func TestExtendingDoesNotTouchTheIndex(t *testing.T) {
	x := newIndex()
	e := &entry{}
	const windowMs = 60_000
	refiled := 0
	for nowMs := int64(1_000_000); nowMs < 1_000_000+100*windowMs; nowMs += 10 {
		e.diesMs = nowMs + windowMs
		x.File(e, e.diesMs)
		if due, ok := x.Due(nowMs); ok {
			require.Same(t, e, due)
			x.Refile(e, e.diesMs)
			refiled++
		}
	}
	require.Equal(t, 99, refiled)
}

// A million keys with one deadline: each slice of a thousand costs the same,
// counted in handles written, and nothing is left.
func TestBurstOfEqualDeadlines(t *testing.T) {
	const items = 1_000_000
	moves := 0
	x := New(func(e *entry) *Handle { moves++; return &e.h })
	entries := make([]entry, items)
	for i := range entries {
		x.File(&entries[i], 5000)
	}
	require.LessOrEqual(t, moves, 2*items)
	_, ok := x.Due(4999)
	require.False(t, ok)
	reclaimed := 0
	for x.Len() > 0 {
		moves = 0
		for range 1000 {
			e, ok := x.Due(5000)
			require.True(t, ok)
			x.Remove(e)
			reclaimed++
		}
		require.LessOrEqual(t, moves, 2*1000, "after %d", reclaimed)
	}
	require.Equal(t, items, reclaimed)
	require.Nil(t, x.chunks)
}

// A Handle is part of every key, and rounds its bound so as never to let a
// deadline pass that is earlier.
func TestHandle(t *testing.T) {
	require.EqualValues(t, 8, unsafe.Sizeof(Handle{}))
	edges := []int64{math.MinInt64, -1 << 40, -1025, -1, 0, 1, 1023, 1024, 1025, 1_700_000_000_123, (distant-1)<<boundBits - 1, (distant - 1) << boundBits, (distant-1)<<boundBits + 1, distant << boundBits, 1 << 60, math.MaxInt64}
	for _, bound := range edges {
		x, e := newIndex(), &entry{}
		require.False(t, e.h.Covers(math.MaxInt64), "not filed")
		x.File(e, bound)
		for _, due := range append(edges, bound+1) {
			if e.h.Covers(due) {
				require.LessOrEqual(t, bound, due)
			}
		}
		if bound > 0 && bound < (distant-1)<<boundBits {
			require.True(t, e.h.Covers(bound+1023), "%d", bound)
		}
		x.File(e, bound) // exactly as filed
		next, _ := x.Next()
		require.Equal(t, bound, next)
		if bound > math.MinInt64 {
			x.File(e, bound-1)
			next, _ = x.Next()
			require.Equal(t, bound-1, next, "earlier by a millisecond is filed anew")
		}
	}
}

func TestReset(t *testing.T) {
	x := newIndex()
	for i := range 5000 {
		x.File(&entry{}, int64(i))
	}
	x.Reset()
	require.Zero(t, x.Len())
	_, ok := x.Due(math.MaxInt64)
	require.False(t, ok)
	_, ok = x.Next()
	require.False(t, ok)
	e := &entry{}
	x.Remove(e)
	x.File(e, 1)
	require.NoError(t, x.check())
}

// check is the oracle of the tests above: it must see what it claims to see.
func TestCheckFindsFaults(t *testing.T) {
	build := func() *Index[*entry] {
		x := newIndex()
		for i := range 3000 {
			x.File(&entry{}, int64(i)+1)
		}
		return x
	}
	require.NoError(t, build().check())
	for name, plant := range map[string]func(*Index[*entry]){
		"out of order":      func(x *Index[*entry]) { s := x.at(0); s.dueMs = 9999; s.item.h.bound = boundOf(9999) },
		"handle of another": func(x *Index[*entry]) { x.at(7).item.h.place = 3 },
		"a stale bound":     func(x *Index[*entry]) { x.at(7).item.h.bound-- },
		"a lost slot":       func(x *Index[*entry]) { x.n-- },
		"memory kept": func(x *Index[*entry]) {
			x.chunks = append(x.chunks, make([]slot[*entry], chunkLen), make([]slot[*entry], chunkLen))
		},
		"a chunk cut short": func(x *Index[*entry]) { x.chunks[1] = x.chunks[1][:9] },
		"too little room":   func(x *Index[*entry]) { x.chunks = x.chunks[:2] },
	} {
		t.Run(name, func(t *testing.T) {
			x := build()
			plant(x)
			require.Error(t, x.check())
		})
	}
}

func TestAllocationCeilings(t *testing.T) {
	x := newIndex()
	items := make([]*entry, 5000)
	for i := range items {
		items[i] = &entry{}
		x.File(items[i], int64(i))
	}
	i, due := 0, int64(5000)
	for name, run := range map[string]func(){
		"File that holds": func() { i++; x.File(items[i%5000], due) },
		"Refile":          func() { i++; due++; x.Refile(items[i%5000], due) },
		"Remove and File": func() { i++; e := items[i%5000]; x.Remove(e); x.File(e, due) },
		"Due and Next":    func() { x.Due(due); x.Next() },
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, testing.AllocsPerRun(500, run))
		})
	}
}
