package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// roomModel is a model of docs/adr/0054-waiting.md that goes a millisecond at a time. It has keys with units,
// which leave one window after they came, a key with slots, and the calls that wait, in the order of arrival.
type roomModel struct {
	nowMs   int64
	units   map[string][]modelUnits
	slots   map[string]int64 // id to the end of its lease
	waiting []*modelCall     // longest first
	ended   map[int]string   // replies to calls that have waited, by session
	fault   string           // planted
}

type modelUnits struct{ ms, n int64 }

// roomWindowMs is the window of every key.
const roomWindowMs = 100

// slotsKey is the key with slots.
const slotsKey = "s"

// A modelTerm is what a call asks of a key; of slots n is 1.
type modelTerm struct {
	key      string
	limit, n int64
}

type modelCall struct {
	session          int
	terms            []modelTerm
	sinceMs, untilMs int64 // untilMs is 0 of a call without WAIT
}

func (c *modelCall) id() string { return fmt.Sprint("id", c.session) }

// line returns the command, with a wait of so many milliseconds.
func (c *modelCall) line(waitMs int64) string {
	var b strings.Builder
	if t := c.terms[0]; len(c.terms) == 1 && t.key == slotsKey {
		fmt.Fprintf(&b, "RL.ACQUIRE %s %d LEASE %d ID %s", t.key, t.limit, roomWindowMs, c.id())
	} else if len(c.terms) == 1 {
		fmt.Fprintf(&b, "RL.ALLOW %s %d %d COST %d", t.key, t.limit, roomWindowMs, t.n)
	} else {
		fmt.Fprintf(&b, "RL.MALLOW %d", len(c.terms))
		id := ""
		for _, t := range c.terms {
			b.WriteString(" " + t.key)
		}
		for _, t := range c.terms {
			if t.key == slotsKey {
				fmt.Fprintf(&b, " TERM SLOTS %d LEASE %d", t.limit, roomWindowMs)
				id = " ID " + c.id()
			} else {
				fmt.Fprintf(&b, " TERM %d %d COST %d", t.limit, roomWindowMs, t.n)
			}
		}
		b.WriteString(id)
	}
	if waitMs > 0 {
		fmt.Fprintf(&b, " WAIT %d", waitMs)
	}
	return b.String()
}

func (m *roomModel) used(key string) (n int64) {
	if key == slotsKey {
		for _, end := range m.slots {
			if end > m.nowMs {
				n++
			}
		}
		return n
	}
	for _, u := range m.units[key] {
		if u.ms > m.nowMs-roomWindowMs {
			n += u.n
		}
	}
	return n
}

func (m *roomModel) fits(c *modelCall) bool {
	return !slices.ContainsFunc(c.terms, func(t modelTerm) bool {
		holds := t.key == slotsKey && m.slots[c.id()] > m.nowMs
		return m.used(t.key)+t.n > t.limit && (!holds || t.limit == 0)
	})
}

// can reports whether a call can ever fit.
func (c *modelCall) can() bool {
	return !slices.ContainsFunc(c.terms, func(t modelTerm) bool { return t.n > t.limit })
}

// answer carries out a call, and returns how many units of its first term were granted.
func (m *roomModel) answer(c *modelCall) (granted int64) {
	if !m.fits(c) {
		return 0
	}
	for _, t := range c.terms {
		if t.key == slotsKey {
			m.slots[c.id()] = m.nowMs + roomWindowMs
		} else {
			m.units[t.key] = append(m.units[t.key], modelUnits{m.nowMs, t.n})
		}
	}
	return 1
}

// isFirst reports whether no call before the i-th waits for one of its keys.
func (m *roomModel) isFirst(i int) bool {
	for _, earlier := range m.waiting[:i] {
		for _, t := range m.waiting[i].terms {
			if slices.ContainsFunc(earlier.terms, func(o modelTerm) bool { return o.key == t.key }) {
				return false
			}
		}
	}
	return true
}

