package server_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// The replies to calls with terms over several keys, to those that settle, cancel and release what they took,
// must be linearizable, too. Keys a and b are logs, c is a count of FIXED, and s and t are slots. As in
// linState, the clock moves in steps.

const (
	linClients = 64
	linIDs     = 3 * linClients / 2 // every one of two clients
	linFixed   = 2                  // keys: below it are logs
	linSlots   = 3                  // and from it on slots
)

// linTermsCall is a call with terms, MALLOW or MRESERVE, or one about what an id took.
type linTermsCall struct {
	name    string // MALLOW, MRESERVE, MSETTLE, MCANCEL, RELEASE, ADVANCE
	id      int
	terms   []linTerm
	actuals []int
	waitMs  int // of a call with WAIT
	from    int // how many steps had ended when it began
	line    []string
}

// linTerm is a term over a key. Its window or lease is linWindowMs.
type linTerm struct{ key, limit, cost int }

func (c linTermsCall) command() (name string, line []string) { return c.name, c.line }

func newLinTermsCall(name string, id int, actuals []int, terms ...linTerm) linTermsCall {
	c := linTermsCall{name: name, id: id, terms: terms, actuals: actuals}
	keys, texts := "", ""
	for _, t := range terms {
		keys += " " + string("abcst"[t.key])
		switch {
		case t.key >= linSlots:
			texts += fmt.Sprintf(" TERM SLOTS %d LEASE %d", t.limit, linWindowMs)
		case t.key == linFixed:
			texts += fmt.Sprintf(" TERM %d %d ALGO FIXED COST %d", t.limit, linWindowMs, t.cost)
		default:
			texts += fmt.Sprintf(" TERM %d %d COST %d", t.limit, linWindowMs, t.cost)
		}
	}
	line := fmt.Sprint("RL.", name, " ", len(terms), keys)
	switch name {
	case "ADVANCE":
		line = fmt.Sprint("DEBUG CLOCK ADVANCE ", linStepMs)
	case "RELEASE":
		line = fmt.Sprint("RL.RELEASE", keys, " ", id)
	case "MALLOW":
		if line += texts + " FULL"; strings.Contains(texts, "SLOTS") {
			line += fmt.Sprint(" ID ", id)
		}
	case "MRESERVE":
		line += fmt.Sprint(texts, " HOLD 1h ID ", id, " FULL")
	default:
		line += fmt.Sprint(" ", id)
		for _, n := range actuals {
			line += fmt.Sprint(" ", n)
		}
	}
	if c.line = strings.Fields(line); c.peeks() {
		script := "return {redis.call(unpack(ARGV)), redis.call(" + linPeek + ")}"
		c.line = append([]string{"EVAL", script, "0"}, c.line...)
	}
	return c
}

// peeks reports whether a call is made in a script that peeks at all keys, too. Otherwise the reply would say
// too little of the state for the check to end in time.
func (c *linTermsCall) peeks() bool {
	return c.name == "MSETTLE" || c.name == "MCANCEL" || c.name == "RELEASE"
}

// linPeek is the arguments of the peek in Lua, of linPeekTerms.
const linPeek = "'RL.MALLOW', 5, 'a', 'b', 'c', 's', 't', 'TERM', 100000, 1200, 'TERM', 100000, 1200, " +
	"'TERM', 100000, 1200, 'ALGO', 'FIXED', 'TERM', 'SLOTS', 100, 'LEASE', 1200, 'TERM', 'SLOTS', 100, " +
	"'LEASE', 1200, 'PEEK', 'FULL', 'ID', 'peek'"

var linPeekTerms = []linTerm{{0, 100_000, 1}, {1, 100_000, 1}, {2, 100_000, 1}, {3, 100, 1}, {4, 100, 1}}

// linTermsState is the state of the model. It is comparable.
type linTermsState struct {
	linState
	fixed  linFixedState
	leases [2][linIDs]int // 1 and the step in which they began; 0: none
	holds  [linIDs]linHold
}

// linFixedState is a count and the millisecond at which it ends, both 0 for no key.
type linFixedState struct{ count, endMs int }

// linHold is what an id reserved: the first reply, when, the end of the count of FIXED, and, of a hold that
// is settled, the replies of RL.MSETTLE and RL.MCANCEL.
type linHold struct {
	reply, settled, canceled string
	step, endMs              int
}

// linTermsFaults are deliberate faults of the model.
type linTermsFaults struct {
	linFaults
	settlesTwice, slotsStay, excessIsFree, ignoresTheLast bool
}

func (s *linTermsState) nowMs() int { return startNowMs%linWindowMs + s.step*linStepMs }

