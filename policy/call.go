package policy

import (
	"errors"
	"math"
	"strconv"
)

// Errors of requests that no policy can decide.
var (
	ErrUnknownDomain = errors.New("no file of rl-policies has this domain")
	ErrUnit          = errors.New("the limit's unit is unknown")
	ErrDescriptors   = errors.New("the descriptors of one request are too many, or empty")
	ErrLong          = errors.New("the keys and values of one request are longer than 65536 bytes")
)

// Bounds of a request.
const (
	MaxDescriptors = 128
	MaxEntries     = 32      // of a descriptor
	maxBytes       = 1 << 16 // of the domain, the keys and the values
)

// The capacities of a Matcher's buffers that Trim leaves.
const (
	maxKept       = 1 << 12
	maxKeptLimits = 64
)

// An Override is a limit that a request brings itself, in the place of a policy's.
type Override struct {
	Requests uint32
	Unit     Unit
}

// A Descriptor is what one limit is looked up for.
type Descriptor struct {
	Entries  []Entry
	Override *Override
	Hits     int64 // from 0 on
}

// A Limit is what applies to a descriptor of a request. What it refers to is valid until the Matcher's next
// Resolve.
type Limit struct {
	Policy *Policy // nil: none, or the limit is the request's own
	Key    []byte  // nil: nothing is to be decided
	name   []byte  // to count under

	Own      bool // the limit is the request's own
	Requests uint32
	Unit     Unit // of Envoy's form; UnknownUnit for one of ours

	Replaced bool // a limit of another descriptor replaces it
	cost     int64
	window   []byte // of the request's own
}

// Resolve looks the limits of a request's descriptors up. The domain is nil if no file has it; then no
// descriptor has a limit. Limits that another one of the request replaces are marked.
func (s *Set) Resolve(m *Matcher, domain []byte, descriptors []Descriptor) (*Domain, []Limit, error) {
	m.text, m.arena, m.limits = m.text[:0], m.arena[:0], m.limits[:0]
	if len(descriptors) == 0 || len(descriptors) > MaxDescriptors {
		return nil, nil, ErrDescriptors
	}
	if isLong(domain, descriptors) {
		return nil, nil, ErrLong
	}
	d := s.Domain(domain)
	if d == nil && s.RefusesUnknown {
		return nil, nil, ErrUnknownDomain
	}
	replaces := false
	for i := range descriptors {
		ds := &descriptors[i]
		if len(ds.Entries) > MaxEntries {
			return nil, nil, ErrDescriptors
		}
		l := Limit{cost: ds.Hits}
		switch {
		case d == nil:
		case ds.Override != nil:
			if !ds.Override.Unit.Valid() {
				return nil, nil, ErrUnit
			}
			m.own(&l, d, ds)
		default:
			m.find(s, &l, d, ds)
		}
		replaces = replaces || l.Policy != nil && len(l.Policy.Replaces) > 0
		m.limits = append(m.limits, l)
	}
	if replaces {
		markReplaced(m.limits)
	}
	return d, m.limits, nil
}

// isLong reports whether the texts of a request are longer than maxBytes.
func isLong(domain []byte, descriptors []Descriptor) bool {
	size := len(domain)
	for i := range descriptors {
		for _, e := range descriptors[i].Entries {
			size += len(e.Key) + len(e.Value)
		}
	}
	return size > maxBytes
}

// Trim frees buffers that have grown for a large request. What Resolve and Call have returned stays valid.
func (m *Matcher) Trim() {
	if cap(m.arena) > maxKept || cap(m.limits) > maxKeptLimits {
		m.arena, m.words, m.limits = nil, nil, nil // which refer to it
	}
	if cap(m.text) > maxKept {
		m.text = nil
	}
}

// own sets l to the limit that a descriptor brings.
func (m *Matcher) own(l *Limit, d *Domain, ds *Descriptor) {
	var none match
	l.Own, l.Requests, l.Unit = true, ds.Override.Requests, ds.Override.Unit
	l.Key = m.keep(none.appendKey(m.arena, d, ds.Entries, l.Unit))
	l.name = m.keep(appendOverrideName(m.arena, d, ds.Entries))
	l.window = m.keep(append(strconv.AppendInt(m.arena, l.Unit.Seconds(), 10), 's'))
}

// find sets l to the limit of the policy that a descriptor matches, if there is one.
func (m *Matcher) find(s *Set, l *Limit, d *Domain, ds *Descriptor) {
	found := m.match(d, ds.Entries)
	p := found.policy
	if p == nil {
		return
	}
	l.Policy, l.Requests, l.Unit = p, p.Requests, p.Unit
	l.cost = multiply(ds.Hits, p.Cost)
	l.name = p.nameBytes
	if p.dynamic {
		if name := m.keep(found.appendName(m.arena, d, ds.Entries)); s.registry.detail(p, name) != nil {
			l.name = name
		}
	}
	if !p.Unlimited {
		l.Key = m.keep(found.appendKey(m.arena, d, ds.Entries, l.Unit))
	}
}

// keep returns what was appended to the arena, which grows by it.
func (m *Matcher) keep(longer []byte) []byte {
	n := len(m.arena)
	m.arena = longer
	return longer[n:len(longer):len(longer)]
}

