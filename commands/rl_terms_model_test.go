package commands_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// The test runs random histories of calls with terms over several keys, with holds, and compares each reply
// and what the keys hold with a model. The first byte of a key's name says what it holds: a log, a count of
// FIXED, or slots.

// A termsModel models keys and holds. fault names a mistake to make.
type termsModel struct {
	nowMs int64
	keys  map[string]termKey
	holds map[string]*modelTermsHold // by the name of their key
	fault string
}

type modelTermsHold struct {
	terms   []modelHeld
	binding int
	settled bool
	endMs   int64
}

func holdNameOf(key, id string) string { return key + ":hold:{" + key + "}:" + id }

func (m *termsModel) advance(d int64) {
	m.nowMs += d
	for _, k := range m.keys {
		k.advance(m.nowMs)
	}
	for name, h := range m.holds {
		if m.nowMs > h.endMs {
			delete(m.holds, name)
		}
	}
}

func (m *termsModel) del(name string) (removed int) {
	if m.holds[name] != nil {
		delete(m.holds, name)
		return 1
	}
	if k := m.keys[name]; k != nil {
		if k.contents() != "nothing" {
			removed = 1
		}
		k.clear()
	}
	return removed
}

func jointAnswer(answers [][5]int64, binding int, full bool) string {
	if !full {
		return fmt.Sprintf("[%d %s", binding+1, fmt.Sprint(answers[binding])[1:])
	}
	line := fmt.Sprintf("[%d", binding+1)
	for _, a := range answers {
		line += fmt.Sprint(" ", a)
	}
	return line + "]"
}

// admitShadow makes the answer of a term that denies that of one that admits.
func (m *termsModel) admitShadow(answer *[5]int64, t *modelTerm, peek bool) {
	if answer[0] > 0 || m.fault == "a shadow is denied" {
		return
	}
	answer[0] = t.cost
	switch m.fault {
	case "a shadow has no mark":
		answer[3] = 0
	case "a shadow takes":
		if !peek {
			m.keys[t.key].take(t)
		}
	}
}

// call models RL.MALLOW, or RL.MRESERVE if it makes a hold. It reports whether the call took anything.
func (m *termsModel) call(terms []modelTerm, peek, full, shadow bool, hold string, holdMs int64) (
	want string, took bool,
) {
	if h := m.holds[hold]; h != nil && m.fault != "reserves twice" {
		if !m.overKeys(h, keysOf(terms)) {
			return errOtherKeys, false
		}
		var answers [][5]int64
		for i := range h.terms {
			answers = append(answers, h.terms[i].first)
		}
		return jointAnswer(answers, h.binding, full), false
	}
	answers := make([][5]int64, len(terms))
	binding, denied := 0, false
	for i := range terms {
		answers[i] = m.keys[terms[i].key].ask(&terms[i], peek)
		denied = denied || answers[i][0] == 0
		binds := moreBinding(answers[i], answers[binding])
		if m.fault == "the least remaining binds" {
			binds = answers[i][2] < answers[binding][2]
		}
		if i > 0 && binds {
			binding = i
		}
	}
	if denied || peek {
		for i := range terms {
			if m.fault == "the first key takes" && i == 0 && !peek && answers[0][0] > 0 {
				m.keys[terms[0].key].take(&terms[0])
			}
			answers[i] = m.keys[terms[i].key].ask(&terms[i], true)
			if shadow {
				m.admitShadow(&answers[i], &terms[i], peek)
			}
		}
		return jointAnswer(answers, binding, full), false
	}
	h := &modelTermsHold{binding: binding, endMs: m.nowMs + holdMs}
	for i := range terms {
		place := m.keys[terms[i].key].take(&terms[i])
		h.terms = append(h.terms, modelHeld{modelTerm: terms[i], place: place, first: answers[i]})
	}
	if hold != "" {
		m.holds[hold] = h
	}
	return jointAnswer(answers, binding, full), true
}

const errOtherKeys = "ERR the hold of this ID is over other keys"

func keysOf(terms []modelTerm) (keys []string) {
	for i := range terms {
		keys = append(keys, terms[i].key)
	}
	return keys
}

