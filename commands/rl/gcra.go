package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// The state of GCRA is a string: "gcra " and the theoretical arrival time in unix
// microseconds.
var gcraAlgorithm = algorithm{
	name: "GCRA", redisType: "string", hasType: isString, foreignError: errForeignString,
	hasState: func(_ *commands.Ctx, n *store.Node) bool {
		_, ok := parseGCRA(n)
		return ok
	},
	open: openGCRA,
	validate: func(t *term) error {
		if err := limiter.ValidateQuota(t.quotas[0], t.Call); err != nil {
			return err
		}
		return limiter.ValidateBurst(t.quotas[0], t.param)
	},
	errors: []errorReply{
		{limiter.ErrBurst, resp.Error("ERR burst must not be negative")},
		{limiter.ErrBurstLong, resp.Error("ERR burst must take less than 100 years to fill")},
	},
	param: &algoParam{
		name: "burst", missing: commands.SyntaxError("ALGO GCRA needs a burst"),
		wrong: resp.Error("ERR burst is not an integer or out of range"), scales: true,
	},
	throttles: true,
	noRefund: resp.Error("ERR key holds GCRA state, which does not say how long a unit counts: " +
		"RL.CANCEL and RL.SETTLE return what RL.RESERVE took"),
	implied:  func(t *term) int64 { return t.quotas[0].Limit },
	anyLimit: true,
	explainMore: func(s limiter.Subject) []resp.Value {
		return []resp.Value{resp.Bulk("burst"), resp.Int(s.(*limiter.GCRA).Burst)}
	},
	unknown:  "instants of hits: a GCRA key holds one instant, at which the burst is full again",
	moreInfo: []string{"tat_us"},
	info: func(_ *commands.Ctx, n *store.Node) keyInfo {
		state, _ := parseGCRA(n)
		i := emptyInfo()
		i.more[0] = state.TatUs
		return i
	},
}

var gcraPrefix = []byte("gcra ")

func parseGCRA(n *store.Node) (g limiter.GCRA, ok bool) {
	var digits [20]byte
	text, ok := bytes.CutPrefix(store.StringOf(n).Bytes(digits[:]), gcraPrefix)
	if !ok {
		return g, false
	}
	g.TatUs, ok = store.ParseInt(text)
	return g, ok
}

func openGCRA(_ *commands.Ctx, t *term) resp.Value {
	k := &t.state
	k.gcra = limiter.GCRA{}
	k.open(t, &k.gcra, saveGCRA)
	if t.node != nil {
		ok := isString(t.node)
		if ok {
			k.gcra, ok = parseGCRA(t.node)
		}
		if !ok {
			return errOtherState
		}
	}
	k.gcra.Burst = t.param
	return resp.None
}

func saveGCRA(c *commands.Ctx, t *term, expireAtMs int64) {
	var buf [32]byte
	text := strconv.AppendInt(append(buf[:0], gcraPrefix...), t.state.gcra.TatUs, 10)
	if t.node == nil {
		t.node = c.DB.Put(t.name, store.NewString(text))
	} else {
		store.StringOf(t.node).SetBytes(text)
	}
	c.DB.ExpireAt(t.node, expireAtMs)
	c.DB.Touch(t.node)
	c.DidSet(t.name, text, expireAtMs)
}
