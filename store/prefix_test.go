package store_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// limitPrefixes sets limits and walks to the end.
func limitPrefixes(s *store.Store, limits ...store.PrefixLimit) {
	s.SetPrefixLimits(limits)
	walkPrefixes(s)
}

func walkPrefixes(s *store.Store) {
	var w store.PrefixWalk
	for {
		shard, more := w.Next(s)
		if !more {
			return
		}
		s.Lock(1 << shard)
		w.Step(s)
		s.Unlock(1 << shard)
	}
}

func prefixKeys(s *store.Store) map[string]int64 {
	out := make(map[string]int64)
	for _, f := range s.PrefixFigures() {
		out[f.Prefix] = f.Keys
	}
	return out
}

func TestReserveCountsOnceAndStopsAtTheLimit(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	put(db, "t1:old", "v")
	limitPrefixes(s, store.PrefixLimit{Prefix: "t1:", Max: 3}, store.PrefixLimit{Prefix: "t1:a:", Max: 1},
		store.PrefixLimit{Prefix: "u", Max: 0})
	create := func(key string) string {
		if full := db.Reserve([]byte(key)); full != nil {
			return full.Name()
		}
		put(db, key, "v")
		return "created"
	}
	require.Equal(t, "created", create("t1:a:1"))
	require.Equal(t, "t1:a:", create("t1:a:2"), "the longest full prefix is named")
	require.Equal(t, "u", create("u"))
	require.Equal(t, "created", create("t1:b"))
	require.Equal(t, "t1:", create("t1:c"))
	require.Equal(t, "created", create("t1"), "not under the prefix")
	require.Equal(t, map[string]int64{"t1:": 3, "t1:a:": 1, "u": 0}, prefixKeys(s))

	require.Nil(t, db.Reserve([]byte("v")))
	db.Release([]byte("v"))
	db.Delete(db.Find([]byte("t1:b"), nowMs))
	require.Nil(t, db.Reserve([]byte("t1:c")))
	require.EqualValues(t, 3, prefixKeys(s)["t1:"])
	db.Release([]byte("t1:c"))
	require.Equal(t, map[string]int64{"t1:": 2, "t1:a:": 1, "u": 0}, prefixKeys(s))

	put(db, "t1:plain", "v")
	put(db, "t1:plain2", "v")
	require.EqualValues(t, 4, prefixKeys(s)["t1:"], "others create more, and are counted")
	require.Equal(t, "t1:", create("t1:c"))
	db.Delete(db.Find([]byte("t1:a:1"), nowMs))
	require.Equal(t, "t1:", create("t1:a:2"))
	require.EqualValues(t, 0, prefixKeys(s)["t1:a:"], "the place under the longer prefix is given back")
}

// A prefixModel changes a store at random and knows what its prefixes must count. Faults of a store are shown
// by step's error.
type prefixModel struct {
	*store.Store
	rnd    *rand.Rand
	walk   store.PrefixWalk
	limits map[string]int64
	nowMs  int64
}

var modelPrefixes = []string{
	"a", "ab", "aba", "abb", "b", "ba", "bab", "c\x00", "c\x00 ", "\xff", "aaaaaaaa",
}

func (m *prefixModel) key() []byte {
	key := modelPrefixes[m.rnd.IntN(len(modelPrefixes))]
	for range m.rnd.IntN(8) {
		key += string("abc"[m.rnd.IntN(3)])
	}
	return []byte(key)
}

func (m *prefixModel) pick() *store.DB { return m.DB(m.rnd.IntN(3)) }

func (m *prefixModel) change() {
	db, key := m.pick(), m.key()
	n := db.Find(key, m.nowMs)
	switch m.rnd.IntN(40) {
	case 0:
		m.setLimits()
	case 1:
		db.Flush()
	case 2:
		m.Swap(m.rnd.IntN(3), m.rnd.IntN(3), 0)
	case 3, 4:
		m.nowMs += m.rnd.Int64N(100)
		m.Reclaim(store.ShardSet(m.rnd.Uint64()), m.nowMs, 64)
	case 5, 6, 7:
		if n != nil {
			db.MoveTo(n, m.pick(), m.key())
		}
	case 8, 9, 10, 11:
		if n != nil {
			db.Delete(n)
		}
	case 12, 13, 14:
		if n == nil && db.Reserve(key) == nil {
			db.Release(key)
		}
	case 15, 16, 17, 18, 19, 20:
		if n == nil && db.Reserve(key) == nil {
			put(db, string(key), "v")
		}
	default:
		n = put(db, string(key), "v")
		if m.rnd.IntN(2) == 0 {
			db.ExpireAt(n, m.nowMs+m.rnd.Int64N(1000))
		}
	}
}

