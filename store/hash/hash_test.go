package hash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// Random histories take hashes across the limits of packed, in fields and in bytes.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(race.Fewer(60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			fields := 4 << rng.IntN(7) // up to 256: small, and past smallFields
			longest := 8 << rng.IntN(9)
			var (
				h Hash
				m model
			)
			for step := range 600 {
				field := fmt.Sprint("f", rng.IntN(fields))
				if rng.IntN(8) == 0 {
					field = strings.Repeat(field, rng.IntN(80))
				}
				switch rng.IntN(10) {
				case 0, 1, 2, 3, 4, 5:
					value := strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(longest))
					require.Equal(t, m.set(field, value), h.Set([]byte(field), []byte(value)))
				case 6, 7, 8:
					require.Equal(t, m.remove(field), h.Delete([]byte(field)))
				default:
					_, ok := h.Get([]byte(field))
					require.Equal(t, m.find(field) >= 0, ok)
				}
				if step%7 == 0 {
					require.NoError(t, m.compare(&h), "step %d", step)
				}
			}
			require.NoError(t, m.compare(&h))
			c := h.Clone()
			require.NoError(t, m.compare(c))
			c.Set([]byte("f1"), []byte("only in the clone"))
			c.Delete([]byte("f2"))
			require.NoError(t, m.compare(&h), "after the clone changed")
			for _, p := range slices.Clone(m.entries) {
				require.True(t, h.Delete([]byte(p.field)))
				require.True(t, m.remove(p.field))
			}
			require.NoError(t, m.compare(&h))
			require.Zero(t, h.Len())
		})
	}
}

func FuzzHash(f *testing.F) {
	f.Add([]byte("\x01\x02ab\x03\x01\x00\x05\xff\xff"))
	f.Add([]byte(strings.Repeat("\x00\x40abcdefgh", 40)))
	f.Fuzz(func(t *testing.T, ops []byte) {
		var (
			h Hash
			m model
		)
		for len(ops) >= 3 {
			op, name, size := ops[0], ops[1], int(ops[2])
			ops = ops[3:]
			field := fmt.Sprintf("%c%d", name, op>>4)
			switch op & 3 {
			case 0:
				require.Equal(t, m.remove(field), h.Delete([]byte(field)))
			default:
				if op&8 != 0 {
					size *= 20
				}
				value := strings.Repeat(field, size/len(field))
				require.Equal(t, m.set(field, value), h.Set([]byte(field), []byte(value)))
			}
		}
		require.NoError(t, m.compare(&h))
		require.NoError(t, m.compare(h.Clone()))
	})
}

// compare must detect planted differences.
func TestCompareDetectsFaults(t *testing.T) {
	build := func(n int) (*Hash, *model) {
		h, m := &Hash{}, &model{}
		for i := range n {
			field, value := fmt.Sprint("f", i), fmt.Sprint("v", i)
			h.Set([]byte(field), []byte(value))
			m.set(field, value)
		}
		require.NoError(t, m.compare(h))
		return h, m
	}
	for _, n := range []int{5, 500} {
		for name, corrupt := range map[string]func(*Hash, *model){
			"another value":   func(h *Hash, _ *model) { h.Set([]byte("f3"), []byte("x")) },
			"an extra field":  func(h *Hash, _ *model) { h.Set([]byte("new"), []byte("x")) },
			"a missing field": func(h *Hash, _ *model) { h.Delete([]byte("f0")) },
			"another order": func(h *Hash, m *model) {
				h.Delete([]byte("f0"))
				h.Set([]byte("f0"), []byte("v0"))
			},
			"order of the model": func(_ *Hash, m *model) {
				m.entries[0], m.entries[1] = m.entries[1], m.entries[0]
			},
		} {
			h, m := build(n)
			corrupt(h, m)
			require.Error(t, m.compare(h), "%s of %d", name, n)
		}
	}
	h, m := build(5)
	h.small.n++
	require.Error(t, m.compare(h))
	h, m = build(500)
	h.large.first.Value.next.Value.prev = nil
	require.Error(t, m.compare(h))
	h, m = build(500)
	h.large.fields.Delete(h.large.last.Hash(), []byte(h.large.last.Key()))
	require.Error(t, m.compare(h))
}

// Fields and values that do not fit packed convert the hash, at once or when they grow.
func TestPackedLimits(t *testing.T) {
	scenarios := []struct {
		name         string
		field, value int
		small        bool
	}{
		{"nothing", 0, 0, true},
		{"one length byte", 127, 127, true},
		{"two length bytes", 128, 128, true},
		{"full", 100, smallBytes - 103, true},
		{"one byte more", 100, smallBytes - 102, false},
		{"a long field", smallBytes - 3, 0, true},
		{"a longer field", smallBytes - 2, 0, false},
		{"much too long a field", 1 << 20, 1, false},
		{"much too long a value", 1, 1 << 20, false},
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			field, value := strings.Repeat("f", s.field), strings.Repeat("v", s.value)
			var h, grown Hash
			require.True(t, h.Set([]byte(field), []byte(value)))
			require.True(t, grown.Set([]byte(field), nil))
			require.False(t, grown.Set([]byte(field), []byte(value)))
			for _, h := range []*Hash{&h, &grown} {
				require.Equal(t, s.small, h.large == nil)
				require.NoError(t, (&model{[]modelEntry{{field, value}}}).compare(h))
			}
		})
	}
	var h Hash
	for i := range smallFields {
		h.Set(fmt.Append(nil, i), nil)
	}
	require.Nil(t, h.large)
	h.Set([]byte("0"), []byte("still"))
	require.Nil(t, h.large)
	h.Set([]byte("one more"), nil)
	require.NotNil(t, h.large)
	require.Equal(t, smallFields+1, h.Len())
	require.NoError(t, h.check())
}