func (s *linTermsState) nextEndMs() int {
	return max(s.fixed.endMs, (s.nowMs()/linWindowMs+1)*linWindowMs)
}

// decide returns the five numbers of a term before it takes anything.
func (m linTermsFaults) decide(s *linTermsState, t linTerm, id int) (d [5]int) {
	switch {
	case t.key < linFixed:
		return m.linFaults.decide(&s.linState, t.key, t.limit, t.cost)
	case t.key == linFixed:
		if s.nowMs() < s.fixed.endMs {
			d[4] = s.fixed.endMs - s.nowMs()
		}
		d[1], d[2] = t.limit, max(t.limit-s.fixed.count, 0)
		switch {
		case t.cost > t.limit:
			d[3] = -1
		case s.fixed.count+t.cost > t.limit:
			d[3] = d[4]
		default:
			d[0] = t.cost
		}
		return d
	}
	var ends []int
	leases := &s.leases[t.key-linSlots]
	for _, begun := range leases {
		if begun > 0 {
			ends = append(ends, (begun-1-s.step)*linStepMs+linWindowMs)
		}
	}
	slices.Sort(ends)
	d[1], d[2] = t.limit, max(t.limit-len(ends), 0)
	if len(ends) > 0 {
		d[4] = ends[len(ends)-1]
	}
	if len(ends) < t.limit || leases[id] > 0 {
		d[0] = 1
	} else {
		d[3] = ends[len(ends)-t.limit]
	}
	return d
}

// take takes what decide admitted.
func (s *linTermsState) take(t linTerm, id int, d *[5]int) {
	switch {
	case t.key < linFixed:
		s.admit(t.key, d)
	case t.key == linFixed:
		s.fixed.endMs = s.nextEndMs()
		s.fixed.count += d[0]
		d[2], d[4] = d[2]-d[0], s.fixed.endMs-s.nowMs()
	default:
		leases := &s.leases[t.key-linSlots]
		if leases[id] == 0 {
			d[2]--
		}
		leases[id], d[4] = s.step+1, linWindowMs
	}
}

// settle settles a hold and sets its replies.
func (m linTermsFaults) settle(s *linTermsState, h *linHold, c *linTermsCall) {
	var settled, canceled []string
	for i, t := range c.terms {
		actual := 0
		if c.actuals != nil {
			actual = c.actuals[i]
		}
		if t.key >= linSlots {
			lease := &s.leases[t.key-linSlots][c.id]
			released := min(*lease, 1)
			if !m.slotsStay {
				*lease = 0
			}
			settled, canceled = append(settled, "[0 0]"), append(canceled, fmt.Sprint(released))
			continue
		}
		held := 0
		switch {
		case t.key < linFixed:
			if m.counts(&s.linState, h.step) {
				held = t.cost
			}
		case h.endMs == s.fixed.endMs:
			held = min(t.cost, s.fixed.count)
		}
		excess, released := max(actual-t.cost, 0), min(max(t.cost-actual, 0), held)
		settled = append(settled, fmt.Sprintf("[%d %d]", held-released+excess, excess))
		canceled = append(canceled, fmt.Sprint(released))
		if m.excessIsFree {
			excess = 0
		}
		switch {
		case t.key < linFixed:
			s.units[t.key][h.step] -= released
			s.units[t.key][s.step] += excess
		case excess > 0:
			s.fixed = linFixedState{s.fixed.count + excess, s.nextEndMs()}
		case released > 0:
			if s.fixed.count -= released; s.fixed.count == 0 {
				s.fixed.endMs = 0
			}
		}
	}
	h.settled = "[" + strings.Join(settled, " ") + "]"
	h.canceled = "[" + strings.Join(canceled, " ") + "]"
}

// step returns the reply to a call and the state after it.
func (m linTermsFaults) step(s linTermsState, c linTermsCall) (string, linTermsState) {
	reply, after := m.call(s, c)
	if !c.peeks() {
		return reply, after
	}
	index, answers := 0, make([][5]int, len(linPeekTerms))
	for i, t := range linPeekTerms {
		answers[i] = m.decide(&after, t, linIDs-2)
		if binds(answers[i], answers[index]) {
			index = i
		}
	}
	return "[" + reply + " " + fullReply(index, answers) + "]", after
}

// fullReply returns the reply of a call with FULL.
func fullReply(index int, answers [][5]int) string {
	reply := fmt.Sprint("[", index+1)
	for _, d := range answers {
		reply += fmt.Sprint(" ", d)
	}
	return reply + "]"
}

