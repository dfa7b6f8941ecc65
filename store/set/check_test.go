package set

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zlimit/zlimit/store/decimal"
)

// model is a naive implementation of the set, with the rule for its encoding.
type model struct {
	members map[string]struct{}
	table   bool
}

func newModel() *model { return &model{members: map[string]struct{}{}} }

func (m *model) add(text string, maxInts int) bool {
	_, found := m.members[text]
	m.members[text] = struct{}{}
	_, isInt := decimal.Parse([]byte(text))
	if !isInt || !found && len(m.members) > maxInts {
		m.table = true
	}
	return !found
}

func (m *model) remove(text string) bool {
	_, found := m.members[text]
	delete(m.members, text)
	return found
}

// compare reports the first difference between a set and the model, through every query. absent are texts
// that may not be members.
func compare(s *Set, m *model, absent ...string) error {
	if s.Len() != len(m.members) {
		return fmt.Errorf("Len is %d, not %d", s.Len(), len(m.members))
	}
	if s.IsIntset() == m.table {
		return fmt.Errorf("IsIntset is %t", s.IsIntset())
	}
	for text := range m.members {
		if !s.Contains([]byte(text)) {
			return fmt.Errorf("%q is not contained", text)
		}
	}
	for _, text := range absent {
		if _, found := m.members[text]; s.Contains([]byte(text)) != found {
			return fmt.Errorf("Contains(%q) is %t", text, !found)
		}
	}
	walks := map[string]func(fn func(Member)){
		"All": func(fn func(Member)) {
			for e := range s.All() {
				fn(e)
			}
		},
		"Sample": func(fn func(Member)) { s.Sample(s.Len()+1, func(uint64) uint64 { return 0 }, fn) },
		"Scan": func(fn func(Member)) {
			for cursor := s.Scan(0, fn); cursor != 0; cursor = s.Scan(cursor, fn) {
			}
		},
		"Clone": func(fn func(Member)) {
			for e := range s.Clone().All() {
				fn(e)
			}
		},
	}
	for name, walk := range walks {
		if err := compareMembers(s, m, walk); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if s.Clone().IsIntset() != s.IsIntset() {
		return fmt.Errorf("Clone has another encoding")
	}
	return nil
}

// compareMembers compares the members that walk reports, each once.
func compareMembers(s *Set, m *model, walk func(fn func(Member))) error {
	var got []string
	var numbers []int64
	var err error
	walk(func(e Member) {
		got = append(got, e.Text())
		if string(e.AppendText(nil)) != e.Text() {
			err = fmt.Errorf("a member has two texts, %q and %q", e.AppendText(nil), e.Text())
		}
		if e.IsNumber() != s.IsIntset() {
			err = fmt.Errorf("IsNumber of %q is %t", e.Text(), e.IsNumber())
		}
		if e.IsNumber() {
			numbers = append(numbers, e.Number())
		}
		if !s.ContainsMember(e) {
			err = fmt.Errorf("does not contain its own member %q", e.Text())
		}
	})
	if err != nil {
		return err
	}
	if !slices.IsSorted(numbers) {
		return fmt.Errorf("an intset is not in order: %v", numbers)
	}
	slices.Sort(got)
	want := slices.Sorted(maps.Keys(m.members))
	if !slices.Equal(got, want) {
		return fmt.Errorf("has %q, not %q", got, want)
	}
	return nil
}
