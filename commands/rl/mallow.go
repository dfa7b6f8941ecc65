package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// RL.MALLOW numkeys key limit window [key limit window ...] [COST n] [PEEK] [SHADOW]
// RL.MALLOW numkeys key [key ...] TERM limit window [limit window ...] [ALGO algorithm] [COST n]
// [TERM ... | TERM SLOTS max LEASE ms] ... [PEEK] [SHADOW] [FULL] [ID id] [WAIT ms]
//
// In the first form every key is a log, in the second each key has a term. The reply is the index of the
// binding key, from 1, and the five integers of RL.ALLOW for it; with FULL the index, and the five of every
// term. The call first decides all keys and changes them only if all admit it.
func rlMallow(c *commands.Ctx) resp.Value {
	m, refusal := parseMallow(c, session(c).newTerms)
	if refusal.IsError() {
		return refusal
	}
	binding, index, reply, done := m.run(c, mallows)
	if done {
		return reply
	}
	return jointReply(c, m.terms, index, &binding, m.full, m.waitMs)
}

// run decides the call, carries it out and counts it. It returns the binding decision and the index of its
// key, or reports done with the reply of a call that fails, or waits.
func (m *mallow) run(c *commands.Ctx, command decides) (
	binding limiter.Decision, index int, reply resp.Value, done bool,
) {
	by, creates, units := defaultAlgorithm, false, int64(0)
	c.DB.ReadAhead(m.names, m.step, nil)
	for i := range m.n {
		t := m.term(i)
		if refusal := t.decide(c); refusal.IsError() {
			return binding, 0, refusal, true
		}
		if t.zero {
			t.settleZero()
		}
		creates = creates || t.creates()
		units += t.d.Allowed
		if i == 0 || t.d.Binds(&binding) {
			binding, by, index = t.d, t.algo, i
		}
	}
	if m.waitMs > 0 {
		if waiting, refusal := waits(c, m.waitMs, binding.RetryAfterMs, m.names); waiting {
			return binding, 0, refusal, true
		}
	}
	switch {
	case m.peek:
	case binding.Allowed == 0 && m.charge:
		units = 0
		var refusal resp.Value
		if binding, refusal = m.chargeDenied(c); refusal.IsError() {
			return binding, 0, refusal, true
		}
	case binding.Allowed == 0:
		units = 0
		if m.n <= maxTerms {
			withdraw(c, m.terms)
		}
	default:
		if creates {
			if refusal := reserveMissing(c, m.names, m.step); refusal.IsError() {
				return binding, 0, refusal, true
			}
		}
		m.apply(c)
	}
	j := jointCall{
		command: command, names: m.names, step: m.step, call: m.call, by: by, binding: index, peek: m.peek,
		units: units, shadow: m.shadow,
	}
	if m.step == 1 {
		j.terms = m.terms
	}
	countJoint(c, &j, &binding)
	if m.shadow {
		m.admitShadow(&binding, index)
	}
	return binding, index, resp.None, false
}

// A mallow is the parsed arguments of RL.MALLOW.
type mallow struct {
	terms []term
	n     int      // number of keys
	names [][]byte // every step-th is a key
	step  int
	peek  bool
	full  bool

	shadow  bool
	charge  bool         // denied units of the only key count; of RL.CHECK
	explain bool         // nothing is decided; of RL.CHECK
	waitMs  int64        // 0: it does not wait
	call    limiter.Call // of the form without TERM
}

// term returns the term of a key. More than maxTerms, which only the first form has, share one.
func (m *mallow) term(i int) *term {
	if m.n <= maxTerms {
		return &m.terms[i]
	}
	m.fill(&m.terms[0], i)
	return &m.terms[0]
}

// fill sets t to a term of the form without TERM, which was found valid.
func (m *mallow) fill(t *term, i int) (refusal resp.Value) {
	t.reset()
	triple := m.names[i*m.step:]
	t.name, t.Call, t.n = triple[0], m.call, 1
	t.quotas[0], refusal = parseQuota(triple[1], triple[2])
	return refusal
}

