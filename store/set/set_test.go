package set

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// texts are members, some of which are barely numbers or barely not.
var texts = []string{
	"", "0", "-0", "1", "01", "+1", " 1", "-1", "1.0", "a", "b",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"\x00", "\xff\xfe", "a longer member that needs more than sixty-four bytes of space, as this one",
}

// run runs a program: each byte is an operation, the next one its member.
func run(t *testing.T, program []byte, maxInts int) {
	t.Helper()
	s, m := &Set{}, newModel()
	for i := 0; i+1 < len(program); i += 2 {
		op, which := program[i]%8, int(program[i+1])
		text := strconv.Itoa(which - 100)
		if which >= 200 && op != 0 { // mostly numbers, or no set would stay an intset
			text = texts[which%len(texts)]
		}
		switch op {
		default:
			require.Equal(t, m.add(text, maxInts), s.Add([]byte(text), maxInts))
		case 4, 5:
			require.Equal(t, m.remove(text), s.Remove([]byte(text)))
		case 6: // with a member of another set, in either encoding
			var other Set
			other.Add([]byte(text), which%2)
			for e := range other.All() {
				require.Equal(t, m.add(text, maxInts), s.AddMember(e, maxInts))
			}
		case 7:
			var other Set
			other.Add([]byte(text), which%2)
			for e := range other.All() {
				_, found := m.members[text]
				require.Equal(t, found, s.ContainsMember(e))
				require.Equal(t, m.remove(text), s.RemoveMember(e))
			}
		}
	}
	require.NoError(t, compare(s, m, texts...))
}

func TestModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 400 {
		program := make([]byte, rng.IntN(600))
		for i := range program {
			program[i] = byte(rng.Uint32())
			if round%2 == 0 && i%2 == 1 {
				program[i] %= 200 // integers only
			}
		}
		run(t, program, []int{0, 1, 5, 512}[round%4])
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 101, 0, 102, 4, 101, 1, 201}, uint16(512))
	f.Add([]byte{0, 1, 0, 2, 0, 3, 6, 4, 7, 1}, uint16(2))
	f.Fuzz(func(t *testing.T, program []byte, maxInts uint16) { run(t, program, int(maxInts)) })
}

// compare must detect each of these faults.
func TestCompareDetectsFaults(t *testing.T) {
	fill := func() (*Set, *model) {
		s, m := &Set{}, newModel()
		for _, text := range []string{"3", "1", "2"} {
			s.Add([]byte(text), 512)
			m.add(text, 512)
		}
		return s, m
	}
	for name, corrupt := range map[string]func(s *Set, m *model){
		"one more":       func(s *Set, _ *model) { s.Add([]byte("4"), 512) },
		"one fewer":      func(s *Set, _ *model) { s.Remove([]byte("1")) },
		"another one":    func(s *Set, _ *model) { s.ints[2] = 9 },
		"twice":          func(s *Set, _ *model) { s.ints[2] = 2 },
		"order":          func(s *Set, _ *model) { s.ints[0], s.ints[2] = s.ints[2], s.ints[0] },
		"encoding":       func(s *Set, _ *model) { s.convertIntset() },
		"other encoding": func(_ *Set, m *model) { m.table = true },
	} {
		t.Run(name, func(t *testing.T) {
			s, m := fill()
			require.NoError(t, compare(s, m, "1", "5"))
			corrupt(s, m)
			require.Error(t, compare(s, m, "1", "5"))
		})
	}
}

func TestCloneIsDeep(t *testing.T) {
	for _, first := range []string{"1", "a"} {
		var s Set
		s.Add([]byte(first), 512)
		s.Add([]byte("2"), 512)
		c := s.Clone()
		require.True(t, s.Remove([]byte("2")))
		require.True(t, s.Add([]byte("x"), 512))
		require.True(t, c.Contains([]byte("2")))
		require.False(t, c.Contains([]byte("x")))
		require.True(t, c.Remove([]byte(first)))
		require.True(t, s.Contains([]byte(first)))
	}
}

// Add must copy the caller's bytes.
func TestAddCopies(t *testing.T) {
	var s Set
	text := []byte("abc")
	s.Add(text, 512)
	text[0] = 'x'
	require.True(t, s.Contains([]byte("abc")))
	require.False(t, s.Contains(text))
}

// A scan sees every member that stays during the whole scan, though the set grows, shrinks and changes its
// encoding.
func TestScanWhileChanging(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{3, 100, 5000} {
		var s Set
		for i := range size {
			s.Add(fmt.Appendf(nil, "%d", i), 512)
		}
		seen := map[string]bool{}
		note := func(m Member) { seen[m.Text()] = true }
		for cursor := s.Scan(0, note); cursor != 0; cursor = s.Scan(cursor, note) {
			for range 10 {
				s.Add(strconv.AppendInt([]byte("new"), rng.Int64N(100_000), 10), 512)
				s.Remove(strconv.AppendInt(nil, int64(size/2+rng.IntN(size)), 10))
			}
		}
		for i := range size / 2 {
			require.True(t, seen[strconv.Itoa(i)], "%d of %d was not seen", i, size)
		}
	}
	var s Set
	s.Add([]byte("1"), 512)
	for _, cursor := range []uint64{1, 1 << 63, 1<<64 - 1} {
		calls := 0
		require.Zero(t, s.Scan(cursor, func(Member) { calls++ }))
		require.Equal(t, 1, calls)
		s.Add([]byte("x"), 512)
		require.NotPanics(t, func() { s.Scan(cursor, func(Member) {}) })
		s = Set{}
		s.Add([]byte("1"), 512)
	}
}

// Removing members must release memory.
func TestIntsetShrinks(t *testing.T) {
	var s Set
	for i := range 10_000 {
		s.Add(strconv.AppendInt(nil, int64(i), 10), 1<<30)
	}
	for i := 9_999; i >= 10; i-- {
		s.Remove(strconv.AppendInt(nil, int64(i), 10))
	}
	require.LessOrEqual(t, cap(s.ints), 64)
}
