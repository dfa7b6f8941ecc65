package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// rl-max-keys-per-prefix bounds the keys that the rate limit commands with the flag
// DenyOOM create. A call that would create a key calls reserve first, when nothing can
// fail any more and nothing is changed yet. All writes are counted, and no others
// refused: docs/adr/0035.

// reserve makes room for a key that the call creates next. It returns the error reply if
// a prefix of its name is full.
func reserve(c *commands.Ctx, name []byte) resp.Value {
	if full := c.DB.Reserve(name); full != nil {
		return refuseKey(c, full)
	}
	return resp.None
}

func refuseKey(c *commands.Ctx, full *store.Prefix) resp.Value {
	if c.Mode.Is(commands.Final) || c.Mode.Is(commands.InScript) {
		full.Refuse()
	} else {
		c.Full, c.Retry = full, true
	}
	return prefixFull(full)
}

// reserveMissing is reserve for those of every step-th of names that do not exist: for
// all or for none.
func reserveMissing(c *commands.Ctx, names [][]byte, step int) resp.Value {
	if !c.DB.HasPrefixes() {
		return resp.None
	}
	missing := func(i int) bool { return c.DB.Find(names[i], c.NowMs) == nil }
	for i := 0; i < len(names); i += step {
		if !missing(i) {
			continue
		}
		if refusal := reserve(c, names[i]); refusal.IsError() {
			for i -= step; i >= 0; i -= step {
				if missing(i) {
					c.DB.Release(names[i])
				}
			}
			return refusal
		}
	}
	return resp.None
}

// reserveHold is reserveMissing for keys and a hold, which does not exist.
func reserveHold(c *commands.Ctx, keys [][]byte, hold []byte) resp.Value {
	if refusal := reserveMissing(c, keys, 1); refusal.IsError() {
		return refusal
	}
	refusal := reserve(c, hold)
	if refusal.IsError() {
		for _, name := range keys {
			if c.DB.Find(name, c.NowMs) == nil {
				c.DB.Release(name)
			}
		}
	}
	return refusal
}