func (m *prefixModel) setLimits() {
	next := make(map[string]int64)
	for _, p := range modelPrefixes {
		switch limit, kept := m.limits[p]; {
		case kept && m.rnd.IntN(3) > 0:
			next[p] = limit
		case m.rnd.IntN(3) == 0:
			next[p] = m.rnd.Int64N(400)
		}
	}
	m.limits = next
	var limits []store.PrefixLimit
	for _, p := range slices.Sorted(maps.Keys(next)) {
		limits = append(limits, store.PrefixLimit{Prefix: p, Max: next[p]})
	}
	m.rnd.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
	m.SetPrefixLimits(limits)
}

// check compares the counts with the keys. Before the walk has ended, a count may be too low.
func (m *prefixModel) check() error {
	for _, f := range m.PrefixFigures() {
		keys := m.RecountPrefix(f.Prefix)
		if f.Keys > keys || f.Keys < 0 || m.PrefixesCounted() && f.Keys != keys {
			return fmt.Errorf("%q counts %d of %d keys, all counted: %v", f.Prefix, f.Keys, keys,
				m.PrefixesCounted())
		}
	}
	return nil
}

func (m *prefixModel) run(steps int) error {
	for i := range steps {
		m.change()
		if _, more := m.walk.Next(m.Store); more && m.rnd.IntN(3) > 0 {
			m.walk.Step(m.Store)
		}
		if i%16 == 0 {
			if err := m.check(); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
	}
	for _, more := m.walk.Next(m.Store); more; _, more = m.walk.Next(m.Store) {
		m.walk.Step(m.Store)
	}
	return m.check()
}

func newPrefixModel(seed uint64) *prefixModel {
	m := &prefixModel{Store: store.New(), rnd: rand.New(rand.NewPCG(seed, 35)), nowMs: nowMs}
	m.Lock(store.AllShards) // the model holds every shard throughout
	return m
}

// TestPrefixCountsFollowEveryChange changes keys and limits at random while walks are under way.
func TestPrefixCountsFollowEveryChange(t *testing.T) {
	race.OneGoroutine(t)
	for range 6 {
		seed := rand.Uint64()
		m := newPrefixModel(seed)
		for range 12_000 {
			put(m.pick(), string(m.key()), "v")
		}
		require.NoError(t, m.run(6000), "seed %d", seed)
		require.NotEmpty(t, m.limits)
	}
}

// TestPrefixModelSeesAMistake shows that check fails if a key is counted twice or not at all.
func TestPrefixModelSeesAMistake(t *testing.T) {
	m := newPrefixModel(1)
	m.SetPrefixLimits([]store.PrefixLimit{{Prefix: "a", Max: 9}})
	require.NoError(t, m.run(0))
	require.Nil(t, m.DB(0).Reserve([]byte("a")))
	require.ErrorContains(t, m.check(), `"a" counts 1 of 0 keys`)
	other := "b"
	for store.ShardOf([]byte(other)) != store.ShardOf([]byte("a")) {
		other += "b"
	}
	put(m.DB(0), other, "v") // uses the place of "a"
	put(m.DB(0), "a", "v")
	require.ErrorContains(t, m.check(), `"a" counts 2 of 1 keys, all counted: true`)

	m = newPrefixModel(1)
	m.SetPrefixLimits([]store.PrefixLimit{{Prefix: "a", Max: 9}})
	put(m.DB(0), "a", "v")
	require.NoError(t, m.check(), "too low, but the walk has not ended")
	require.NoError(t, m.run(0))
	require.Nil(t, m.DB(0).Reserve([]byte("aa")))
	m.DB(0).Release([]byte("aa"))
	require.NoError(t, m.check())
}

// TestPrefixWalkIsStepwise tests that a step examines few keys, and what holds before the walk has ended.
func TestPrefixWalkIsStepwise(t *testing.T) {
	s := store.New()
	db := s.DB(0)
	const keys = 50_000
	for i := range keys {
		put(db, fmt.Sprint("t:", i), "v")
	}
	s.SetPrefixLimits([]store.PrefixLimit{{Prefix: "t:", Max: keys / 2}})
	require.False(t, s.PrefixesCounted())
	var w store.PrefixWalk
	most, refusedAt := 0, int64(-1)
	for {
		shard, more := w.Next(s)
		if !more {
			break
		}
		s.Lock(1 << shard)
		most = max(most, w.Step(s))
		s.Unlock(1 << shard)
		if refusedAt < 0 {
			if full := db.Reserve([]byte("t:0")); full != nil {
				refusedAt = prefixKeys(s)["t:"]
			} else {
				db.Release([]byte("t:0"))
			}
		}
	}
	require.Less(t, most, 4*64)
	require.True(t, s.PrefixesCounted())
	require.EqualValues(t, keys, prefixKeys(s)["t:"])
	require.GreaterOrEqual(t, refusedAt, int64(keys/2), "as soon as that many keys are counted")
	require.Less(t, refusedAt, int64(keys*3/5))

	s.SetPrefixLimits([]store.PrefixLimit{{Prefix: "t:", Max: keys + 1}})
	require.Nil(t, db.Reserve([]byte("t:new")), "the count is kept and the new limit holds at once")
	require.NotNil(t, db.Reserve([]byte("t:new2")))
	db.Release([]byte("t:new"))
	s.SetPrefixLimits([]store.PrefixLimit{{Prefix: "t:", Max: 1}})
	require.NotNil(t, db.Reserve([]byte("t:new")))
	s.SetPrefixLimits(nil)
	require.Nil(t, db.Reserve([]byte("t:new")), "refuses nothing from now on")
	db.Release([]byte("t:new"))
	walkPrefixes(s)
	require.Nil(t, s.PrefixFigures())
}

// TestManyPrefixesAreFound compares the table with a loop over all prefixes.
func TestManyPrefixesAreFound(t *testing.T) {
	s := store.New()
	var limits []store.PrefixLimit
	seen := make(map[string]bool)
	word := func() string {
		b := make([]byte, rand.IntN(7))
		for i := range b {
			b[i] = "\x00ab\xff"[rand.IntN(4)]
		}
		return string(b)
	}
	for range 400 {
		if p := word(); p != "" && !seen[p] {
			seen[p] = true
			limits = append(limits, store.PrefixLimit{Prefix: p, Max: 1 << 40})
		}
	}
	limitPrefixes(s, limits...)
	want := make(map[string]int64)
	for p := range seen {
		want[p] = 0
	}
	created := make(map[string]bool)
	for range 2000 {
		key := word() + word()
		put(s.DB(0), key, "v")
		if created[key] {
			continue
		}
		created[key] = true
		for p := range seen {
			if strings.HasPrefix(key, p) {
				want[p]++
			}
		}
	}
	require.Equal(t, want, prefixKeys(s))
}

func TestPrefixesCostNothingWhenOff(t *testing.T) {
	s := store.New()
	db, key := s.DB(0), []byte("t:1")
	data := store.NewInt(1)
	cycle := func() {
		if db.Reserve(key) == nil {
			db.Put(key, data)
			db.Delete(db.Find(key, nowMs))
		}
	}
	off := testing.AllocsPerRun(100, cycle)
	limitPrefixes(s, store.PrefixLimit{Prefix: "t:", Max: 5})
	require.Equal(t, off, testing.AllocsPerRun(100, cycle), "nor does a limit allocate")
	require.Zero(t, prefixKeys(s)["t:"])
}

var prefixFigureKeys = flag.Int("prefix-keys", 20_000, "keys of TestPrefixFigures")

// TestPrefixFigures measures the walk of docs/adr/0035, and that a limit takes no memory of a key.
func TestPrefixFigures(t *testing.T) {
	s := store.New()
	for i := range *prefixFigureKeys {
		put(s.DB(0), fmt.Sprintf("t:%012d", i), "v")
	}
	used := s.Memory()
	s.SetPrefixLimits([]store.PrefixLimit{{Prefix: "t:", Max: 1}})
	var w store.PrefixWalk
	steps, most := 0, 0
	for _, more := w.Next(s); more; _, more = w.Next(s) {
		steps++
		most = max(most, w.Step(s))
	}
	t.Logf("%d keys: %d steps, at most %d keys in one", *prefixFigureKeys, steps, most)
	require.Less(t, most, 4*64)
	require.Equal(t, used, s.Memory())
	require.EqualValues(t, *prefixFigureKeys, prefixKeys(s)["t:"])
}