// admitShadow makes denials the answer to an admitted call: that of the binding key, and with FULL of others.
func (m *mallow) admitShadow(binding *limiter.Decision, index int) {
	if m.step != 1 {
		AdmitShadow(binding, m.call.Cost)
		return
	}
	AdmitShadow(binding, m.terms[index].Cost)
	for i := range m.terms {
		AdmitShadow(&m.terms[i].d, m.terms[i].Cost)
	}
}

// apply carries out what all terms admitted.
func (m *mallow) apply(c *commands.Ctx) {
	for i := range m.n {
		t := m.term(i)
		if t.zero {
			continue
		}
		if m.n > maxTerms {
			if refusal := t.decide(c); refusal.IsError() || t.d.Units == 0 {
				panic("rl: RL.MALLOW: a key denied what it had admitted")
			}
		}
		t.content.apply(c, t)
		markFullness(c, t.name, &t.d)
	}
}

// withdraw makes what terms admitted an answer to a peek, since another one denied the call.
func withdraw(c *commands.Ctx, terms []term) {
	for i := range terms {
		t := &terms[i]
		if t.d.Units > 0 {
			t.Peek = true
			t.content.decide(c, t)
			t.Peek = false
		}
		markFullness(c, t.name, &t.d)
	}
}

// jointReply returns the reply of a call with terms. The terms are those of a call with full.
func jointReply(
	c *commands.Ctx, terms []term, index int, binding *limiter.Decision, full bool, waitMs int64,
) resp.Value {
	if !full {
		return resp.Array(waited(c, waitMs, append(c.Values(7), resp.Int(int64(index+1)),
			resp.Int(binding.Allowed), resp.Int(binding.Limit), resp.Int(binding.Remaining),
			resp.Int(binding.RetryAfterMs), resp.Int(binding.ResetAfterMs)))...)
	}
	reply := append(c.Values(2+len(terms)), resp.Int(int64(index+1)))
	for i := range terms {
		reply = append(reply, DecisionReply(c, &terms[i].d, 0))
	}
	return resp.Array(waited(c, waitMs, reply)...)
}

// parseMallow parses and validates all arguments before any key is read.
func parseMallow(c *commands.Ctx, newTerms func(n int) []term) (m mallow, refusal resp.Value) {
	numKeys, ok := store.ParseInt(c.Args[1])
	switch {
	case !ok:
		return m, errNumKeysNumber
	case numKeys < 1:
		return m, commands.ErrNumKeys
	case HasTerms(c.Args):
		return parseJoint(c, newTerms, &mallowForm)
	case numKeys > int64(len(c.Args)-2)/3:
		return m, errTriples
	}
	m = mallow{n: int(numKeys), names: c.Args[2 : 2+3*numKeys], step: 3}
	m.terms = newTerms(min(m.n, maxTerms))
	t := &m.terms[0]
	t.reset()
	r := optionReader{options: options{c.Args[2+3*numKeys:]}, allowed: mallowOptions}
	if refusal = t.parseOptions(&r, 0); refusal.IsError() {
		return m, refusal
	}
	if m.call = t.Call; m.call.Cost == 0 { // as in RL.ALLOW, a peek at one unit
		m.call = limiter.Call{Cost: 1, Peek: true}
	}
	m.peek, m.shadow = m.call.Peek, t.shadow
	for i := range m.n {
		t := &m.terms[min(i, len(m.terms)-1)]
		if refusal = m.fill(t, i); refusal.IsError() {
			return m, refusal
		}
		if refusal = t.validate(); refusal.IsError() {
			return m, refusal
		}
	}
	if name := duplicate(m.names, 3); name != nil {
		return m, NamedTwice(name)
	}
	return m, resp.None
}

