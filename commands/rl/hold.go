package rl

import (
	"bytes"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/decimal"
)

// A hold is a reservation by RL.RESERVE or RL.MRESERVE for work whose cost is not known in advance. Its units
// are ordinary units of the keys, so that readers of those need not know about holds. A hold that is never
// settled counts as its estimates. The hold itself is a string in a key of its own, which expires after
// HOLD's time,
//
//	hold <length of the id> <open or settled> <binding term, from 0> <terms>
//
// and for each term, with the key if it is not the first one, one of
//
//	<algorithm> <units> <limit> <remaining> <reset ms> <parameter> <place> <window ms> [<key length>:<key>]
//	<units> <limit> <remaining> <reset ms> <counted> <excess> <released> [<key length>:<key>]
//
// The second is that of a hold that is settled: it is no longer than the first one in most cases, so that it
// takes its place in memory. Limit, remaining and reset are from the first reply. Place is
// limiter.Change.Place. The window is how long an excess counts if the key no longer exists. The length of
// the id distinguishes "b:hold:c" of key "{a}" from "c" of key "{a}:hold:b".
//
// 0.1.0, whose holds are over one log, wrote
//
//	hold <length of the id> <score> <units> <window ms> <limit> <remaining> <reset ms> held
//	hold ... settled <counted> <excess> <released>
//
// and its units are plain entries of consecutive scores from that one on.

var holdAlgorithm = algorithm{
	name: "HOLD", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(c *commands.Ctx, n *store.Node) bool {
		_, ok := parseHold(session(c), store.StringOf(n))
		return ok
	},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		h, _ := parseHold(session(c), store.StringOf(n))
		i := emptyInfo()
		i.used = resp.Int(h.terms[0].Units)
		return i
	},
}

const maxID = 512

var (
	holdInfix  = []byte(":hold:")
	holdTag    = []byte(":hold:{")
	holdTagEnd = []byte("}:")
)

// holdName returns the name of the key of a hold whose first key is key. Over a cluster it lies in the slot
// of that key: if the key has no hash tag, the name has the key as one. A key with braces that are no hash
// tag has no such name.
func holdName(key, id []byte) commands.NameParts {
	if hasBraces(key) {
		return commands.NameParts{key, holdInfix, id}
	}
	return commands.NameParts{key, holdTag, key, holdTagEnd, id}
}

func hasBraces(key []byte) bool {
	return bytes.IndexByte(key, '{') >= 0 || bytes.IndexByte(key, '}') >= 0
}

// oldHoldName returns the name of 0.1.0, without parts if it is that of today.
func oldHoldName(key, id []byte) (parts commands.NameParts) {
	if !hasBraces(key) {
		parts = commands.NameParts{key, holdInfix, id}
	}
	return parts
}

// hold is the state of a hold.
type hold struct {
	node    *store.Node // nil: there is none
	idLen   int64
	settled bool
	binding int64
	terms   []heldTerm // in scratch space of the session
}

// A heldTerm is what a hold knows of a term.
type heldTerm struct {
	key  []byte // nil: of the first term
	algo *algorithm
	limiter.Taking
	run              bool // the units are entries of consecutive scores from Place on
	param            int64
	remaining, reset int64
	counted, excess  int64
	released         int64
	held             int64 // not in the string: what still counts
}

// last returns the score of the last entry with units of a term of LOG.
func (h *heldTerm) last() int64 {
	if h.run {
		return h.Place + h.Units - 1
	}
	return h.Place
}

// numbers returns the numeric fields in the order of the string, before the window of a term that can be
// settled.
func (h *heldTerm) numbers(settled bool) []*int64 {
	if settled {
		return []*int64{&h.Units, &h.Limit, &h.remaining, &h.reset, &h.counted, &h.excess, &h.released}
	}
	return []*int64{&h.Units, &h.Limit, &h.remaining, &h.reset, &h.param, &h.Place}
}

// valid reports whether the numbers of a term that can be settled are within the limiter's bounds: users can
// write such strings.
func (h *heldTerm) valid() bool {
	if h.Units < 1 || h.Limit < 1 || h.algo == nil {
		return false
	}
	if h.Calendar != nil && !h.algo.calendar ||
		h.Calendar == nil && (h.WindowMs < 1 || h.WindowMs >= limiter.MaxWindowMs) {
		return false
	}
	return h.algo.validHeld == nil || h.algo.validHeld(h)
}

var (
	holdPrefix  = []byte("hold ")
	holdOpen    = []byte("open")
	holdHeld    = []byte("held")
	holdSettled = []byte("settled")
	space       = []byte(" ")
)

// A holdReader reads the fields of a hold's string.
type holdReader struct {
	rest []byte
	more bool
	bad  bool
}

// skip consumes a field of this size and the space that separates it from the next one.
func (r *holdReader) skip(size int) {
	switch {
	case !r.more || size < len(r.rest) && r.rest[size] != ' ':
		r.bad = true
	case size == len(r.rest):
		r.more = false
	default:
		size++
	}
	r.rest = r.rest[size:]
}

func (r *holdReader) text() (f []byte) {
	size := bytes.IndexByte(r.rest, ' ')
	if size < 0 {
		size = len(r.rest)
	}
	f = r.rest[:size]
	r.skip(size)
	return f
}

func (r *holdReader) number(to *int64) {
	n, size := decimal.Leading(r.rest)
	r.bad = r.bad || size == 0
	*to = n
	r.skip(size)
}

