package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of COUNTER is a string,
//
//	counter <window ms> <start of the newest slice, unix ms> <units in it> <units in the previous slice>
//
// that expires when neither slice counts any more.
var counterAlgorithm = algorithm{
	name: "COUNTER", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseCounter(n)
		return ok
	},
	open:     openCounter,
	validate: validateQuota,
	differs:  "a window of %dms, not %dms",
	unknown:  "instants of hits: a COUNTER key holds the counts of two slices of time",
	moreInfo: []string{"window_ms"},
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		state, _ := parseCounter(n)
		expireAtMs, _ := n.Value.ExpireAtMs()
		return keyInfo{
			used:   resp.Int(state.Used(c.NowMs, expireAtMs)),
			oldest: resp.Int(state.Oldest()), newest: resp.Int(state.Newest()),
			more: [2]int64{state.WindowMs},
		}
	},
	units: func(_ *commands.Ctx, n *store.Node) int64 {
		state, _ := parseCounter(n)
		return state.Held()
	},
}

var counterPrefix = []byte("counter ")

func parseCounter(n *store.Node) (s limiter.Counter, ok bool) {
	var digits [20]byte
	rest, ok := bytes.CutPrefix(store.StringOf(n).Bytes(digits[:]), counterPrefix)
	if !ok {
		return s, false
	}
	for i, to := range [...]*int64{&s.WindowMs, &s.BeginMs, &s.Count, &s.Previous} {
		var text []byte
		var more bool
		if text, rest, more = bytes.Cut(rest, space); more != (i < 3) {
			return s, false
		}
		if *to, ok = store.ParseInt(text); !ok {
			return s, false
		}
	}
	return s, s.Valid()
}

// openCounter fails if the key has another window than the call.
func openCounter(_ *commands.Ctx, t *term) resp.Value {
	k, windowMs := &t.state, t.quotas[0].WindowMs
	k.counter = limiter.Counter{WindowMs: windowMs}
	k.open(t, &k.counter, saveCounter)
	if t.node == nil {
		return resp.None
	}
	ok := isString(t.node)
	if ok {
		k.counter, ok = parseCounter(t.node)
	}
	switch {
	case !ok:
		return errOtherState
	case windowMs != 0 && k.counter.WindowMs != windowMs:
		return t.algo.differ(k.counter.WindowMs, windowMs)
	}
	return resp.None
}

func saveCounter(c *commands.Ctx, t *term, expireAtMs int64) {
	var buf [96]byte
	s, text := &t.state.counter, append(buf[:0], counterPrefix...)
	for i, number := range [...]int64{s.WindowMs, s.BeginMs, s.Count, s.Previous} {
		if i > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendInt(text, number, 10)
	}
	if t.node == nil {
		t.node = c.DB.Put(t.name, store.NewString(text))
	} else {
		store.StringOf(t.node).SetBytes(text)
	}
	if expireAtMs > 0 {
		c.DB.ExpireAt(t.node, expireAtMs)
	}
	c.DB.Touch(t.node)
	c.DidValueAt(t.name, text, expireAtMs, t.expireAtMs)
}
