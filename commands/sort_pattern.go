package commands

import (
	"bytes"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A sortPattern is the argument of BY or GET: the key that belongs to an
// element, which takes the place of the first *, and of a hash a field. Redis
// looks for *, -> and # as C does, up to a NUL byte, and takes the rest whole.
type sortPattern struct {
	itself         bool // #: the element
	found          bool // there is a *; without one nothing is looked up
	before, behind []byte
	field          []byte // nil: the key holds a string
}

func parseSortPattern(pattern []byte) *sortPattern {
	text := cString(pattern)
	if string(text) == "#" {
		return &sortPattern{itself: true}
	}
	star := bytes.IndexByte(text, '*')
	if star < 0 {
		return &sortPattern{}
	}
	p := &sortPattern{found: true, before: pattern[:star], behind: pattern[star+1:]}
	if arrow := bytes.Index(text[star+1:], []byte("->")); arrow >= 0 && star+1+arrow+2 < len(text) {
		p.behind, p.field = p.behind[:arrow], p.behind[arrow+2:]
	}
	return p
}

// value answers what the pattern stands for, null where that does not exist.
func (p *sortPattern) value(c *Ctx, element string) resp.Value {
	if p.itself {
		return resp.Bulk(element)
	}
	if text, ok := p.lookup(c, element); ok {
		return c.Copy(text)
	}
	return resp.Null
}

// lookup returns what the pattern stands for; ok is false where the key, or its
// field, does not exist or is of another type. The text is good until the key
// changes.
func (p *sortPattern) lookup(c *Ctx, element string) (text []byte, ok bool) {
	switch {
	case p.itself:
		return []byte(element), true
	case !p.found:
		return nil, false
	}
	key := make([]byte, 0, len(p.before)+len(element)+len(p.behind))
	key = append(append(append(key, p.before...), element...), p.behind...)
	n := c.DB.Lookup(key, c.NowMs)
	if n == nil {
		return nil, false
	}
	if p.field != nil {
		h := store.HashOf(n)
		if h == nil {
			return nil, false
		}
		return h.Get(p.field)
	}
	s := store.StringOf(n)
	if s == nil {
		return nil, false
	}
	return s.Bytes(nil), true
}
