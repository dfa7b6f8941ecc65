package doctor

import (
	"bytes"

	"github.com/zlimit/zlimit/commands"
)

// A hit is what a ZADD means to a limiter.
type hit struct {
	known bool    // read has found the rest
	timed bool    // the score is an instant
	at    instant // the score
	added int64   // members that were not there
	same  int64   // members that are the instant of their score, and were there already
}

// zaddHit returns what the ZADD under way means. A call whose members are not all hits of
// a limiter is none.
func (o *call) zaddHit() *hit {
	if !o.hit.known {
		o.hit = hit{known: true}
		if pairs, ok := zaddPairs(o.args); ok && !o.reply.IsError() {
			o.hit.read(pairs, o.reply.Int(), o.ctx.NowMs)
		}
	}
	return &o.hit
}

// read reads scores and members. added is how many of them were new.
func (h *hit) read(pairs [][]byte, added, now int64) {
	equal := true
	for i := 0; i < len(pairs); i += 2 {
		at, ok := parseInstant(pairs[i], now)
		if !ok {
			return
		}
		h.at = at
		equal = equal && (bytes.Equal(pairs[i], pairs[i+1]) || isSameInstant(pairs[i+1], at, now))
	}
	h.timed, h.added = true, added
	if equal {
		h.same = max(int64(len(pairs)/2)-h.added, 0)
	}
}

// isSameInstant reports whether a member is an instant, and within a second of a score.
func isSameInstant(member []byte, score instant, nowMs int64) bool {
	m, ok := parseInstant(member, nowMs)
	return ok && m.ms-score.ms <= 1000 && score.ms-m.ms <= 1000
}

// zaddPairs returns the scores and members of a ZADD. It reports false for one that does
// not add: with XX or INCR.
func zaddPairs(args [][]byte) (pairs [][]byte, ok bool) {
	for i := 2; i < len(args); i++ {
		switch word := args[i]; {
		case len(word) != 2 && len(word) != 4, word[0] < 'A':
			return args[i:], true
		case commands.EqualFold(word, "xx"), commands.EqualFold(word, "incr"):
			return nil, false
		case commands.EqualFold(word, "nx"), commands.EqualFold(word, "ch"),
			commands.EqualFold(word, "gt"), commands.EqualFold(word, "lt"):
		default:
			return args[i:], true
		}
	}
	return nil, false
}

// mergedHits finds hits whose member was there already.
func mergedHits(r *rule, o *call) {
	if n := o.zaddHit().same; n > 0 {
		o.found(r, o.key, n)
	}
}
