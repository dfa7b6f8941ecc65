package zset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// compare must detect each of these faults. Each case corrupts a valid set, or its model, in one place.
func TestCompareDetectsFaults(t *testing.T) {
	faults := []struct {
		name    string
		corrupt func(s *Set, m *model)
	}{
		{"a lost unit", func(s *Set, _ *model) { s.RemoveByRank(s.Len()/2, s.Len()/2+1) }},
		{"an extra unit", func(_ *Set, m *model) { m.entries = slices.Delete(m.entries, 3, 4) }},
		{"a wrong score", func(_ *Set, m *model) { m.entries[5].score++ }},
		{"a wrong member", func(_ *Set, m *model) { m.entries[5].member += "0" }},
		{"a wrong order", func(_ *Set, m *model) { m.entries[5], m.entries[6] = m.entries[6], m.entries[5] }},
	}
	for _, f := range faults {
		for _, tree := range []bool{false, true} {
			var s Set
			var m model
			for i := range int64(500) {
				addNumber(&s, i*i*1000)
				m.add(decimal(i*i*1000), float64(i*i*1000))
			}
			if tree {
				s.convertToTree()
			}
			require.NoError(t, compare(&s, &m, rand.IntN))
			f.corrupt(&s, &m)
			require.Error(t, compare(&s, &m, rand.IntN), "%s, tree %v", f.name, tree)
		}
	}
}

// compare must detect each of these faults in a log with units.
func TestCompareDetectsWrongUnits(t *testing.T) {
	for name, corrupt := range map[string]func(s *Set){
		"turn too low":            func(s *Set) { s.setTurn(s.turn() - 5*gap) },
		"turn too high":           func(s *Set) { s.setTurn(s.turn() + 1) },
		"a unit too few":          func(s *Set) { s.SetUnits(s.Newest(), s.UnitsOf(s.Newest())-1) },
		"units of another entry":  func(s *Set) { s.SetUnits(s.UnitAt(s.Units()/2), 9) },
		"units lost at an edge":   func(s *Set) { s.blocks().weights.before[20]-- },
		"a sum that is not moved": func(s *Set) { s.blocks().weights.end++ },
	} {
		for _, n := range []int{14, 1000} {
			s := weightedLog(n)()
			if s.kind == kindBlock && (name == "units lost at an edge" || name == "a sum that is not moved") {
				continue
			}
			var m model
			s.Ascend(0, func(e Entry) bool { m.add(e.Member(), e.Score); return true })
			every := 0
			rank := func(n int) int { every += 7; return every % n }
			sees := func() (err error) {
				for i := 0; i < 100 && err == nil; i++ {
					err = compare(s, &m, rank)
				}
				return err
			}
			require.NoError(t, sees())
			corrupt(s)
			require.Error(t, sees(), "%s of %d", name, n)
		}
	}
}

func TestCheckDetectsFaults(t *testing.T) {
	faults := []struct {
		name    string
		fresh   func() *Set
		corrupt func(s *Set)
	}{
		{"count of a block", smallLog, func(s *Set) { s.n++ }},
		{"last of a block", smallLog, func(s *Set) { s.setLast(s.last() + 1) }},
		{"tail of a block", smallLog, func(s *Set) { s.tail-- }},
		{"truncated token", smallLog, func(s *Set) { s.used-- }},
		{"oversized buffer", smallLog, func(s *Set) { s.RemoveByRank(2, s.Len()); s.resizeBuf(s.maxBuf()) }},
		{"ordinal", bigLog, func(s *Set) { s.blocks().list[2].start++ }},
		{"end", bigLog, func(s *Set) { s.blocks().end++ }},
		{"first of a block", bigLog, func(s *Set) { s.blocks().list[2].first += 10 * gap * blockSize }},
		{"token in a block", bigLog, func(s *Set) { s.blocks().list[2].data[3] ^= 0x7f }},
		{"last of several blocks", bigLog, func(s *Set) { s.setLast(s.last() + 1) }},
		{"first of several blocks", bigLog, func(s *Set) { s.first-- }},
		{"turn behind the last of a block", weightedLog(20), func(s *Set) { s.setTurn(s.last() + 1) }},
		{"units without a turn", weightedLog(20), func(s *Set) { s.flags &^= flagWeighted }},
		{"units before a block", weightedLog(1000), func(s *Set) { s.blocks().weights.before[20]++ }},
		{"units before the end", weightedLog(1000), func(s *Set) { s.blocks().weights.end++ }},
		{"memory behind the list", bigLog, func(s *Set) { b := s.blocks(); b.list = b.list[:len(b.list)-1] }},
		{"a score of packed entries", somePacked, func(s *Set) { s.packed().data[14] |= 0x40 }},
		{"the last of packed entries", somePacked, func(s *Set) { s.packed().last-- }},
		{"a member whose leading number is not its score", somePacked, func(s *Set) {
			p := s.packed()
			c := newCell([]byte("x"), -1)
			p.insert(0, c, c.size())
			p.n++
			p.irregular = false
		}},
		{"count of packed entries", somePacked, func(s *Set) { s.packed().n++ }},
		{"order of items", bigTree, func(s *Set) { i := s.tree().back.items; i[1], i[2] = i[2], i[1] }},
		{"score of an item", bigTree, func(s *Set) { s.tree().back.items[1].score += 0.5 }},
		{"index", bigTree, func(s *Set) { t := s.tree(); t.index.Unlink(t.front.items[0].node) }},
		{"directory", bigTree, func(s *Set) { s.tree().dir.DeleteMin() }},
		{"links", bigTree, func(s *Set) { t := s.tree(); t.back.prev = t.back }},
		{"ranks", bigTree, func(s *Set) { s.At(s.Len() / 2); s.tree().ranks.sums[1]++ }},
		{"bytes of leaves", bigTree, func(s *Set) { s.tree().itemsBytes++ }},
		{"number of leaves", bigTree, func(s *Set) { s.tree().leaves++ }},
	}
	for _, f := range faults {
		s := f.fresh()
		require.NoError(t, s.check(), f.name)
		f.corrupt(s)
		require.Error(t, s.check(), f.name)
	}
}

// weightedLog returns a log of n entries, which are weighted from the tenth on.
func weightedLog(n int) func() *Set {
	return func() *Set {
		s := logOf(9)
		for i := range n - 9 {
			s.Append(s.Newest()+gap, int64(i%300)+2)
		}
		return s
	}
}

func smallLog() *Set { return logOf(30) }
func bigLog() *Set   { return logOf(1000) }

func somePacked() *Set {
	s := new(Set)
	for i := range 9 {
		s.Add(fmt.Appendf(nil, "%d-x", i), float64(i))
	}
	return s
}

func bigTree() *Set {
	s := logOf(1000)
	s.convertToTree()
	return s
}
