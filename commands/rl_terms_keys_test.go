package commands_test

import (
	"fmt"
	"slices"
)

// This file models the keys of terms, for rl_terms_model_test.go.

// A termKey models a key.
type termKey interface {
	advance(nowMs int64)
	// ask answers a term, as a peek or as the call that takes its cost; take takes it.
	ask(term *modelTerm, peek bool) [5]int64
	take(term *modelTerm) (place int64)
	// held returns how many units of a taking still count, and giveBack gives some back.
	held(h *modelHeld) int64
	giveBack(h *modelHeld, n int64)
	// contents returns what the key holds as contentsOf does.
	contents() string
	clear()
}

// A modelTerm is a term of a call.
type modelTerm struct {
	key    string
	limits [][2]int64 // limit and window; of slots max and lease
	cost   int64
	id     string
}

func (m *modelTerm) String() string {
	if m.key[0] == 's' {
		return fmt.Sprintf(" TERM SLOTS %d LEASE %d", m.limits[0][0], m.limits[0][1])
	}
	line := " TERM"
	for _, q := range m.limits {
		line += fmt.Sprintf(" %d %d", q[0], q[1])
	}
	if m.key[0] == 'f' {
		line += " ALGO FIXED"
	}
	if m.cost != 1 || len(m.limits) == 2 {
		line += fmt.Sprint(" COST ", m.cost)
	}
	return line
}

// A modelHeld is a term of a hold.
type modelHeld struct {
	modelTerm
	place                     int64
	first                     [5]int64 // of the reply
	counted, excess, released int64
}

func moreBinding(a, b [5]int64) bool {
	if a[3] != b[3] {
		return a[3] < 0 || b[3] >= 0 && a[3] > b[3]
	}
	return a[2] < b[2]
}

type logTermKey struct{ rlModel }

func (k *logTermKey) advance(nowMs int64) { k.rlModel.advance(nowMs - k.nowMs) }

func (k *logTermKey) ask(term *modelTerm, peek bool) (answer [5]int64) {
	resetMs := int64(0) // if the call takes units
	for i, q := range term.limits {
		limit, windowMs := q[0], q[1]
		used := k.used(windowMs)
		n := units(used)
		wait := func(e modelEntry) int64 { return min(e.score/1000+windowMs, k.expireAtMs+1) - k.nowMs }
		a := [5]int64{term.cost, limit, max(limit-n, 0), 0, 0}
		if n > 0 {
			a[4] = wait(used[len(used)-1])
		}
		if term.cost > limit {
			a[0], a[3] = 0, -1
		} else if leave := n + term.cost - limit; leave > 0 {
			at := 0
			for ; leave > used[at].units; at++ {
				leave -= used[at].units
			}
			a[0], a[3] = 0, wait(used[at])
		}
		if i == 0 || moreBinding(a, answer) {
			answer, resetMs = a, windowMs
		}
	}
	if answer[3] == 0 && !peek { // the clock does not step back
		answer[2], answer[4] = answer[2]-term.cost, resetMs
	}
	return answer
}

func (k *logTermKey) take(term *modelTerm) int64 {
	windowMs := int64(0)
	for _, q := range term.limits {
		windowMs = max(windowMs, q[1])
	}
	return k.add(term.cost, windowMs)
}

func (k *logTermKey) held(h *modelHeld) (n int64) {
	for _, e := range k.used(k.retention()) {
		if e.score == h.place {
			n += e.units
		}
	}
	return n
}

func (k *logTermKey) giveBack(h *modelHeld, n int64) { k.remove(n, h.place, h.place) }

func (k *logTermKey) contents() string {
	if len(k.entries) == 0 {
		return "nothing"
	}
	return fmt.Sprint(k.entries, " ", k.expireAtMs)
}

func (k *logTermKey) clear() { k.entries, k.expireAtMs = nil, 0 }

type fixedTermKey struct{ nowMs, count, endMs int64 }

func (k *fixedTermKey) advance(nowMs int64) {
	if k.nowMs = nowMs; nowMs > k.endMs {
		k.clear()
	}
}

func (k *fixedTermKey) used() int64 {
	if k.nowMs >= k.endMs {
		return 0
	}
	return k.count
}

func (k *fixedTermKey) next(windowMs int64) int64 {
	endMs := (k.nowMs/windowMs + 1) * windowMs
	if k.used() > 0 {
		endMs = max(endMs, k.endMs)
	}
	return endMs
}

func (k *fixedTermKey) ask(term *modelTerm, peek bool) [5]int64 {
	limit, windowMs := term.limits[0][0], term.limits[0][1]
	a := [5]int64{term.cost, limit, max(limit-k.used(), 0), 0, 0}
	if k.used() > 0 {
		a[4] = k.endMs - k.nowMs
	}
	switch {
	case term.cost > limit:
		a[0], a[3] = 0, -1
	case k.used()+term.cost > limit:
		a[0], a[3] = 0, a[4]
	case !peek:
		a[2], a[4] = a[2]-term.cost, k.next(windowMs)-k.nowMs
	}
	return a
}

func (k *fixedTermKey) take(term *modelTerm) int64 {
	k.count, k.endMs = k.used()+term.cost, k.next(term.limits[0][1])
	return k.endMs
}

func (k *fixedTermKey) held(h *modelHeld) int64 {
	if h.place != k.endMs {
		return 0
	}
	return min(h.cost, k.used())
}

func (k *fixedTermKey) giveBack(_ *modelHeld, n int64) {
	if k.count -= n; k.count == 0 {
		k.clear()
	}
}

func (k *fixedTermKey) contents() string {
	if k.endMs == 0 {
		return "nothing"
	}
	return fmt.Sprintf("[%d] %d", k.count, k.endMs)
}

func (k *fixedTermKey) clear() { k.count, k.endMs = 0, 0 }

type slotsTermKey struct {
	nowMs int64
	ends  map[string]int64
}

func (k *slotsTermKey) advance(nowMs int64) {
	k.nowMs = nowMs
	for id, end := range k.ends {
		if end <= nowMs {
			delete(k.ends, id)
		}
	}
}

func (k *slotsTermKey) ask(term *modelTerm, peek bool) [5]int64 {
	most, leaseMs := term.limits[0][0], term.limits[0][1]
	var living []int64
	lastMs := k.nowMs
	for _, end := range k.ends {
		living = append(living, end)
		lastMs = max(lastMs, end)
	}
	slices.Sort(living)
	has := k.ends[term.id] != 0
	n := int64(len(living))
	a := [5]int64{1, most, max(most-n, 0), 0, lastMs - k.nowMs}
	switch {
	case most == 0:
		a[0], a[3] = 0, -1
	case n >= most && !has:
		a[0], a[3] = 0, living[n-most]-k.nowMs
	case !peek:
		if !has {
			a[2]--
		}
		a[4] = max(a[4], leaseMs)
	}
	return a
}

func (k *slotsTermKey) take(term *modelTerm) int64 {
	k.ends[term.id] = k.nowMs + term.limits[0][1]
	return 0
}

func (k *slotsTermKey) held(h *modelHeld) int64 {
	if k.ends[h.id] == 0 {
		return 0
	}
	return 1
}

func (k *slotsTermKey) giveBack(h *modelHeld, _ int64) { delete(k.ends, h.id) }

func (k *slotsTermKey) contents() string {
	if len(k.ends) == 0 {
		return "nothing"
	}
	var lines []string
	for id, end := range k.ends {
		lines = append(lines, fmt.Sprint(id, " ", end))
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func (k *slotsTermKey) clear() { clear(k.ends) }