func multiply(a, b int64) int64 {
	if b > 1 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// markReplaced marks the limits whose title another one of the request replaces, but not those that are
// unlimited.
func markReplaced(limits []Limit) {
	for i := range limits {
		p := limits[i].Policy
		if p == nil {
			continue
		}
		for _, title := range p.Replaces {
			for j := range limits {
				if of := limits[j].Policy; of != nil && of.Title == title && !of.Unlimited {
					limits[j].Replaced = true
				}
			}
		}
	}
}

// Decides reports whether a decision about the limit is needed.
func (l *Limit) Decides() bool { return l.Key != nil && !l.Replaced }

// Name returns what the decision is counted under.
func (l *Limit) Name() []byte { return l.name }

// Cost returns the units that the descriptor asks for.
func (l *Limit) Cost() int64 { return l.cost }

// Charges reports whether denied hits count too; see Policy.Charges.
func (l *Limit) Charges(d *Domain) bool {
	if l.Own {
		return !d.All
	}
	return l.Policy.charges
}

// Shadow reports whether a denial is answered as an admission.
func (l *Limit) Shadow() bool { return l.Policy != nil && (l.Policy.Shadow || l.Policy.Quota) }

// Options are the options of a call.
type Options struct {
	Peek    bool
	Full    bool
	Explain bool   // nothing is decided
	ID      []byte // of who takes slots; nil: none are taken
}

// The words of a call.
var (
	wordCheck   = []byte("RL.CHECK")
	wordTerm    = []byte("TERM")
	wordAlgo    = []byte("ALGO")
	wordFixed   = []byte(fixed)
	wordCost    = []byte("COST")
	wordPolicy  = []byte("POLICY")
	wordCharge  = []byte("CHARGE")
	wordPeek    = []byte("PEEK")
	wordShadow  = []byte("SHADOW")
	wordFull    = []byte("FULL")
	wordExplain = []byte("EXPLAIN")
	wordID      = []byte("ID")
)

// Call returns the call that decides limits of a domain together, in the form that only RL.CHECK has:
// RL.CHECK numkeys key [key ...] TERM ... COST n POLICY name [TERM ...] [CHARGE] [PEEK] [SHADOW] [FULL]
// [EXPLAIN] [ID id]. Limits without a decision are left out; without any, it is RL.CHECK 0 COST n POLICY name
// with what the first limit counts, or RL.CHECK 0 EXPLAIN. The words are valid until the Matcher's next Call.
func (m *Matcher) Call(d *Domain, limits []Limit, o Options) [][]byte {
	w, numKeys, slots := append(m.words[:0], wordCheck, nil), 0, false
	for i := range limits {
		if l := &limits[i]; l.Decides() {
			w = append(w, l.Key)
			if numKeys++; l.hasSlots(&o) {
				w = append(w, m.slotsKey(d, l.Key))
				slots = true
				numKeys++
			}
		}
	}
	if w[1] = m.number(int64(numKeys)); numKeys == 0 {
		m.words = m.keyless(w, &limits[0], &o)
		return m.words
	}
	charges, shadow := false, false
	for i := range limits {
		l := &limits[i]
		if !l.Decides() {
			continue
		}
		charges, shadow = charges || l.Charges(d), shadow || l.Shadow()
		if l.Own {
			w = append(w, wordTerm, m.number(int64(l.Requests)), l.window, wordAlgo, wordFixed)
		} else {
			w = append(w, l.Policy.term...)
		}
		w = append(w, wordCost, m.number(l.cost), wordPolicy, l.name)
		if l.hasSlots(&o) {
			w = append(w, l.Policy.slots...)
		}
	}
	for _, option := range [...]struct {
		given bool
		word  []byte
	}{
		{charges, wordCharge},
		{o.Peek, wordPeek},
		{shadow, wordShadow},
		{o.Full, wordFull},
		{o.Explain, wordExplain},
	} {
		if option.given {
			w = append(w, option.word)
		}
	}
	if slots && o.ID != nil {
		w = append(w, wordID, o.ID)
	}
	m.words = w
	return w
}

// keyless appends what follows the number of keys of a call without any.
func (m *Matcher) keyless(w [][]byte, l *Limit, o *Options) [][]byte {
	if o.Explain {
		return append(w, wordExplain)
	}
	units := l.cost
	if o.Peek {
		units = 0
	}
	return append(w, wordCost, m.number(units), wordPolicy, l.name)
}

// hasSlots reports whether a call with options o takes a slot, too.
func (l *Limit) hasSlots(o *Options) bool {
	return o.ID != nil && l.Policy != nil && l.Policy.slots != nil
}

// slotsKey appends the name of the key of a policy's slots: the other key's, as a hash tag unless it has one,
// and ":slots".
func (m *Matcher) slotsKey(d *Domain, key []byte) []byte {
	b := m.arena
	if d.All {
		b = append(b, key...)
	} else {
		b = append(append(append(b, '{'), key...), '}')
	}
	return m.keep(append(b, ":slots"...))
}

func (m *Matcher) number(n int64) []byte { return m.keep(strconv.AppendInt(m.arena, n, 10)) }
