package commands

import (
	"bytes"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// A sortPattern is the argument of BY or GET: a key, in which the element replaces the
// first *, and optionally a field. Redis searches for *, -> and # up to a NUL byte, but
// uses the whole pattern.
type sortPattern struct {
	element        bool // #: the element itself
	hasStar        bool // there is a *; otherwise nothing is looked up
	prefix, suffix []byte
	field          []byte // nil: the key holds a string
}

func parseSortPattern(pattern []byte) *sortPattern {
	text := cString(pattern)
	if string(text) == "#" {
		return &sortPattern{element: true}
	}
	star := bytes.IndexByte(text, '*')
	if star < 0 {
		return &sortPattern{}
	}
	p := &sortPattern{hasStar: true, prefix: pattern[:star], suffix: pattern[star+1:]}
	if arrow := bytes.Index(text[star+1:], []byte("->")); arrow >= 0 && star+1+arrow+2 < len(text) {
		p.suffix, p.field = p.suffix[:arrow], p.suffix[arrow+2:]
	}
	return p
}

// value returns the pattern's value for an element, or null if there is none.
func (p *sortPattern) value(c *Ctx, element string) resp.Value {
	if p.element {
		return resp.Bulk(element)
	}
	if text, ok := p.lookup(c, element); ok {
		return c.Copy(text)
	}
	return resp.Null
}

// lookup returns the pattern's value for an element, valid until the key changes. It
// reports false if the key or field does not exist or the key has another type.
func (p *sortPattern) lookup(c *Ctx, element string) (text []byte, ok bool) {
	switch {
	case p.element:
		return []byte(element), true
	case !p.hasStar:
		return nil, false
	}
	key := make([]byte, 0, len(p.prefix)+len(element)+len(p.suffix))
	key = append(append(append(key, p.prefix...), element...), p.suffix...)
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
