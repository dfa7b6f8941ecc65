package upstream

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/upstream/call"
)

// counts are what INFO shows.
type counts struct {
	errors    atomic.Int64 // calls that failed since the upstream did not answer
	retries   atomic.Int64 // commands that were sent again
	full      atomic.Int64 // commands refused by a full queue
	redirects atomic.Int64
	libraries atomic.Int64 // loadings of the library of functions
	degraded  atomic.Int64 // decisions that were answered without the upstream
	combined  atomic.Int64 // decisions that another call's function has made

	trips, commands atomic.Int64 // of nodes that are gone
}

// retire counts what a node has done that is gone.
func (c *counts) retire(n *node) {
	c.trips.Add(n.trips.Load())
	c.commands.Add(n.commands.Load())
}

// Status returns the lines of INFO's section upstream.
func (u *Upstream) Status() []call.Fact {
	t := u.topology.Load()
	var facts []call.Fact
	put := func(name string, value any) {
		facts = append(facts, call.Fact{Name: "upstream_" + name, Value: fmt.Sprint(value)})
	}
	put("kind", t.kind)
	state := "ok"
	switch {
	case !t.loaded && t.err == nil:
		state = "connecting"
	case !t.loaded:
		state = "unreachable"
	case t.err != nil:
		state = "stale"
	}
	put("state", state)
	reason := ""
	if t.err != nil {
		reason = oneLine(t.err.Error())
	}
	put("error", reason)
	if t.slots != nil {
		covered := 0
		for _, n := range t.slots {
			if n != nil {
				covered++
			}
		}
		put("slots", covered)
	}
	u.mu.Lock()
	var trips, commands int64
	for _, n := range u.nodes {
		trips += n.trips.Load()
		commands += n.commands.Load()
	}
	u.mu.Unlock()
	put("round_trips", u.counts.trips.Load()+trips)
	put("commands", u.counts.commands.Load()+commands)
	put("retries", u.counts.retries.Load())
	put("redirects", u.counts.redirects.Load())
	put("failed", u.counts.errors.Load())
	put("refused_by_queue", u.counts.full.Load())
	put("library_loads", u.counts.libraries.Load())
	put("combined", u.counts.combined.Load())
	put("degraded", u.counts.degraded.Load())
	since := int64(0)
	if us := u.limits.since.Load(); us != 0 {
		since = us / 1_000_000
	}
	put("degraded_since", since)
	put("topics", u.topics.count())
	put("masters", len(t.masters))
	put("replicas", len(t.replicas))
	for i, n := range t.masters {
		put(fmt.Sprintf("node%d", i), n.line())
	}
	return facts
}

// line returns the node as INFO shows it.
func (n *node) line() string {
	state, since := "ok", int64(0)
	if us := n.awaySince.Load(); us != 0 {
		state, since = "away", time.Now().Unix()-us/1_000_000
	}
	queued := 0
	n.conns.mu.Lock()
	for _, l := range n.conns.lanes {
		l.mu.Lock()
		queued += l.queued
		l.mu.Unlock()
	}
	n.conns.mu.Unlock()
	reason := ""
	if p := n.lastError.Load(); p != nil {
		reason = oneLine(*p)
	}
	functions := "functions"
	if n.functions.scripts.Load() {
		functions = "scripts"
	}
	return fmt.Sprintf("addr=%s,state=%s,away_seconds=%d,round_trips=%d,commands=%d,failures=%d,queued=%d,"+
		"decides_by=%s,last_error=%s", n.addr, state, since, n.trips.Load(), n.commands.Load(),
		n.failures.Load(), queued, functions, reason)
}

// oneLine returns a text without line ends.
func oneLine(text string) string {
	b := []byte(text)
	for i, ch := range b {
		if ch < ' ' {
			b[i] = ' '
		}
	}
	return string(b)
}

// count returns how many topics are subscribed to.
func (t *topics) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.wanted)
}
