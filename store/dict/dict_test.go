package dict

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// model runs the same operations on a Dict and a Go map. A byte of the program is an operation on a key
// chosen by the next two bytes. Hashes are masked, so that a small mask makes long chains.
type model struct {
	d    Dict[int]
	want map[string]int
	ptr  map[string]*Node[int]
	mask uint32
}

func newModel(hashMask uint32) *model {
	return &model{want: map[string]int{}, ptr: map[string]*Node[int]{}, mask: hashMask}
}

func (m *model) hash(key []byte) uint32 { return Hash(key) & m.mask }

func (m *model) run(t *testing.T, program []byte) {
	t.Helper()
	for step := 0; len(program) >= 3; step++ {
		op, k1, k2 := program[0], program[1], program[2]
		program = program[3:]
		key := fmt.Appendf(nil, "k%d", int(k1)<<8&0x700|int(k2))
		m.step(t, step, op, key, fmt.Appendf(nil, "k%d", int(k2)))
	}
	require.NoError(t, m.d.check())
	got := map[string]int{}
	for n := range m.d.All() {
		require.Same(t, m.ptr[n.Key()], n, "the address of %s moved", n.Key())
		got[n.Key()] = n.Value
	}
	require.Equal(t, m.want, got)
}

func (m *model) step(t *testing.T, step int, op byte, key, other []byte) {
	t.Helper()
	d, h := &m.d, m.hash(key)
	_, has := m.want[string(key)]
	switch op % 16 {
	default: // put; half of the time with a string
		put := d.Put
		if step&1 == 0 {
			put = func(hash uint32, key []byte) (*Node[int], bool) { return d.PutString(hash, string(key)) }
		}
		n, created := put(h, key)
		require.Equal(t, !has, created)
		require.Equal(t, string(key), n.Key())
		require.Equal(t, h, n.Hash())
		n.Value = step
		m.want[string(key)], m.ptr[string(key)] = step, n
	case 8, 9, 10, 11: // delete
		n := d.Delete(h, key)
		require.Equal(t, has, n != nil)
		m.forget(key)
	case 12: // unlink by node; a second time fails
		if n := d.Get(h, key); n != nil {
			require.True(t, d.Unlink(n))
			require.False(t, d.Unlink(n))
			m.forget(key)
		}
	case 13: // rename key to other
		n := d.Delete(h, key)
		if n == nil {
			return
		}
		value := n.Value
		n = n.Renamed(m.hash(other), other)
		m.forget(key)
		_, had := m.want[string(other)]
		replaced := d.Insert(n)
		require.Equal(t, had, replaced != nil)
		require.NotSame(t, n, replaced)
		m.want[string(other)], m.ptr[string(other)] = value, n
	case 14: // delete about half of the nodes in All or Scan
		visit := func(n *Node[int]) {
			if n.Value&1 == 0 {
				m.forget([]byte(n.Key()))
				require.NotNil(t, d.Delete(n.Hash(), []byte(n.Key())))
			}
		}
		if step&1 == 0 {
			for n := range d.All() {
				visit(n)
			}
			return
		}
		for c := d.Scan(0, visit); c != 0; c = d.Scan(c, visit) {
		}
	case 15:
		if step%50 == 0 {
			d.Clear()
			clear(m.want)
			clear(m.ptr)
		}
	}
	require.Equal(t, len(m.want), d.Len())
	got := d.Get(m.hash(key), key)
	require.Same(t, got, d.GetString(m.hash(key), string(key)))
	if same := d.GetHash(m.hash(key)); got != nil {
		require.Equal(t, m.hash(key), same.Hash())
	}
	if value, ok := m.want[string(key)]; ok {
		require.NotNil(t, got)
		require.Equal(t, value, got.Value)
	} else {
		require.Nil(t, got)
	}
}

func (m *model) forget(key []byte) {
	delete(m.want, string(key))
	delete(m.ptr, string(key))
}

func TestModel(t *testing.T) {
	for _, hashMask := range []uint32{1<<32 - 1, 0xff, 7, 0} {
		for seed := range uint64(race.Fewer(6)) {
			t.Run(fmt.Sprintf("hash mask %#x seed %d", hashMask, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, uint64(hashMask)))
				program := make([]byte, 3*4000)
				for i := range program {
					program[i] = byte(rng.Uint32())
				}
				newModel(hashMask).run(t, program)
			})
		}
	}
}

