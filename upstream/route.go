package upstream

// A route is where a unit is sent next.
type route struct {
	to     *node // where a redirection has pointed; nil: the master of the slot
	only   bool  // no other node than to can answer
	asking bool  // that was ASK
}

// redirect makes the unit go to a node, by ASK or MOVED.
func (r *route) redirect(to *node, ask bool) { r.to, r.asking = to, ask }

// reset makes the unit go to the master of its slot again, unless no other node can answer.
func (r *route) reset() {
	if !r.only {
		r.to, r.asking = nil, false
	}
}

// destination returns the node that the unit is sent to next, or nil.
func (x *unit) destination(t *topology) *node {
	if x.route.to != nil {
		return x.route.to
	}
	return t.master(x.slot)
}

const (
	maxRedirects = 8
	// maxAttempts is how often a command that only reads is sent, if connections break.
	maxAttempts = 3
)

// tries are how often a unit was sent again, by the reasons for it. Each is bounded.
type tries struct {
	redirects int
	attempts  int  // that may have reached a node
	loads     int  // of the library
	refreshed bool // the topology, for a node to send it to
	moved     bool // to the slice of the node's clock
}

// redirect counts a redirection. It reports whether to follow it.
func (t *tries) redirect() bool {
	t.redirects++
	return t.redirects <= maxRedirects
}

// attempt counts an attempt that has failed. It reports whether there may be another one.
func (t *tries) attempt() bool {
	if t.attempts >= maxAttempts {
		return false
	}
	t.attempts++
	return true
}

// refresh reports, once, that the topology may be refreshed.
func (t *tries) refresh() bool {
	refresh := !t.refreshed
	t.refreshed = true
	return refresh
}
