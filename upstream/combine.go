package upstream

import (
	"bytes"

	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// Calls of one key that wait for the same round trip become one call of a function, which decides
// them in their order and at one instant. The answers are those that the calls would get one behind
// the other.

// maxCallers is the most calls that are combined: a function runs alone on its node.
const maxCallers = 256

// A combined is an item in the place of others.
type combined struct {
	item  *item
	calls []*ratelimit.Call
	items []*item // of the calls
	at    int     // its index in what is sent
}

// combine returns the items of jobs, with combined calls, and those that stand for several.
func combine(jobs []*job) (items []*item, groups []*combined) {
	decisions := 0
	for _, j := range jobs {
		decisions += j.decisions
	}
	if decisions < 2 {
		for _, j := range jobs {
			items = append(items, j.items...)
		}
		return items, nil
	}
	open := make(map[string]*combined, decisions)
	var signature []byte
	for _, j := range jobs {
		order := order{several: len(j.items) > 1}
		for _, it := range j.items {
			if it.decision == nil || !it.decision.Combinable() {
				order.barrier = len(items)
				items = append(items, it)
				continue
			}
			key := it.decision.Keys()[0]
			signature = it.decision.AppendSignature(signature[:0])
			g := open[string(signature)]
			if g == nil || g.at < order.least(key) || len(g.calls) == maxCallers {
				g = &combined{item: it, at: len(items)}
				open[string(signature)] = g
				groups = append(groups, g)
				items = append(items, it)
			}
			g.calls, g.items = append(g.calls, it.decision), append(g.items, it)
			order.sent(key, g.at)
		}
	}
	return items, compose(items, groups)
}

// compose replaces the first item of each group of several calls by the combined one, and returns
// those groups.
func compose(items []*item, groups []*combined) (several []*combined) {
	for _, g := range groups {
		if len(g.calls) == 1 {
			continue
		}
		batch := ratelimit.Combine(g.calls)
		g.item = &item{args: batch.AppendFCall(nil)}
		if isScript(g.items[0]) {
			g.item.args = batch.AppendEval(nil)
		}
		items[g.at] = g.item
		several = append(several, g)
	}
	return several
}

func isScript(it *item) bool { return bytes.Equal(it.args[0], wordEvalSHA) }

var wordEvalSHA = []byte("EVALSHA")

// settle gives each call of a group its part of the reply.
func (g *combined) settle() {
	if g.item.reply == nil {
		for _, it := range g.items {
			it.err = g.item.err
		}
		return
	}
	for i, part := range ratelimit.Combine(g.calls).Split(g.item.reply) {
		g.items[i].reply = part
	}
}

// An order keeps the commands of one job about one key in their order.
type order struct {
	several bool // the job has several items
	barrier int  // the index of the last item that is no decision
	keys    map[string]int
}

// least returns the first index at which a decision about a key may run.
func (o *order) least(key []byte) int { return max(o.barrier, o.keys[string(key)]) }

// sent says that a decision about a key runs at an index.
func (o *order) sent(key []byte, at int) {
	if !o.several {
		return
	}
	if o.keys == nil {
		o.keys = make(map[string]int)
	}
	o.keys[string(key)] = at
}