// call is step without the peek.
func (m linTermsFaults) call(s linTermsState, c linTermsCall) (string, linTermsState) {
	h := &s.holds[c.id]
	switch c.name {
	case "ADVANCE":
		s.step++
		if s.nowMs() >= s.fixed.endMs { // what the key holds then does not count, and gives nothing back
			s.fixed = linFixedState{}
		}
		for i := range s.leases {
			for id, begun := range s.leases[i] {
				if begun > 0 && (s.step-begun+1)*linStepMs >= linWindowMs {
					s.leases[i][id] = 0
				}
			}
		}
		return "OK", s
	case "RELEASE":
		lease := &s.leases[c.terms[0].key-linSlots][c.id]
		released := min(*lease, 1)
		*lease = 0
		return fmt.Sprint(released), s
	case "MSETTLE", "MCANCEL":
		if h.reply == "" {
			return "0", s
		}
		if h.settled == "" || m.settlesTwice {
			m.settle(&s, h, &c)
		}
		if c.name == "MSETTLE" {
			return h.settled, s
		}
		return h.canceled, s
	}
	if c.name == "MRESERVE" && h.reply != "" {
		return h.reply, s
	}
	before, binding, denied := s, [5]int{}, false
	answers := make([][5]int, len(c.terms))
	index := 0
	for i, t := range c.terms {
		answers[i] = m.decide(&s, t, c.id)
		last := len(c.terms) > 1 && i == len(c.terms)-1
		denied = denied || answers[i][0] == 0 && (!m.ignoresTheLast || !last)
		if answers[i][0] > 0 {
			s.take(t, c.id, &answers[i])
		}
		if i == 0 || binds(answers[i], binding) {
			index, binding = i, answers[i]
		}
	}
	if denied {
		s = before
		for i, t := range c.terms {
			answers[i] = m.decide(&s, t, c.id)
		}
	}
	reply := fullReply(index, answers)
	if c.name == "MRESERVE" && !denied {
		s.holds[c.id] = linHold{reply: reply, step: s.step, endMs: s.fixed.endMs}
	}
	return reply, s
}

// A linSearch looks for an order of the calls of a history that explains its replies. A call that explains
// its reply and changes nothing comes first at once, which loses no order. Porcupine would try each set of
// them, and there are too many of so many clients.
type linSearch struct {
	linTermsFaults
	ops   []porcupine.Operation
	done  []byte // '1' of those that are in the order
	tried map[linNode]bool
}

type linNode struct {
	done  string
	state linTermsState
}

func (m linTermsFaults) explains(history []porcupine.Operation) bool {
	p := linSearch{m, history, bytes.Repeat([]byte{'0'}, len(history)), map[linNode]bool{}}
	return p.from(linTermsState{})
}

// from reports whether there is an order of the calls not done, from a state on.
func (p *linSearch) from(s linTermsState) bool {
	begun := bytes.Clone(p.done)
	type choice struct {
		op    int
		after linTermsState
	}
	var choices []choice
	for again := true; again; {
		again, choices = false, choices[:0]
		before := int64(math.MaxInt64) // a call that is next began by then
		for i := range p.ops {
			if p.done[i] == '0' {
				before = min(before, p.ops[i].Return)
			}
		}
		if before == math.MaxInt64 {
			return true
		}
		for i := range p.ops {
			if p.done[i] != '0' || p.ops[i].Call > before {
				continue
			}
			c := p.ops[i].Input.(linTermsCall)
			reply, after := p.step(s, c)
			switch {
			case !c.answers(&s, reply, p.ops[i].Output.(string)):
			case after == s:
				p.done[i], again = '1', true
			default:
				choices = append(choices, choice{i, after})
			}
		}
	}
	node := linNode{string(p.done), s}
	if !p.tried[node] {
		p.tried[node] = true
		for _, c := range choices {
			p.done[c.op] = '1'
			if p.from(c.after) {
				return true
			}
			p.done[c.op] = '0'
		}
	}
	copy(p.done, begun)
	return false
}

// linTermsFirst are calls of a single client that no faulty model explains. Their id is no client's.
var linTermsFirst = func() []linTermsCall {
	const id = linIDs - 1
	a, b, c, s := linTerm{0, 9, 3}, linTerm{1, 9, 9}, linTerm{2, 9, 4}, linTerm{3, 1, 1}
	return []linTermsCall{
		newLinTermsCall("MALLOW", id, nil, a, b),
		newLinTermsCall("MALLOW", id, nil, a, b),             // b denies, a does not take
		newLinTermsCall("MALLOW", id, nil, linTerm{1, 9, 1}), // one more than there is
		newLinTermsCall("MRESERVE", id, nil, s, c, a),
		newLinTermsCall("MRESERVE", id, nil, s, c, a),
		newLinTermsCall("MSETTLE", id, []int{0, 1, 5}, s, c, a),
		newLinTermsCall("MCANCEL", id, nil, s, c, a), // settled
		newLinTermsCall("MALLOW", id-1, nil, c, s, a),
		newLinTermsCall("ADVANCE", 0, nil),
		newLinTermsCall("ADVANCE", 0, nil),
		newLinTermsCall("ADVANCE", 0, nil),
	}
}()

