package rl

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// RL.MALLOW numkeys key limit window [key limit window ...] [COST n] [PEEK]
//
// Every key is a log. The reply is the index of the binding key, from 1, and the five
// integers of RL.ALLOW for it. The call first peeks at all keys and changes them only
// if all admit it.
func rlMallow(c *commands.Ctx) resp.Value {
	triples, call, refusal := parseMallow(c)
	if refusal.IsError() {
		return refusal
	}
	peek := call
	peek.Peek = true
	var binding limiter.Decision
	index, creates := 0, false
	for i := 0; i < len(triples); i += 3 {
		d, created, refusal := decideKey(c, triples[i:i+3], peek, !call.Peek)
		if refusal.IsError() {
			return refusal
		}
		creates = creates || created
		if i == 0 || d.Binds(&binding) {
			binding, index = d, i
		}
	}
	if binding.Allowed > 0 && !call.Peek {
		if creates {
			if refusal := reserveMissing(c, triples, 3); refusal.IsError() {
				return refusal
			}
		}
		for i := 0; i < len(triples); i += 3 {
			d, _, refusal := decideKey(c, triples[i:i+3], call, false)
			if refusal.IsError() || d.Units == 0 {
				panic("rl: RL.MALLOW: a key denied what it had admitted")
			}
			if i == index {
				binding = d
			}
		}
	}
	countMallow(c, triples, 3, index/3, call, &binding)
	return resp.Array(append(c.Values(6), resp.Int(int64(index/3+1)),
		resp.Int(binding.Allowed), resp.Int(binding.Limit), resp.Int(binding.Remaining),
		resp.Int(binding.RetryAfterMs), resp.Int(binding.ResetAfterMs))...)
}

// decideKey decides the call for one key and records what was admitted. created says that the key did not
// exist. follows says that a peek will be followed by the call itself, which the key must have room for.
func decideKey(
	c *commands.Ctx, triple [][]byte, call limiter.Call, follows bool,
) (d limiter.Decision, created bool, refusal resp.Value) {
	var quotas [1]limiter.Quota
	if quotas[0], refusal = parseQuota(triple[1], triple[2]); refusal.IsError() {
		return d, false, refusal
	}
	var k logKey
	if refusal := findLog(c, &k, triple[0]); refusal.IsError() {
		return d, false, refusal
	}
	d, err := limiter.DecideCall(k.log(), c.NowMs, k.expireAtMs, quotas[:], call)
	if err != nil {
		return d, false, rlError(err)
	}
	created = k.node == nil
	if follows && d.Allowed > 0 && !created && int64(k.set.Len()) >= c.Settings.RLLogMaxUnits {
		change, err := limiter.Record(k.log(), c.NowMs, k.expireAtMs, quotas[0].WindowMs, d.Allowed)
		if err != nil {
			return d, false, rlError(err)
		}
		if refusal := k.makeRoom(c, &change); refusal.IsError() {
			return d, false, refusal
		}
	}
	if d.Units > 0 {
		k.apply(c, &d.Change)
	}
	markFullness(c, triple[0], &d)
	return d, created, resp.None
}

// parseMallow parses and validates all arguments before any key is read.
func parseMallow(c *commands.Ctx) (triples [][]byte, call limiter.Call, refusal resp.Value) {
	numKeys, ok := store.ParseInt(c.Args[1])
	switch {
	case !ok:
		return nil, call, errNumKeysNumber
	case numKeys < 1:
		return nil, call, commands.ErrNumKeys
	case numKeys > int64(len(c.Args)-2)/3:
		return nil, call, errTriples
	}
	triples = c.Args[2 : 2+3*numKeys]
	var a allowCall
	if refusal = a.parseOptions(options{c.Args[2+3*numKeys:]}, mallowOptions); refusal.IsError() {
		return nil, call, refusal
	}
	if a.Cost == 0 { // as in RL.ALLOW, a peek at one unit
		a.Cost, a.Peek = 1, true
	}
	for i := 0; i < len(triples); i += 3 {
		var quotas [1]limiter.Quota
		if quotas[0], refusal = parseQuota(triples[i+1], triples[i+2]); refusal.IsError() {
			return nil, call, refusal
		}
		if err := limiter.Validate(quotas[:], a.Call); err != nil {
			return nil, call, rlError(err)
		}
	}
	if name := duplicate(triples, 3); name != nil {
		return nil, call, resp.Error("ERR key " + commands.Quote(name) + " is named twice")
	}
	return triples, a.Call, resp.None
}

// duplicate returns a name that occurs more than once among every step-th of names,
// or nil.
func duplicate(names [][]byte, step int) []byte {
	if len(names)/step <= 16 {
		for i := 0; i < len(names); i += step {
			for j := 0; j < i; j += step {
				if string(names[i]) == string(names[j]) {
					return names[i]
				}
			}
		}
		return nil
	}
	seen := make(map[string]bool, len(names)/step)
	for i := 0; i < len(names); i += step {
		if seen[string(names[i])] {
			return names[i]
		}
		seen[string(names[i])] = true
	}
	return nil
}