// overKeys reports whether a hold is over keys. The first one is its own.
func (m *termsModel) overKeys(h *modelTermsHold, keys []string) bool {
	if len(keys) != len(h.terms) {
		return false
	}
	for i := 1; i < len(keys); i++ {
		if h.terms[i].key != keys[i] {
			return false
		}
	}
	return true
}

// settle models RL.MSETTLE, or RL.MCANCEL if there are no actuals. It reports whether the hold is settled
// now.
func (m *termsModel) settle(keys []string, id string, actuals []int64) (want string, settled bool) {
	h := m.holds[holdNameOf(keys[0], id)]
	switch {
	case h == nil:
		return "0", false
	case !m.overKeys(h, keys):
		return errOtherKeys, false
	}
	if !h.settled || m.fault == "settles twice" {
		settled, h.settled = true, true
		for i := range h.terms {
			t := &h.terms[i]
			k, actual := m.keys[t.key], int64(0)
			if actuals != nil {
				actual = actuals[i]
			}
			held := k.held(t)
			if t.key[0] == 's' {
				if t.released = held; held > 0 && m.fault != "slots stay" {
					k.giveBack(t, 1)
				}
				continue
			}
			t.excess = max(actual-t.cost, 0)
			t.released = min(max(t.cost-actual, 0), held)
			t.counted = min(held-t.released, t.cost-t.released) + t.excess
			if t.released > 0 {
				k.giveBack(t, t.released)
			}
			if t.excess > 0 {
				over := t.modelTerm
				over.cost = t.excess
				k.take(&over)
			}
		}
	}
	var parts []string
	for i := range h.terms {
		t := &h.terms[i]
		switch {
		case actuals == nil:
			parts = append(parts, fmt.Sprint(t.released))
		case t.key[0] == 's':
			parts = append(parts, "[0 0]")
		default:
			parts = append(parts, fmt.Sprint([]int64{t.counted, t.excess}))
		}
	}
	return "[" + strings.Join(parts, " ") + "]", settled
}

