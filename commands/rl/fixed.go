package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of FIXED is a string, the number of units, that expires at the end of
// the window.
var fixedAlgorithm = algorithm{
	name: "FIXED", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, _, ok := parseFixed(n)
		return ok
	},
	open: func(_ *commands.Ctx, t *term) resp.Value {
		k := &t.state
		k.fixed = limiter.Fixed{}
		k.open(t, &k.fixed, saveFixed)
		if t.node == nil {
			return resp.None
		}
		ok := isString(t.node)
		if ok {
			k.fixed, _, ok = parseFixed(t.node)
		}
		if !ok {
			return errOtherState
		}
		return resp.None
	},
	validate: func(t *term) error { return limiter.ValidateFixed(t.quotas[0], t.Call) },
	calendar: true,
	unknown:  "instants of hits: a FIXED key holds one count, which ends with its slice of time",
	info: func(c *commands.Ctx, n *store.Node) keyInfo {
		state, endMs, _ := parseFixed(n)
		i := emptyInfo()
		i.used = resp.Int(state.Used(c.NowMs, endMs))
		return i
	},
	units: func(_ *commands.Ctx, n *store.Node) int64 {
		state, _, _ := parseFixed(n)
		return state.Count
	},
}

func isString(n *store.Node) bool { return store.StringOf(n) != nil }

// parseFixed parses a string as the state of FIXED. endMs is the end of its window.
func parseFixed(n *store.Node) (f limiter.Fixed, endMs int64, ok bool) {
	s := store.StringOf(n)
	if f.Count, ok = s.Int(); !ok {
		f.Count, ok = store.ParseInt(s.Bytes(nil))
	}
	endMs, expires := n.Value.ExpireAtMs()
	return f, endMs, ok && expires && f.Count >= 0
}

func saveFixed(c *commands.Ctx, t *term, endMs int64) {
	count := t.state.fixed.Count
	if t.node == nil {
		t.node = c.DB.Put(t.name, store.NewInt(count))
	} else {
		store.StringOf(t.node).SetInt(count)
	}
	if endMs != t.expireAtMs {
		c.DB.ExpireAt(t.node, endMs)
	}
	c.DB.Touch(t.node)
	didCount(c, t.name, count, endMs, t.expireAtMs)
}
