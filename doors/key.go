package doors

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// A KeyRequest asks for a decision about one key, by limits of its own in the place of policies: a call of
// RL.ALLOW.
type KeyRequest struct {
	Key    []byte
	Limits []KeyLimit
	// Algorithm is the name of one, as ALGO has it, and its parameter behind a space; empty: LOG.
	Algorithm []byte
	Cost      int64           // in units; 0 asks without counting
	Gone      <-chan struct{} // as a Request's
}

// A KeyLimit is a limit of a key.
type KeyLimit struct {
	Limit  int64  // units
	Window []byte // as RL.ALLOW has it: 60000, 1m, 1mo@Europe/Zurich
}

// A KeyDecision is the decision about a key. It describes the limit that binds.
type KeyDecision struct {
	Code      Code
	Limit     int64 // units
	WindowMs  int64
	Remaining int64 // units that still fit
	RetryMs   int64 // until the same request is admitted, if nobody else asks; -1: never, 0: it was
	ResetMs   int64 // until the window is empty
}

const (
	textNoKeyLimits = "a key has one limit at least"
	textAlgorithm   = "an algorithm is a name, and behind a space its number, such as LOG or GCRA 5"
)

// Allow implements Client.
func (c *engineClient) Allow(r *KeyRequest, out *KeyDecision) error {
	if len(r.Limits) == 0 {
		return &Refusal{Invalid, textNoKeyLimits}
	}
	words, ok := r.words(c.words[:0])
	if !ok {
		return &Refusal{Invalid, textAlgorithm}
	}
	c.words = words
	if err := c.begin(r.Gone); err != nil {
		return err
	}
	defer c.trim()
	reply := c.call(engine.Allow, words)
	if kind := reply.Kind(); kind != resp.KindMap && kind != resp.KindArray { // an upstream's is an array
		return refusalOfKey(reply)
	}
	out.set(reply.Elems())
	return c.finish()
}

// words appends the words of the call. It returns false if the algorithm is not one.
func (r *KeyRequest) words(w [][]byte) (words [][]byte, ok bool) {
	w = append(w, []byte("RL.ALLOW"), r.Key)
	for i := range r.Limits {
		w = append(w, number(r.Limits[i].Limit), r.Limits[i].Window)
	}
	w = append(w, []byte("COST"), number(r.Cost), []byte("FULL"))
	if len(r.Algorithm) == 0 {
		return w, true
	}
	name, parameter, given := bytes.Cut(r.Algorithm, []byte{' '})
	w = append(w, []byte("ALGO"), name)
	if given {
		// Anything but a number could be an option.
		if _, err := strconv.ParseUint(string(parameter), 10, 64); err != nil {
			return w, false
		}
		w = append(w, parameter)
	}
	return w, true
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// refusalOfKey returns the Refusal of a reply that is no decision. An error without a code of its own is a
// mistake in the request.
func refusalOfKey(reply resp.Value) *Refusal {
	refusal := refusalOf(reply)
	if refusal.Reason == Unavailable &&
		(strings.HasPrefix(refusal.Text, "ERR ") || strings.HasPrefix(refusal.Text, "WRONGTYPE ")) {
		refusal.Reason = Invalid
	}
	return refusal
}

// set makes RL.ALLOW's reply with FULL, names and values, a decision.
func (d *KeyDecision) set(pairs []resp.Value) {
	d.Code = OverLimit
	for i := 0; i+1 < len(pairs); i += 2 {
		value := pairs[i+1].Int()
		switch pairs[i].Str() {
		case "allowed":
			if value > 0 {
				d.Code = OK
			}
		case "limit":
			d.Limit = value
		case "remaining":
			d.Remaining = value
		case "retry_after_ms":
			d.RetryMs = value
		case "reset_after_ms":
			d.ResetMs = value
		case "window_ms":
			d.WindowMs = value
		}
	}
}