// parseJoint parses and validates the arguments of a call with a term for each key.
func parseJoint(c *commands.Ctx, newTerms func(n int) []term, form *termForm) (
	m mallow, refusal resp.Value,
) {
	keys, refusal := countedKeys(c.Args)
	if refusal.IsError() {
		return m, refusal
	}
	m = mallow{n: len(keys), names: keys, step: 1, terms: newTerms(len(keys))}
	o := options{c.Args[2+len(keys):]}
	if refusal = parseTerms(m.terms, keys, &o, form); refusal.IsError() {
		return m, refusal
	}
	var id []byte
	for r := (optionReader{options: o, allowed: form.after}); r.more(); {
		option, refusal := r.next()
		switch option {
		case optPeek:
			m.peek = true
		case optShadow:
			m.shadow = true
		case optFull:
			m.full = true
		case optID:
			id, refusal = r.id()
		case optWait:
			m.waitMs, refusal = r.duration("WAIT")
		case optCharge:
			m.charge = m.n == 1
		case optExplain:
			m.explain = true
		}
		if refusal.IsError() {
			return m, refusal
		}
	}
	if refusal = checkWait(m.waitMs, m.peek, m.shadow); refusal.IsError() {
		return m, refusal
	}
	slots := false
	for i := range m.terms {
		t := &m.terms[i]
		t.id, t.Peek = id, m.peek
		slots = slots || t.algo.slots
	}
	switch {
	case slots && id == nil:
		return m, errSlotsID
	case !slots && id != nil:
		return m, errIDSlots
	}
	return m, resp.None
}

// countedKeys returns the keys of a call with a term for each, behind their number.
func countedKeys(args [][]byte) (keys [][]byte, refusal resp.Value) {
	n, ok := store.ParseInt(args[1])
	switch {
	case !ok:
		return nil, errNumKeysNumber
	case n < 1:
		return nil, commands.ErrNumKeys
	case n > maxTerms:
		return nil, errManyTerms
	case n > int64(len(args)-2):
		return nil, errFewKeys
	}
	return args[2 : 2+n], resp.None
}

// HasTerms reports whether a call of RL.MALLOW is of the form with terms: behind its keys stands TERM, as
// often as there are keys. A key without terms may be called so, where the number of keys is a multiple of
// three, but not as many of them: there keys are distinct, and a third of them stands before that place.
func HasTerms(args [][]byte) bool {
	n, ok := store.ParseInt(args[1])
	if !ok || n < 1 || n >= int64(len(args)-2) || !isTerm(args[2+n]) {
		return false
	}
	if n%3 != 0 || n*3 > int64(len(args)-2) {
		return true
	}
	found := int64(0)
	for _, word := range args[2+n:] {
		if isTerm(word) {
			found++
		}
	}
	return found >= n
}

// HasSlots reports whether a call has a term of slots.
func HasSlots(args [][]byte) bool {
	for i, word := range args {
		if isTerm(word) && i+1 < len(args) && parseOption(args[i+1], optSlots) != 0 {
			return true
		}
	}
	return false
}

func isTerm(word []byte) bool { return parseOption(word, optTerm) != 0 }

// mallowStep returns the distance of two keys of RL.MALLOW.
func mallowStep(args [][]byte) int {
	if HasTerms(args) {
		return 1
	}
	return 3
}

func mallowIsReadOnly(args [][]byte) bool {
	n, ok := store.ParseInt(args[1])
	if !ok || n < 1 {
		return false
	}
	if HasTerms(args) {
		return isPeek(args[2+n:])
	}
	if n > int64(len(args)-2)/3 {
		return false
	}
	return isPeek(args[2+3*n:])
}

// NamedTwice refuses a key that a call names twice.
func NamedTwice(name []byte) resp.Value {
	return resp.Error("ERR key " + commands.Quote(name) + " is named twice")
}

// duplicate returns a name that occurs more than once among every step-th of names,
// or nil.
func duplicate(names [][]byte, step int) []byte {
	if len(names)/step <= 16 {
		for i := 0; i < len(names); i += step {
			for j := 0; j < i; j += step {
				if string(names[i]) == string(names[j]) {
					return names[i]
				}
			}
		}
		return nil
	}
	seen := make(map[string]bool, len(names)/step)
	for i := 0; i < len(names); i += step {
		if seen[string(names[i])] {
			return names[i]
		}
		seen[string(names[i])] = true
	}
	return nil
}
