package doctor

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Finding is a problem that commands of a client have on keys of a pattern.
type Finding struct {
	Problem string
	Count   int64
	Pattern string // see appendPattern; "" if there is no key
	Command string // the full name, with " (script)" if a script has called it
	Client  string
	FirstMs int64 // unix milliseconds
	LastMs  int64
	Advice  string
}

// A Total is how often a problem was found.
type Total struct {
	Problem string
	Count   int64
}

// maxFindings bounds the findings with a pattern and a client of their own. Further ones
// are counted under "*".
const maxFindings = 128

// findings are the findings of a doctor.
type findings struct {
	total []atomic.Int64 // by the index of the rule
	count atomic.Int64   // the length of by

	mu      sync.Mutex
	by      map[string]*Finding // protected by mu, as are the following; by all that tells them apart
	own     int                 // with a pattern and a client of their own
	name    []byte              // scratch space for a key of by
	pattern []byte              // likewise for a pattern
}

func (f *findings) init() {
	f.total = make([]atomic.Int64, len(rules))
	f.by = make(map[string]*Finding)
}

// add counts a problem n times.
func (f *findings) add(r *rule, key []byte, by actor, n, nowMs int64) {
	f.total[r.index].Add(n)
	by.client = cut(by.client)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pattern = appendPattern(f.pattern[:0], key)
	one := f.find(r, f.pattern, &by)
	folded := one == nil && f.own == maxFindings
	if folded {
		f.pattern, by.client = append(f.pattern[:0], '*'), "*"
		one = f.find(r, f.pattern, &by)
	}
	if one == nil {
		one = &Finding{
			Problem: r.problem, Advice: r.advice, Pattern: string(f.pattern), Command: by.command,
			Client: strings.Clone(by.client), FirstMs: nowMs,
		}
		if by.script {
			one.Command += " (script)"
		}
		f.by[string(f.name)] = one
		f.count.Add(1)
		if !folded {
			f.own++
		}
	}
	one.Count += n
	one.LastMs = max(one.LastMs, nowMs)
}

// find returns a finding, or nil. It leaves its key of by in f.name. It requires f.mu.
func (f *findings) find(r *rule, pattern []byte, by *actor) *Finding {
	b := append(f.name[:0], byte(r.index))
	if by.script {
		b[0] |= 0x80
	}
	b = append(append(b, by.command...), 0)
	b = append(append(b, by.client...), 0)
	f.name = append(b, pattern...)
	return f.by[string(f.name)]
}

func (f *findings) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.by)
	f.count.Store(0)
	f.own = 0
}

func (f *findings) all() []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Finding, 0, len(f.by))
	for _, one := range f.by {
		out = append(out, *one)
	}
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Problem, b.Problem),
			cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Command, b.Command),
			cmp.Compare(a.Client, b.Client))
	})
	return out
}

func (f *findings) totals() []Total {
	out := make([]Total, len(rules))
	for i := range rules {
		out[i] = Total{rules[i].problem, f.total[i].Load()}
	}
	return out
}

func (f *findings) resetTotals() {
	for i := range f.total {
		f.total[i].Store(0)
	}
}

// memoryBytes is the size of what a doctor that is on remembers of keys.
const memoryBytes = int64(unsafe.Sizeof(memory{}))

// findingBytes is about what a finding takes, with its strings and its key.
const findingBytes = int64(unsafe.Sizeof(Finding{})) + 2*(maxPattern+maxLabel)

func (f *findings) bytes() int64 { return f.count.Load() * findingBytes }