// key reads a length, a colon and as many bytes.
func (r *holdReader) key() (key []byte) {
	n, size := decimal.Leading(r.rest)
	from := size + 1
	if size == 0 || n < 0 || n > int64(len(r.rest)-from) || r.rest[size] != ':' {
		r.bad = true
		return nil
	}
	key = r.rest[from : from+int(n)]
	r.skip(from + int(n))
	return key
}

func parseHold(s *Session, text *store.String) (h hold, ok bool) {
	if _, isNumber := text.Int(); isNumber {
		return h, false
	}
	rest, ok := bytes.CutPrefix(text.Bytes(nil), holdPrefix)
	if !ok {
		return h, false
	}
	r := holdReader{rest: rest, more: true}
	r.number(&h.idLen)
	if _, isNumber := store.ParseInt(firstField(r.rest)); isNumber {
		return parseOldHold(s, h, r)
	}
	state, n := r.text(), int64(0)
	h.settled = bytes.Equal(state, holdSettled)
	r.number(&h.binding)
	r.number(&n)
	r.bad = r.bad || !h.settled && !bytes.Equal(state, holdOpen)
	if r.bad || n > maxTerms || h.binding < 0 || h.binding >= n {
		return h, false
	}
	h.terms = s.newHeld(int(n))
	for i := range h.terms {
		t := &h.terms[i]
		*t = heldTerm{}
		if !h.settled {
			t.algo = named(termAlgorithms, r.text())
		}
		for _, number := range t.numbers(h.settled) {
			r.number(number)
		}
		if !h.settled {
			r.bad = t.SetWindow(r.text()) != nil || r.bad
		}
		if i > 0 {
			t.key = r.key()
		}
		if r.bad || !h.settled && !t.valid() {
			return h, false
		}
	}
	return h, !r.more
}

func firstField(text []byte) []byte {
	f, _, _ := bytes.Cut(text, space)
	return f
}

// parseOldHold is parseHold for what 0.1.0 wrote.
func parseOldHold(s *Session, h hold, r holdReader) (hold, bool) {
	h.terms = s.newHeld(1)
	t := &h.terms[0]
	*t = heldTerm{algo: &logAlgorithm}
	for _, number := range [...]*int64{&t.Place, &t.Units, &t.WindowMs, &t.Limit, &t.remaining, &t.reset} {
		r.number(number)
	}
	state := r.text()
	h.settled = bytes.Equal(state, holdSettled)
	t.run = bytes.Equal(state, holdHeld)
	if h.settled {
		for _, number := range [...]*int64{&t.counted, &t.excess, &t.released} {
			r.number(number)
		}
	}
	return h, !r.bad && !r.more && (h.settled || t.run) && t.valid()
}

// append appends the hold in the format that parseHold parses.
func (h *hold) append(b []byte) []byte {
	b = decimal.Append(append(b, holdPrefix...), h.idLen)
	state := holdOpen
	if h.settled {
		state = holdSettled
	}
	b = append(append(append(b, ' '), state...), ' ')
	b = append(decimal.Append(b, h.binding), ' ')
	b = decimal.Append(b, int64(len(h.terms)))
	for i := range h.terms {
		t := &h.terms[i]
		if !h.settled {
			b = append(append(b, ' '), t.algo.name...)
		}
		for _, n := range t.numbers(h.settled) {
			b = decimal.Append(append(b, ' '), *n)
		}
		if !h.settled {
			b = t.AppendWindow(append(b, ' '))
		}
		if i > 0 {
			b = decimal.Append(append(b, ' '), int64(len(t.key)))
			b = append(append(b, ':'), t.key...)
		}
	}
	return b
}

// line returns the hold's string, in scratch space.
func (h *hold) line(c *commands.Ctx) []byte {
	s := session(c)
	line := h.append(s.text[:0])
	keepText(&s.text, line)
	return line
}

// findHold looks up the hold of an id over keys; h.node is nil if there is none. name is that of its key, in
// scratch space. It fails if the key of the hold holds anything else, or the hold is over other keys. It
// reads ahead the memory of all these keys.
func findHold(c *commands.Ctx, keys [][]byte, id []byte) (h hold, name []byte, refusal resp.Value) {
	parts := holdName(keys[0], id)
	s := session(c)
	name = parts.Append(s.name[:0])
	keepText(&s.name, name)
	c.DB.ReadAhead(keys, 1, name)
	n := c.DB.Find(name, c.NowMs)
	if n == nil {
		if parts = oldHoldName(keys[0], id); parts[0] != nil {
			old := parts.Append(s.oldName[:0])
			keepText(&s.oldName, old)
			if n = c.DB.Find(old, c.NowMs); n != nil {
				name = old
			}
		}
	}
	if n == nil {
		return h, name, resp.None
	}
	text := store.StringOf(n)
	if text == nil {
		return h, name, commands.ErrWrongType
	}
	h, ok := parseHold(s, text)
	if !ok || h.idLen != int64(len(id)) {
		return h, name, ErrForeignHold
	}
	h.node = n
	if len(h.terms) != len(keys) {
		return h, name, ErrHoldKeys
	}
	for i := range h.terms {
		if i > 0 && !bytes.Equal(h.terms[i].key, keys[i]) {
			return h, name, ErrHoldKeys
		}
	}
	return h, name, resp.None
}