func TestSetCopies(t *testing.T) {
	for _, n := range []int{1, 200} {
		var h Hash
		field, value := []byte("field"), []byte("value")
		h.Set(field, value)
		for i := range n {
			h.Set(fmt.Append(nil, i), nil)
		}
		copy(field, "XXXXX")
		copy(value, "XXXXX")
		got, ok := h.Get([]byte("field"))
		require.True(t, ok)
		require.Equal(t, "value", string(got))
	}
}

// Fields that stay in the hash during a scan must be seen, however the table changes.
func TestScan(t *testing.T) {
	for seed := range uint64(race.Fewer(40)) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var h Hash
		staying := map[string]string{}
		for i := range 1 + rng.IntN(300) {
			field := fmt.Sprint("staying", i)
			staying[field] = fmt.Sprint(i)
			h.Set([]byte(field), []byte(staying[field]))
		}
		for i := range rng.IntN(300) {
			h.Set(fmt.Append(nil, "goes", i), nil)
		}
		listpack := rng.IntN(3) == 0
		if !listpack {
			h.NoteEncoding(0, 0)
		}
		seen, calls := map[string]string{}, 0
		for cursor := uint64(0); ; calls++ {
			cursor = h.Scan(cursor, func(field, value []byte) { seen[string(field)] = string(value) })
			if cursor == 0 {
				break
			}
			for range rng.IntN(40) {
				field := fmt.Append(nil, []string{"goes", "comes"}[rng.IntN(2)], rng.IntN(600))
				if rng.IntN(2) == 0 {
					h.Set(field, nil)
				} else {
					h.Delete(field)
				}
			}
			require.Less(t, calls, 100_000)
		}
		for field, value := range staying {
			require.Equal(t, value, seen[field], "seed %d, field %s", seed, field)
		}
		if listpack {
			require.Zero(t, calls)
		}
		for range 100 {
			h.Scan(rng.Uint64(), func(_, _ []byte) {}) // any cursor is valid
		}
	}
}

// A scan of a small hash ends after one call; after growing, a scan takes several.
func TestScanOfGrowingHash(t *testing.T) {
	var h Hash
	h.Set([]byte("a"), nil)
	h.NoteEncoding(0, 0)
	n := 0
	require.Zero(t, h.Scan(0, func(_, _ []byte) { n++ }))
	require.Equal(t, 1, n)
	for i := range 1000 {
		h.Set(fmt.Append(nil, i), nil)
	}
	require.NotZero(t, h.Scan(0, func(_, _ []byte) {}))
}

// Random is tested with chi-squared.
func TestRandomIsUniform(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{1, 2, 7, smallFields, 200} {
		var h Hash
		for i := range n {
			h.Set(fmt.Append(nil, "f", i), fmt.Append(nil, "v", i))
		}
		counts := map[string]int{}
		const each = 400
		for range each * n {
			field, value := h.Random(rng.Uint64N)
			require.Equal(t, string(field[1:]), string(value[1:]))
			counts[string(field)]++
		}
		require.True(t, uniform(counts, n, each), "%d fields: %v", n, counts)
	}
	biased := map[string]int{"a": 480, "b": 320}
	require.False(t, uniform(biased, 2, 400))
	require.False(t, uniform(map[string]int{"a": 800}, 2, 400))
}

// uniform reports whether counts are within six standard deviations of a uniform pick from n.
func uniform(counts map[string]int, n, each int) bool {
	chi := float64((n - len(counts)) * each)
	for _, c := range counts {
		chi += float64((c-each)*(c-each)) / float64(each)
	}
	freedom := float64(n - 1)
	return (chi-freedom)*(chi-freedom) <= 36*max(2*freedom, 0.01)
}

func TestAllocationCeilings(t *testing.T) {
	for _, n := range []int{3, 500} {
		var h Hash
		fields := make([][]byte, n)
		for i := range fields {
			fields[i] = fmt.Append(nil, "field", i)
			h.Set(fields[i], []byte("1700000000000"))
		}
		i := 0
		next := func() []byte { i++; return fields[i%n] }
		long, short := []byte("1700000000001"), []byte("1700000000")
		for name, run := range map[string]func(){
			"Get":           func() { h.Get(next()) },
			"Get of none":   func() { h.Get(long) },
			"Set":           func() { h.Set(next(), long) },
			"Set by length": func() { f := next(); h.Set(f, short); h.Set(f, long) },
			"All":           func() { h.All(func(_, _ []byte) bool { return true }) },
			"Random":        func() { h.Random(rand.Uint64N) },
			"Scan":          func() { h.Scan(0, func(_, _ []byte) {}) },
		} {
			require.Zero(t, testing.AllocsPerRun(200, run), "%s of %d", name, n)
		}
	}
	require.LessOrEqual(t, unsafe.Sizeof(Hash{}), uintptr(48))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		h := &Hash{}
		h.Set([]byte("tokens"), []byte("9.5"))
		h.Set([]byte("timestamp"), []byte("1700000000000"))
	}), 3.0)
}