func FuzzModel(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 1, 0, 0, 2, 8, 0, 1, 13, 0, 2, 14, 0, 0, 15, 0, 0})
	f.Add(uint8(61), []byte{0, 1, 1, 0, 2, 1, 0, 3, 1, 0, 4, 1, 0, 5, 1, 12, 3, 1, 14, 0, 0})
	f.Fuzz(func(t *testing.T, shift uint8, program []byte) {
		newModel((1<<32-1)>>(shift&31)).run(t, program)
	})
}

// Every size on the way up and down keeps the invariants, across levels and segments.
func TestGrowAndShrink(t *testing.T) {
	var d Dict[int]
	require.NoError(t, d.check())
	const top = 2*segLen + 300
	key := func(i int) []byte { return fmt.Appendf(nil, "key:%d", i) }
	for i := range top {
		before := d.n
		d.Put(Hash(key(i)), key(i))
		if i > 0 {
			require.LessOrEqual(t, d.n-before, uint64(1), "one split at most")
		}
		if i < 70 || i%97 == 0 || i&segMask < 2 {
			require.NoError(t, d.check())
		}
	}
	for i := range top {
		before := d.n
		require.NotNil(t, d.Delete(Hash(key(i)), key(i)))
		require.LessOrEqual(t, before-d.n, uint64(2), "two merges at most")
		if left := d.Len(); left < 70 || left%97 == 0 || left&(segMask>>1) < 2 {
			require.NoError(t, d.check())
		}
	}
	require.Equal(t, uint64(minBuckets), d.n)
	require.Len(t, d.segs[0], minBuckets)
}

// Deletions inside All are followed by one resize at the end of the loop.
func TestAllDeletingEverything(t *testing.T) {
	var d Dict[int]
	for i := range 5000 {
		d.Put(HashString(fmt.Sprint(i)), fmt.Append(nil, i))
	}
	for n := range d.All() {
		require.True(t, d.Unlink(n))
	}
	require.Zero(t, d.Len())
	require.NoError(t, d.check())
	for range d.All() {
		require.Fail(t, "the table is empty")
	}
}

func TestAllStopsEarlyAndAfterClear(t *testing.T) {
	var d Dict[int]
	for i := range 100 {
		d.Put(HashString(fmt.Sprint(i)), fmt.Append(nil, i))
	}
	seen := 0
	for range d.All() {
		if seen++; seen == 10 {
			break
		}
	}
	require.Equal(t, 10, seen)
	require.NoError(t, d.check())
	for n := range d.All() {
		_ = n
		d.Clear()
		break
	}
	require.NoError(t, d.check())
}

// check must detect each of these faults.
func TestCheckDetectsFaults(t *testing.T) {
	build := func() *Dict[int] {
		d := &Dict[int]{}
		for i := range 3000 {
			d.Put(HashString(fmt.Sprint(i)), fmt.Append(nil, i))
		}
		return d
	}
	require.NoError(t, build().check())
	faults := map[string]func(*Dict[int]){
		"a wrong count":    func(d *Dict[int]) { d.count-- },
		"wrong bytes":      func(d *Dict[int]) { d.nodes += 8 },
		"a lost node":      func(d *Dict[int]) { n := d.Random(rand.Uint64N); *d.bucket(n.hash) = nil },
		"a misplaced node": func(d *Dict[int]) { d.Random(rand.Uint64N).hash ^= 1 },
		"a wrong mask":     func(d *Dict[int]) { d.mask = d.mask<<1 | 1 },
		"a missing bucket": func(d *Dict[int]) { d.n-- },
		"a duplicate key": func(d *Dict[int]) {
			n := d.Random(rand.Uint64N)
			d.link(newNode[int](n.hash, n.Key()))
		},
		"an unended pause": func(d *Dict[int]) { d.paused++ },
		"extra segments": func(d *Dict[int]) {
			d.segs = append(d.segs, make([]*Node[int], segLen), make([]*Node[int], segLen))
		},
		"a short segment":    func(d *Dict[int]) { d.segs[1] = d.segs[1][:segLen-1] },
		"memory after Clear": func(d *Dict[int]) { d.n = 0 },
	}
	for name := range maps.Keys(faults) {
		t.Run(name, func(t *testing.T) {
			d := build()
			faults[name](d)
			require.Error(t, d.check())
		})
	}
}
