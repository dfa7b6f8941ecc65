package policy

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors of the arguments of RL.CHECK.
var (
	ErrNone   = errors.New("no policies are loaded: see the directive rl-policies")
	errSyntax = errors.New("syntax error: RL.CHECK domain key value [key value ...] [COST n] " +
		"[PEEK | EXPLAIN] [ID id]")
	errCost = errors.New("COST must be an integer from 0 on")

	errEntries = fmt.Errorf("at most %d keys can be given", MaxEntries)
)

// Rewrite returns the call that decides by policy what the arguments of RL.CHECK ask: see Matcher.Call. Of
// arguments that are wrong it makes a call that fails: RL.CHECK 0 ERROR text. The command keeps the name by
// which it was called, which rename-command may have chosen.
//
// The words are valid until the Matcher's next Rewrite.
func (s *Set) Rewrite(m *Matcher, args [][]byte) [][]byte {
	words, err := s.rewrite(m, args)
	if err != nil {
		words = append(m.words[:0], nil, zero, wordError, []byte(err.Error()))
		m.words = words
	}
	words[0] = args[0]
	return words
}

var (
	zero      = []byte("0")
	wordError = []byte("ERROR")
)

// rewrite parses RL.CHECK domain key value [key value ...] [COST n] [PEEK | EXPLAIN] [ID id]. The names of
// options are upper case, and the first key is never one.
func (s *Set) rewrite(m *Matcher, args [][]byte) ([][]byte, error) {
	if s == nil {
		return nil, ErrNone
	}
	if len(args) < 4 {
		return nil, errSyntax
	}
	ds, o := Descriptor{Entries: m.entries[:0], Hits: 1}, Options{}
	rest := args[2:]
	for len(rest) >= 2 && (len(ds.Entries) == 0 || !isOption(rest[0])) {
		if len(ds.Entries) == MaxEntries {
			return nil, errEntries
		}
		ds.Entries = append(ds.Entries, Entry{rest[0], rest[1]})
		rest = rest[2:]
	}
	m.entries = ds.Entries
	for len(rest) > 0 {
		switch {
		case string(rest[0]) == "PEEK" && !o.Explain:
			o.Peek = true
			rest = rest[1:]
			continue
		case string(rest[0]) == "EXPLAIN" && !o.Peek:
			o.Explain = true
			rest = rest[1:]
			continue
		case len(rest) < 2:
			return nil, errSyntax
		case string(rest[0]) == "COST":
			n, err := strconv.ParseInt(string(rest[1]), 10, 64)
			if err != nil || n < 0 {
				return nil, errCost
			}
			ds.Hits = n
		case string(rest[0]) == "ID":
			o.ID = rest[1]
		default:
			return nil, errSyntax
		}
		rest = rest[2:]
	}
	d, limits, err := s.Resolve(m, args[1], append(m.one[:0], ds))
	switch {
	case errors.Is(err, ErrUnknownDomain):
		return nil, fmt.Errorf("%w: %q", err, args[1][:min(len(args[1]), 128)])
	case err != nil:
		return nil, err
	}
	l := &limits[0]
	if o.Explain {
		o.ID = nil // the slots have no window to explain
	} else if l.Decides() && l.Policy != nil && l.Policy.Slots > 0 && o.ID == nil {
		return nil, fmt.Errorf("the policy %s has slots: ID is missing", l.Policy.Name)
	}
	return m.Call(d, limits, o), nil
}

func isOption(word []byte) bool {
	switch string(word) {
	case "COST", "PEEK", "EXPLAIN", "ID":
		return true
	}
	return false
}
