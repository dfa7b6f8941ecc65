package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
)

// A ttlOption is the expiry option of SET or GETEX: at most one of EX, PX, EXAT,
// PXAT, and KEEPTTL (SET) or PERSIST (GETEX).
type ttlOption struct {
	keyword *ttlKeyword // nil: not given
	arg     []byte      // nil: the keyword has no value
}

type ttlKeyword struct {
	name     string
	values   int  // number of values: 0 or 1
	seconds  bool // the value is in seconds, not milliseconds
	absolute bool // the value is a unix time
}

var (
	ttlEX      = ttlKeyword{name: "ex", values: 1, seconds: true}
	ttlPX      = ttlKeyword{name: "px", values: 1}
	ttlEXAT    = ttlKeyword{name: "exat", values: 1, seconds: true, absolute: true}
	ttlPXAT    = ttlKeyword{name: "pxat", values: 1, absolute: true}
	ttlKeep    = ttlKeyword{name: "keepttl"}
	ttlPersist = ttlKeyword{name: "persist"}

	ttlOfSet   = []*ttlKeyword{&ttlEX, &ttlPX, &ttlEXAT, &ttlPXAT, &ttlKeep}
	ttlOfGetEx = []*ttlKeyword{&ttlEX, &ttlPX, &ttlEXAT, &ttlPXAT, &ttlPersist}
)

// read consumes the next option if it is one of keywords. A keyword may be repeated,
// and the last value counts. Different keywords exclude each other.
func (t *ttlOption) read(o *options, keywords []*ttlKeyword) bool {
	for _, k := range keywords {
		if t.keyword != nil && t.keyword != k || !o.wordWith(k.name, k.values) {
			continue
		}
		t.keyword = k
		if k.values > 0 {
			t.arg = o.value()
		}
		return true
	}
	return false
}

// deadline returns the deadline in unix milliseconds.
func (t *ttlOption) deadline(c *Ctx) (atMs int64, refusal resp.Value) {
	n, ok := parseInt(t.arg)
	if !ok {
		return 0, ErrNotInteger
	}
	if n <= 0 {
		return 0, invalidExpire(c)
	}
	if t.keyword.seconds {
		if n > math.MaxInt64/1000 {
			return 0, invalidExpire(c)
		}
		n *= 1000
	}
	if !t.keyword.absolute {
		if n > math.MaxInt64-c.NowMs {
			return 0, invalidExpire(c)
		}
		n += c.NowMs
	}
	return n, resp.None
}

// setKeyFlags is KeySpec.FlagsIn of SET: without GET it only overwrites. As in Redis, GET
// may be any word after the value, even if SET would refuse it.
func setKeyFlags(args [][]byte) string {
	for _, word := range args[min(3, len(args)):] {
		if EqualFold(cString(word), "get") {
			return "RW access update"
		}
	}
	return "OW update"
}

// SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
//
// (The command's own name is that of the imported package set.)
func setString(c *Ctx) resp.Value {
	var (
		ttl             ttlOption
		nx, xx, wantOld bool
	)
	for o := (options{c.Args[3:]}); o.more(); {
		switch {
		case !xx && o.word("nx"):
			nx = true
		case !nx && o.word("xx"):
			xx = true
		case o.word("get"):
			wantOld = true
		case ttl.read(&o, ttlOfSet):
		default:
			return ErrSyntax
		}
	}
	return setWith(c, c.Args[2], &ttl, nx, xx, wantOld)
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
		reply = stringReply(c, s)
	}
	if nx && n != nil || xx && n == nil {
		if wantOld {
			return reply
		}
		return resp.Null
	}
	n = putString(c, n, key, text, ttl.keyword == &ttlKeep)
	switch {
	case atMs != 0:
		c.DB.ExpireAt(n, atMs)
		c.DidSet(key, text, atMs)
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
	reply := stringReply(c, s)
	switch {
	case ttl.arg != nil && atMs <= c.NowMs:
		c.DB.Delete(n) // a deadline in the past
		c.DidCall("DEL", c.Args[1])
	case ttl.arg != nil:
		c.DB.ExpireAt(n, atMs)
		c.DB.Modified(n)
		c.DidExpire(c.Args[1], atMs)
	case ttl.keyword == &ttlPersist && c.DB.Persist(n):
		c.changesAre(eventPersist)
		c.DB.Modified(n)
		c.DidCall("PERSIST", c.Args[1])
	}
	return reply
}
