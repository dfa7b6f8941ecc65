package commands

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/zset"
)

// An algorithm is what a key of the RL commands holds. Each has a form of its
// own in the types that Redis has:
//
//	LOG      a sorted set, each unit a member that is its own score
//	FIXED    a string, the number of units, expiring at its slice's end
//	GCRA     a string, "gcra " and the tat in unix microseconds
//	BUCKETS  a hash of width, n, newest and counts: see rl_buckets.go
//	HOLD     a string, what RL.RESERVE took: see rl_hold.go
//	LEASES   a sorted set of ids, scored with their ends: see rl_lease.go
//
// A counter with an expiry that something else wrote is FIXED by its form, and
// counts as that.
type algorithm uint8

const (
	algoNone algorithm = iota // no state of ours
	algoLog
	algoFixed
	algoGCRA
	algoBuckets
	algoHold
	algoLeases
)

func (a algorithm) String() string {
	return [...]string{"", "LOG", "FIXED", "GCRA", "BUCKETS", "HOLD", "LEASES"}[a]
}

// holds tells what a key that is there holds.
func (c *Ctx) holds(n *store.Node) algorithm {
	switch data := store.DataOf(n).(type) {
	case *zset.Set:
		if data.IsLog() && limiter.HoldsScores(data.Oldest(), data.Newest()) {
			return algoLog
		}
		if leasesIn(n, data) {
			return algoLeases
		}
	case *store.String:
		if _, ok := fixedOf(n, data); ok {
			return algoFixed
		}
		if _, ok := gcraOf(data); ok {
			return algoGCRA
		}
		if _, ok := holdIn(data); ok {
			return algoHold
		}
	case *hash.Hash:
		if _, ok := c.bucketsOf(data); ok {
			return algoBuckets
		}
	}
	return algoNone
}

// refuseState is the answer to a call for one algorithm about a key that does
// not hold that algorithm's state.
func (c *Ctx) refuseState(n *store.Node, want algorithm) resp.Value {
	if held := c.holds(n); held != algoNone {
		return resp.Error("ERR key holds " + held.String() + " state, not " + want.String())
	}
	switch store.DataOf(n).(type) {
	case *zset.Set:
		switch want {
		case algoLog:
			return errRLForeignSet
		case algoLeases:
			return errRLForeignLeases
		}
	case *store.String:
		if want == algoFixed || want == algoGCRA {
			return errRLForeignString
		}
	case *hash.Hash:
		if want == algoBuckets {
			return errRLForeignHash
		}
	}
	return ErrWrongType
}

// refuseForeign is refuseState for commands that take every algorithm.
func refuseForeign(n *store.Node) resp.Value {
	switch store.DataOf(n).(type) {
	case *zset.Set:
		return errRLForeignSet
	case *store.String:
		return errRLForeignString
	case *hash.Hash:
		return errRLForeignHash
	}
	return ErrWrongType
}

// fixedOf reads a string as FIXED state.
func fixedOf(n *store.Node, s *store.String) (f limiter.Fixed, ok bool) {
	f.Count, ok = s.Int()
	if !ok {
		f.Count, ok = parseInt(s.Bytes(nil))
	}
	endMs, expires := n.Value.ExpireAtMs()
	f.EndMs = endMs
	return f, ok && expires && f.Count >= 0
}

var gcraPrefix = []byte("gcra ")

// gcraOf reads a string as GCRA state.
func gcraOf(s *store.String) (g limiter.GCRA, ok bool) {
	var digits [20]byte
	text, ok := bytes.CutPrefix(s.Bytes(digits[:]), gcraPrefix)
	if !ok {
		return g, false
	}
	g.TatUs, ok = parseInt(text)
	return g, ok
}

// setGCRA writes GCRA state under a key; n is the key's node, nil where there
// is none.
func (c *Ctx) setGCRA(name []byte, n *store.Node, g limiter.GCRA, expireAtMs int64) {
	var room [32]byte
	text := strconv.AppendInt(append(room[:0], gcraPrefix...), g.TatUs, 10)
	if n == nil {
		n = c.DB.Put(name, store.NewString(text))
	} else {
		store.StringOf(n).SetBytes(text)
	}
	c.DB.ExpireAt(n, expireAtMs)
	c.DB.Touch(n)
	c.didSet(name, text, expireAtMs)
}

// allowFixed is RL.ALLOW with ALGO FIXED.
func allowFixed(c *Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	var state limiter.Fixed
	if n != nil {
		s := store.StringOf(n)
		ok := s != nil
		if ok {
			state, ok = fixedOf(n, s)
		}
		if !ok {
			return d, c.refuseState(n, algoFixed)
		}
	}
	d = state.Decide(c.NowMs, a.quotas[0], a.Call)
	if d.Units > 0 {
		if n == nil {
			n = c.DB.Put(c.Args[1], store.NewInt(d.Used))
		} else {
			store.StringOf(n).SetInt(d.Used)
		}
		c.DB.ExpireAt(n, d.ExpireAtMs)
		c.DB.Touch(n)
		c.didCount(c.Args[1], d.Used, d.ExpireAtMs, state.EndMs)
	}
	return d, resp.None
}

// findGCRA looks a key up; a refusal where it holds something else.
func (c *Ctx) findGCRA(name []byte) (n *store.Node, state limiter.GCRA, expireAtMs int64, refusal resp.Value) {
	n = c.DB.Find(name, c.NowMs)
	if n == nil {
		return n, state, 0, resp.None
	}
	s := store.StringOf(n)
	ok := s != nil
	if ok {
		state, ok = gcraOf(s)
	}
	if !ok {
		return n, state, 0, c.refuseState(n, algoGCRA)
	}
	expireAtMs, _ = n.Value.ExpireAtMs()
	return n, state, expireAtMs, resp.None
}

// allowGCRA is RL.ALLOW with ALGO GCRA.
func allowGCRA(c *Ctx, a *allowCall) (d limiter.Decision, refusal resp.Value) {
	n, state, expireAtMs, refusal := c.findGCRA(c.Args[1])
	if refusal.IsError() {
		return d, refusal
	}
	d, next := state.Decide(c.NowMs, expireAtMs, a.quotas[0], a.param, a.Call)
	if d.Units > 0 {
		c.setGCRA(c.Args[1], n, next, d.ExpireAtMs)
	}
	return d, resp.None
}