// settle answers the calls whose turn has come, until there is none.
func (m *roomModel) settle() {
	for i := 0; i < len(m.waiting); {
		c := m.waiting[i]
		first := m.isFirst(i) || m.fault == "overtaking"
		if (!first || !m.fits(c)) && m.nowMs < c.untilMs {
			i++
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		granted := m.answer(c)
		m.ended[c.session] = fmt.Sprint(granted, " after ", m.nowMs-c.sinceMs)
		i = 0
	}
}

// pass lets time pass.
func (m *roomModel) pass(ms int64) {
	if m.fault == "late" && ms > 0 {
		m.nowMs += ms
		m.settle()
		return
	}
	for range ms {
		m.nowMs++
		m.settle()
	}
}

// ask runs a call; the reply is "" if it waits.
func (m *roomModel) ask(c *modelCall, waitMs int64) string {
	c.sinceMs = m.nowMs
	m.waiting = append(m.waiting, c)
	first := m.isFirst(len(m.waiting) - 1)
	if waitMs > 0 && c.can() && (!first || !m.fits(c)) {
		c.untilMs = m.nowMs + waitMs
		return ""
	}
	m.waiting = m.waiting[:len(m.waiting)-1]
	granted := m.answer(c)
	if waitMs > 0 {
		return fmt.Sprint(granted, " after 0")
	}
	return fmt.Sprint(granted)
}

// refund takes the newest n units away.
func (m *roomModel) refund(key string, n int64) {
	list := m.units[key]
	for n > 0 && len(list) > 0 {
		last := &list[len(list)-1]
		if last.ms <= m.nowMs-roomWindowMs {
			break
		}
		taken := min(n, last.n)
		last.n -= taken
		if n -= taken; last.n == 0 {
			list = list[:len(list)-1]
		}
	}
	m.units[key] = list
}

func (m *roomModel) leave(session int) {
	m.waiting = slices.DeleteFunc(m.waiting, func(c *modelCall) bool { return c.session == session })
}

// roomReply shows what matters of the reply to a call: whether it was granted, and after which wait.
func roomReply(reply string, c *modelCall, waits bool) string {
	words := strings.Fields(strings.Trim(reply, "[]"))
	at := 0
	if len(c.terms) > 1 {
		at = 1
	}
	granted := "1"
	if words[at] == "0" {
		granted = "0"
	}
	if waits {
		return granted + " after " + words[len(words)-1]
	}
	return granted
}

// roomWorld is an engine and its model under the same calls.
type roomWorld struct {
	t        *testing.T
	rnd      *rand.Rand
	m        *roomModel
	e        *engine.Engine
	sessions []*engine.Session
	calls    []*modelCall // of the sessions that wait
	other    *engine.Session
}

func newRoomWorld(t *testing.T, seed uint64, fault string) *roomWorld {
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	w := &roomWorld{
		t: t, rnd: rand.New(rand.NewPCG(seed, 7)), e: e, other: newSession(t, e),
		m: &roomModel{
			units: map[string][]modelUnits{}, slots: map[string]int64{}, ended: map[int]string{},
			fault: fault,
		},
	}
	do(w.other, "DEBUG CLOCK FREEZE")
	for range 8 {
		w.sessions = append(w.sessions, newSession(t, e))
	}
	w.calls = make([]*modelCall, len(w.sessions))
	return w
}

func (w *roomWorld) term(key string) modelTerm {
	if key == slotsKey {
		return modelTerm{key, int64(w.rnd.IntN(4)), 1}
	}
	return modelTerm{key, int64(2 + w.rnd.IntN(6)), int64(1 + w.rnd.IntN(4))}
}

// call has a session ask for room, with a wait or without.
func (w *roomWorld) call(i int) (difference string) {
	keys := []string{"a", "b", "c", slotsKey}
	w.rnd.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	c := &modelCall{session: i}
	for _, key := range keys[:1+w.rnd.IntN(3)] {
		c.terms = append(c.terms, w.term(key))
	}
	waitMs := int64(0)
	if w.rnd.IntN(4) > 0 {
		waitMs = int64(1 + w.rnd.IntN(3*roomWindowMs))
	}
	want := w.m.ask(c, waitMs)
	reply := do(w.sessions[i], c.line(waitMs))
	if w.sessions[i].Blocked() != nil {
		w.calls[i] = c
		reply = ""
	} else {
		reply = roomReply(reply, c, waitMs > 0)
	}
	if reply != want {
		return fmt.Sprintf("%s: %q, the model %q", c.line(waitMs), reply, want)
	}
	return ""
}

// disturb changes keys, waits or the clock in both.
func (w *roomWorld) disturb() {
	m, key := w.m, string(rune('a'+w.rnd.IntN(3)))
	i := w.rnd.IntN(len(w.sessions))
	switch w.rnd.IntN(12) {
	case 0:
		do(w.other, []string{"DEL ", "RL.RESET ", "UNLINK "}[w.rnd.IntN(3)]+key)
		delete(m.units, key)
	case 1:
		n := int64(1 + w.rnd.IntN(5))
		do(w.other, fmt.Sprint("RL.REFUND ", key, " ", n))
		m.refund(key, n)
	case 2:
		do(w.other, fmt.Sprint("RL.RELEASE ", slotsKey, " id", i))
		delete(m.slots, fmt.Sprint("id", i))
	case 3:
		do(w.other, "PEXPIRE "+key+" -1")
		delete(m.units, key)
	case 4:
		do(w.other, "MULTI")
		do(w.other, "RL.REFUND "+key+" 1")
		do(w.other, "RL.RELEASE "+slotsKey+" id1")
		do(w.other, "EXEC")
		m.refund(key, 1)
		delete(m.slots, "id1")
	case 5:
		do(w.other, "EVAL return(redis.call('del',KEYS[1])) 1 "+key)
		delete(m.units, key)
	case 6, 7:
		if w.calls[i] == nil {
			return
		}
		if w.rnd.IntN(2) == 0 {
			w.sessions[i].Close() // it hangs up
			w.sessions[i] = newSession(w.t, w.e)
		} else {
			do(w.other, fmt.Sprintf("CLIENT UNBLOCK %d ERROR", w.sessions[i].ID()))
			w.sessions[i].Resume()
		}
		w.calls[i] = nil
		m.leave(i)
		w.e.Tick()
	case 8:
		for _, c := range m.waiting {
			if c.session == i {
				c.untilMs = m.nowMs
			}
		}
		do(w.other, fmt.Sprintf("CLIENT UNBLOCK %d", w.sessions[i].ID()))
		w.e.Tick()
	default:
		ms := int64(w.rnd.IntN(80))
		do(w.other, fmt.Sprint("DEBUG CLOCK ADVANCE ", ms))
		m.pass(ms)
	}
	m.settle()
}

// compare returns the first difference between the sessions that wait, and between the keys.
func (w *roomWorld) compare() string {
	for i, s := range w.sessions {
		want, ended := w.m.ended[i]
		delete(w.m.ended, i)
		switch c := w.calls[i]; {
		case c == nil:
		case ended != s.Ready():
			return fmt.Sprintf("session %d has ended: %v, in the model %v with %s", i, s.Ready(), ended, want)
		case ended:
			w.calls[i] = nil
			if got := roomReply(show(s.Resume()), c, true); got != want {
				return fmt.Sprintf("session %d: %s, the model %s", i, got, want)
			}
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		words := strings.Fields(do(w.other, fmt.Sprint("RL.ALLOW ", key, " 1000 ", roomWindowMs, " PEEK")))
		if want := fmt.Sprint(1000 - w.m.used(key)); words[2] != want {
			return fmt.Sprintf("%s has room for %s, in the model %s", key, words[2], want)
		}
	}
	return ""
}

// roomRound compares a random history in an engine and in the model, and returns the first difference.
func roomRound(t *testing.T, seed uint64, fault string) (difference string) {
	w := newRoomWorld(t, seed, fault)
	for step := range 300 {
		i := w.rnd.IntN(len(w.sessions))
		if w.calls[i] == nil && w.rnd.IntN(2) == 0 {
			difference = w.call(i)
			w.m.settle()
		} else {
			w.disturb()
		}
		if difference == "" {
			difference = w.compare()
		}
		if difference != "" {
			return fmt.Sprint("step ", step, ": ", difference)
		}
	}
	return ""
}

func TestCallsThatWaitFollowTheModel(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(100) {
		require.Empty(t, roomRound(t, seed, ""), "seed %d", seed)
	}
	for _, fault := range []string{"overtaking", "late"} {
		require.NotEmpty(t, roomRound(t, 1, fault), fault)
	}
}