// linTermsOf returns the terms of an id, over some keys in some order. Costs are large and random, so that
// replies say which calls came before.
func linTermsOf(r *rand.Rand) (terms []linTerm) {
	for _, key := range r.Perm(5)[:3+r.IntN(2)] {
		t := linTerm{key, []int{10_000, 20_000}[r.IntN(2)], 1 + r.IntN(1000)}
		if key >= linSlots {
			t.limit, t.cost = 12, 1
		}
		terms = append(terms, t)
	}
	return terms
}

// randomLinTermsCall returns a call about an id with terms.
func randomLinTermsCall(r *rand.Rand, id int, terms []linTerm) linTermsCall {
	switch r.IntN(8) {
	case 0:
		return newLinTermsCall("MALLOW", id, nil, linTermsOf(r)...)
	case 1:
		return newLinTermsCall("RELEASE", id, nil, linTerm{key: linSlots + r.IntN(2)})
	case 2:
		return newLinTermsCall("MCANCEL", id, nil, terms...)
	case 3, 4:
		actuals := make([]int, len(terms))
		for i := range actuals {
			actuals[i] = r.IntN(1500)
		}
		return newLinTermsCall("MSETTLE", id, actuals, terms...)
	}
	return newLinTermsCall("MRESERVE", id, nil, terms...)
}

// recordTerms runs random calls of many clients at once, in several turns. The clock moves between them.
func (p *linRun) recordTerms(seed uint64, clients int) []porcupine.Operation {
	const turns, calls = 4, 2
	t := p.t
	var h linHistory
	first := connect(t, p.callees[0])
	for _, c := range linTermsFirst {
		require.NoError(t, h.run(p, 0, first, c))
	}
	ids := rand.New(rand.NewPCG(seed, linClients))
	var terms [linIDs][]linTerm
	for id := range terms {
		terms[id] = linTermsOf(ids)
	}
	wires, rs := make([]*wire, clients), make([]*rand.Rand, clients)
	for i := range wires {
		wires[i], rs[i] = connect(t, p.callees[i%len(p.callees)]), rand.New(rand.NewPCG(seed, uint64(i)))
	}
	failed := make(chan error, turns*clients)
	for turn := range turns {
		var ready, all sync.WaitGroup
		ready.Add(clients)
		for client := range clients {
			id := client / 2 * 3 // of two clients
			if turn >= turns/2 {
				id++
			}
			all.Go(func() {
				ready.Done()
				ready.Wait()
				for range calls {
					c := randomLinTermsCall(rs[client], id, terms[id])
					if err := h.run(p, client, wires[client], c); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, h.run(p, 0, first, newLinTermsCall("ADVANCE", 0, nil)))
	}
	close(failed)
	require.NoError(t, <-failed)
	return h.ops
}

func TestTermsLinearizable(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			requireTermsLinearizable(t, newLinRun(t, 0).recordTerms(seed, linClients))
		})
	}
}

// requireTermsLinearizable fails the test, and shows the history, if no order of its calls explains it.
func requireTermsLinearizable(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	if (linTermsFaults{}).explains(history) {
		return
	}
	for _, op := range history {
		t.Log(op.ClientId, op.Call, op.Return, op.Input.(linTermsCall).line, "->", op.Output)
	}
	t.Fatal("no order of the calls explains the replies")
}

// TestTermsLinearizableRejects proves that the check can fail: a faulty model explains no history.
func TestTermsLinearizableRejects(t *testing.T) {
	history := newLinRun(t, 0).recordTerms(9, linClients)
	require.True(t, linTermsFaults{}.explains(history))
	for name, wrong := range map[string]linTermsFaults{
		"settles twice":                       {settlesTwice: true},
		"slots stay after their hold":         {slotsStay: true},
		"an excess does not count":            {excessIsFree: true},
		"takes although the last term denies": {ignoresTheLast: true},
		"admits one more than the limit":      {linFaults: linFaults{limitOneMore: true}},
		"units never expire":                  {linFaults: linFaults{neverExpires: true}},
	} {
		require.False(t, wrong.explains(history), name)
	}
	swapped := slices.Clone(history) // two replies, the last of them of one that was concurrent
	swapped[2].Output, swapped[len(history)/2].Output = swapped[len(history)/2].Output, swapped[2].Output
	require.False(t, linTermsFaults{}.explains(swapped), "swapped")
}