// show formats a reply as fmt does slices of integers.
func show(v resp.Value) string {
	switch {
	case v.IsError():
		return v.Str()
	case v.Kind() == resp.KindInteger:
		return strconv.FormatInt(v.Int(), 10)
	case v.Kind() != resp.KindArray:
		return v.Str()
	}
	parts := make([]string, 0, len(v.Elems()))
	for _, e := range v.Elems() {
		parts = append(parts, show(e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// contentsOf returns what a key holds that counts.
func contentsOf(b *bench, key string, nowMs int64) string {
	// texts returns the elements of a reply.
	texts := func(words ...string) (texts []string) {
		b.ctx.Reset()
		for _, line := range strings.Fields(b.wire(words...)) {
			if line[0] != '*' && line[0] != '$' {
				texts = append(texts, line)
			}
		}
		return texts
	}
	var held []string
	switch key[0] {
	case 's':
		words := texts("ZRANGEBYSCORE", key, fmt.Sprint("(", nowMs), "+inf", "WITHSCORES")
		for i := 0; i < len(words); i += 2 {
			held = append(held, words[i]+" "+words[i+1])
		}
		slices.Sort(held)
	case 'f':
		held = texts("GET", key)
	default:
		held = texts("ZRANGE", key, "0", "-1")
	}
	switch {
	case held == nil:
		return "nothing"
	case key[0] == 's':
		return fmt.Sprint(held)
	}
	return fmt.Sprint(held, " ", b.call("PEXPIRETIME", key).Int())
}

// A termsRun plays a history.
type termsRun struct {
	b *bench
	m *termsModel
	r *rand.Rand

	denied, took, settled, refused int
}

func (p *termsRun) pick(of ...int64) int64 { return of[p.r.IntN(len(of))] }

func (p *termsRun) id() string { return string('x' + rune(p.r.IntN(3))) }

func (p *termsRun) someKeys() []string {
	keys := []string{"l1", "l2", "f1", "f2", "s1", "s2"}
	p.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys[:1+p.r.IntN(4)]
}

func (p *termsRun) terms(keys []string, id string) (terms []modelTerm, line string) {
	for _, key := range keys {
		t := modelTerm{key: key, cost: 1, id: id}
		switch key[0] {
		case 's':
			t.limits = [][2]int64{{p.pick(0, 1, 2, 3, 3), p.pick(1, 100, 2000)}}
		case 'f':
			t.limits = [][2]int64{{p.pick(2, 9, 20), p.pick(100, 1000)}}
			t.cost = p.pick(1, 1, 2, 5)
		default:
			for range 1 + p.r.IntN(3) {
				t.limits = append(t.limits, [2]int64{p.pick(2, 9, 20, 1<<40), p.pick(5, 300, 1000, 5000)})
			}
			t.cost = p.pick(1, 1, 2, 5)
		}
		terms = append(terms, t)
		line += t.String()
	}
	return terms, line
}

// holdKeys returns the keys and the id of a hold, mostly.
func (p *termsRun) holdKeys() (keys []string, id string) {
	names := make([]string, 0, len(p.m.holds))
	for name := range p.m.holds {
		names = append(names, name)
	}
	if len(names) == 0 || p.r.IntN(8) == 0 {
		return p.someKeys(), p.id()
	}
	slices.Sort(names)
	name := names[p.r.IntN(len(names))]
	for i := range p.m.holds[name].terms {
		keys = append(keys, p.m.holds[name].terms[i].key)
	}
	if p.r.IntN(10) == 0 {
		keys = append(keys[:1], "l2")
	}
	return keys, name[len(name)-1:]
}

func joined(name string, keys []string) string {
	return fmt.Sprint(name, " ", len(keys), " ", strings.Join(keys, " "))
}

// call makes a call. It returns its line, the reply of the model, and whether anything may change.
func (p *termsRun) call() (line, want string, changes bool) {
	m := p.m
	switch n := p.r.IntN(20); {
	case n < 6:
		id, keys := p.id(), p.someKeys()
		terms, text := p.terms(keys, id)
		peek, full, shadow := p.r.IntN(5) == 0, p.r.IntN(2) == 0, p.r.IntN(2) == 0
		line = joined("RL.MALLOW", keys) + text
		if peek {
			line += " PEEK"
		}
		if full {
			line += " FULL"
		}
		if shadow {
			line += " SHADOW"
		}
		if strings.Contains(line, "SLOTS") {
			line += " ID " + id
		}
		want, changes = m.call(terms, peek, full, shadow, "", 0)
	case n < 11:
		id, keys := p.id(), p.someKeys()
		if p.r.IntN(4) == 0 {
			if keys, id = p.holdKeys(); len(keys) == 2 && keys[0] == keys[1] {
				keys = keys[:1]
			}
		}
		terms, text := p.terms(keys, id)
		full, holdMs := p.r.IntN(2) == 0, p.pick(1, 500, 20_000)
		line = joined("RL.MRESERVE", keys) + text + fmt.Sprint(" HOLD ", holdMs, " ID ", id)
		if full {
			line += " FULL"
		}
		want, changes = m.call(terms, false, full, false, holdNameOf(keys[0], id), holdMs)
	case n < 14:
		keys, id := p.holdKeys()
		line = joined("RL.MSETTLE", keys) + " " + id
		actuals := make([]int64, len(keys))
		for i := range actuals {
			actuals[i] = p.pick(0, 1, 2, 4, 9)
			line += fmt.Sprint(" ", actuals[i])
		}
		want, changes = m.settle(keys, id, actuals)
	case n < 16:
		keys, id := p.holdKeys()
		line = joined("RL.MCANCEL", keys) + " " + id
		want, changes = m.settle(keys, id, nil)
	case n < 17:
		key, id := fmt.Sprint("s", 1+p.r.IntN(2)), p.id()
		line, want = "RL.RELEASE "+key+" "+id, "0"
		if k := m.keys[key].(*slotsTermKey); k.ends[id] != 0 {
			delete(k.ends, id)
			want, changes = "1", true
		}
	case n < 18:
		name := p.someKeys()[0]
		if p.r.IntN(2) == 0 {
			name = holdNameOf(name, p.id())
		}
		line = "DEL " + name
		want = fmt.Sprint(m.del(name))
		if name[0] == 's' { // its slots may have ended in this millisecond, in which the key still exists
			want = fmt.Sprint(p.b.call("EXISTS", name).Int())
		}
		changes = true
	default: // an error: the last key, or none, is not as the term wants it
		keys := p.someKeys()
		_, text := p.terms(keys, "x")
		line = joined("RL.MALLOW", append(keys, "other")) + text
		if p.r.IntN(2) == 0 {
			line = joined("RL.MRESERVE", append(keys, "other")) + text
		}
		line += p.pickWord(" TERM 1 1", " TERM 1 1 COST 0", " TERM SLOTS 1 LEASE 1", "")
		if strings.HasPrefix(line, "RL.MRESERVE") {
			line += " HOLD 1s"
		}
		line, want = line+" ID err", "error"
	}
	return line, want, changes
}

func (p *termsRun) pickWord(of ...string) string { return of[p.r.IntN(len(of))] }

// runTerms runs a history and returns the first difference from the model.
func runTerms(seed uint64, steps int, fault string) (p *termsRun, err error) {
	p = &termsRun{b: newBench(), r: rand.New(rand.NewPCG(seed, 3))}
	p.m = &termsModel{
		nowMs: fuzzNowMs, holds: map[string]*modelTermsHold{}, fault: fault,
		keys: map[string]termKey{
			"l1": &logTermKey{}, "l2": &logTermKey{}, "f1": &fixedTermKey{}, "f2": &fixedTermKey{},
			"s1": &slotsTermKey{ends: map[string]int64{}}, "s2": &slotsTermKey{ends: map[string]int64{}},
		},
	}
	b, m := p.b, p.m
	b.call("SET", "other", "text")
	for i := range steps {
		m.advance(p.pick(0, 0, 0, 0, 1, 7, 50, 100, 333, 1000, 1001))
		b.ctx.NowMs, b.ctx.NowUs = m.nowMs, m.nowMs*1000
		b.ctx.Reset()
		line, want, changes := p.call()
		times, before := 1, ""
		if !changes {
			before = b.dump()
		}
		if !changes && p.r.IntN(4) == 0 { // what changes nothing repeats its reply
			times = 2
		}
		for range times {
			b.ctx.Reset()
			v := b.call(split(line)...)
			got := show(v)
			if v.IsError() && want == "error" {
				got = want
				p.refused++
			}
			if got != want {
				return p, fmt.Errorf("seed %d, step %d, %s: got %s, want %s", seed, i, line, got, want)
			}
		}
		switch {
		case !changes:
			p.denied++
			if after := b.dump(); after != before {
				return p, fmt.Errorf("seed %d, step %d, %s: changes\n%s\nto\n%s",
					seed, i, line, before, after)
			}
		case strings.HasPrefix(line, "RL.MS") || strings.HasPrefix(line, "RL.MC"):
			p.settled++
		default:
			p.took++
		}
		for name, k := range m.keys {
			if got, want := contentsOf(b, name, m.nowMs), k.contents(); got != want {
				return p, fmt.Errorf("seed %d, step %d, %s: %s holds %s, want %s",
					seed, i, line, name, got, want)
			}
		}
		for name, h := range m.holds {
			if at := b.call("PEXPIRETIME", name).Int(); at != h.endMs {
				return p, fmt.Errorf("seed %d, step %d, %s: %s expires at %d, want %d",
					seed, i, line, name, at, h.endMs)
			}
		}
	}
	return p, nil
}

func TestTermsModel(t *testing.T) {
	seeds := uint64(race.Fewer(60))
	var denied, took, settled, refused int
	for seed := range seeds {
		p, err := runTerms(seed, 120, "")
		require.NoError(t, err)
		denied, took, settled, refused = denied+p.denied, took+p.took, settled+p.settled, refused+p.refused
	}
	for _, n := range []int{denied, took, settled, refused} {
		require.Greater(t, n, int(seeds)*5, "%d %d %d %d", denied, took, settled, refused)
	}
	// The comparison detects every fault of the model.
	for _, fault := range []string{
		"reserves twice", "settles twice", "the first key takes", "the least remaining binds", "slots stay",
		"a shadow is denied", "a shadow has no mark", "a shadow takes",
	} {
		found := false
		for seed := uint64(0); seed < seeds && !found; seed++ {
			_, err := runTerms(seed, 120, fault)
			found = err != nil
		}
		require.True(t, found, fault)
	}
}
