package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
)

// A stateKey is the content of a key under an algorithm that takes one quota. The algorithm's open sets it.
type stateKey struct {
	limiter.State
	// save stores the state in the term's key, with a new expiry.
	save func(c *commands.Ctx, t *term, expireAtMs int64)

	// What State points to.
	fixed   limiter.Fixed
	gcra    limiter.GCRA
	counter limiter.Counter
	buckets limiter.Buckets
	counts  []int64 // scratch space of buckets
}

// open makes a state the content of a term.
func (k *stateKey) open(t *term, s limiter.State, save func(c *commands.Ctx, t *term, expireAtMs int64)) {
	k.State, k.save, t.content = s, save, k
}

func (k *stateKey) decide(c *commands.Ctx, t *term) resp.Value {
	t.d = k.Decide(c.NowMs, t.expireAtMs, t.quotas[0], t.Call)
	return resp.None
}

func (k *stateKey) record(c *commands.Ctx, t *term, units int64) resp.Value {
	var err error
	if t.d, err = k.Record(c.NowMs, t.expireAtMs, t.quotas[0], units); err != nil {
		return rlError(err)
	}
	return resp.None
}

func (k *stateKey) subject() limiter.Subject { return k.State.(limiter.Subject) }

func (k *stateKey) apply(c *commands.Ctx, t *term) {
	k.Apply(c.NowMs, &t.d)
	k.save(c, t, t.d.ExpireAtMs)
}

func (k *stateKey) held(c *commands.Ctx, t *term, h *heldTerm) int64 {
	if t.node == nil {
		return 0
	}
	return k.HeldOf(c.NowMs, t.expireAtMs, h.Taking)
}

func (k *stateKey) giveBack(c *commands.Ctx, t *term, h *heldTerm, n int64) {
	k.shrink(c, t, k.GiveBack(c.NowMs, t.expireAtMs, h.Taking, n))
}

func (k *stateKey) refund(c *commands.Ctx, t *term, n int64) resp.Value {
	s, ok := k.State.(interface {
		Refund(nowMs, expireAtMs, n int64) (removed, newExpireAtMs int64)
	})
	if !ok {
		return t.algo.noRefund
	}
	removed, atMs := s.Refund(c.NowMs, t.expireAtMs, n)
	if removed > 0 {
		k.shrink(c, t, atMs)
	}
	return resp.Int(removed)
}

// shrink stores a state that units were taken from. Without a new expiry nothing is left.
func (k *stateKey) shrink(c *commands.Ctx, t *term, expireAtMs int64) {
	if expireAtMs < 0 {
		c.DB.Delete(t.node)
		c.DidCall("DEL", t.name)
		return
	}
	k.save(c, t, expireAtMs)
}
