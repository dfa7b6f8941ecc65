package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
)

// ttlOption is a deadline as SET and GETEX take it: at most one of EX, PX,
// EXAT, PXAT, and KEEPTTL (SET) or PERSIST (GETEX).
type ttlOption struct {
	word *ttlWord // nil: no option was given
	arg  []byte   // nil: the option takes none
}

// ttlWord is one of the words.
type ttlWord struct {
	name     string
	values   int  // that it takes: 0 or 1
	seconds  bool // the value counts seconds, else milliseconds
	absolute bool
}

var (
	ttlEX      = ttlWord{name: "ex", values: 1, seconds: true}
	ttlPX      = ttlWord{name: "px", values: 1}
	ttlEXAT    = ttlWord{name: "exat", values: 1, seconds: true, absolute: true}
	ttlPXAT    = ttlWord{name: "pxat", values: 1, absolute: true}
	ttlKeep    = ttlWord{name: "keepttl"}
	ttlPersist = ttlWord{name: "persist"}

	ttlOfSet   = []*ttlWord{&ttlEX, &ttlPX, &ttlEXAT, &ttlPXAT, &ttlKeep}
	ttlOfGetEx = []*ttlWord{&ttlEX, &ttlPX, &ttlEXAT, &ttlPXAT, &ttlPersist}
)

// read takes the option at the cursor if it is one of the words. The same word
// may come again, and the last one counts; two different ones exclude each
// other.
func (t *ttlOption) read(o *options, words []*ttlWord) bool {
	for _, w := range words {
		if t.word != nil && t.word != w || !o.wordWith(w.name, w.values) {
			continue
		}
		t.word = w
		if w.values > 0 {
			t.arg = o.value()
		}
		return true
	}
	return false
}

// deadline returns the deadline in unix milliseconds. Times that are not
// positive, or too large for the clock, are refused.
func (t *ttlOption) deadline(c *Ctx) (atMs int64, refusal resp.Value) {
	n, ok := parseInt(t.arg)
	if !ok {
		return 0, ErrNotInteger
	}
	if n <= 0 {
		return 0, invalidExpire(c)
	}
	if t.word.seconds {
		if n > math.MaxInt64/1000 {
			return 0, invalidExpire(c)
		}
		n *= 1000
	}
	if !t.word.absolute {
		if n > math.MaxInt64-c.NowMs {
			return 0, invalidExpire(c)
		}
		n += c.NowMs
	}
	return n, resp.None
}

// SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//
// (The name of the command alone is that of the package of sets.)
func setString(c *Ctx) resp.Value {
	var (
		ttl        ttlOption
		nx, xx, gt bool
	)
	for o := (options{c.Args[3:]}); o.more(); {
		switch {
		case !xx && o.word("nx"):
			nx = true
		case !nx && o.word("xx"):
			xx = true
		case o.word("get"):
			gt = true
		case ttl.read(&o, ttlOfSet):
		default:
			return ErrSyntax
		}
	}
	return setWith(c, c.Args[2], &ttl, nx, xx, gt)
}

// SETEX key seconds value
func setEx(c *Ctx) resp.Value {
	return setWith(c, c.Args[3], &ttlOption{&ttlEX, c.Args[2]}, false, false, false)
}

// PSETEX key milliseconds value
func psetEx(c *Ctx) resp.Value {
	return setWith(c, c.Args[3], &ttlOption{&ttlPX, c.Args[2]}, false, false, false)
}

func setWith(c *Ctx, text []byte, ttl *ttlOption, nx, xx, wantOld bool) resp.Value {
	key := c.Args[1]
	var atMs int64
	if ttl.arg != nil {
		var refusal resp.Value
		if atMs, refusal = ttl.deadline(c); refusal.IsError() {
			return refusal
		}
	}
	n := c.DB.Find(key, c.NowMs)
	reply := resp.OK
	if wantOld {
		s, refusal := stringOf(c.DB.Lookup(key, c.NowMs))
		if refusal.IsError() {
			return refusal
		}
		reply = textOf(c, s)
	}
	if nx && n != nil || xx && n == nil {
		if wantOld {
			return reply
		}
		return resp.Null
	}
	n = put(c, n, key, text, ttl.word == &ttlKeep)
	switch {
	case atMs != 0:
		c.DB.ExpireAt(n, atMs)
		c.didSet(key, text, atMs)
	case wantOld:
		c.didCallWithout("get", 3)
	}
	return reply
}

// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
func getEx(c *Ctx) resp.Value {
	var ttl ttlOption
	for o := (options{c.Args[2:]}); o.more(); {
		switch {
		case ttl.read(&o, ttlOfGetEx):
		default:
			return ErrSyntax
		}
	}
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	if n == nil {
		return resp.Null
	}
	var atMs int64
	if ttl.arg != nil {
		if atMs, refusal = ttl.deadline(c); refusal.IsError() {
			return refusal
		}
	}
	reply := textOf(c, s)
	switch {
	case ttl.arg != nil && atMs <= c.NowMs:
		c.DB.Delete(n) // a deadline in the past
		c.didCall("DEL", c.Args[1])
	case ttl.arg != nil:
		c.DB.ExpireAt(n, atMs)
		c.DB.Modified(n)
		c.didExpire(c.Args[1], atMs)
	case ttl.word == &ttlPersist && c.DB.Persist(n):
		c.changesAre(eventPersist)
		c.DB.Modified(n)
		c.didCall("PERSIST", c.Args[1])
	}
	return reply
}
