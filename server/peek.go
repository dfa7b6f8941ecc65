package server

import "github.com/zlimit/zlimit/engine"

// maxPeekedArgs bounds what peek reads of a command that next will read again.
const maxPeekedArgs = 64

// peek appends the beginnings of commands that have arrived and that next will return, until to has as many
// elements as it has room for. It consumes nothing, and stops at the first command that is incomplete, empty,
// not in plain form, or of more than maxPeekedArgs arguments.
func (r *reader) peek(to []engine.Arrived) []engine.Arrived {
	b, p := r.buf[:r.end], r.start
	for len(to) < cap(to) && p < len(b) && b[p] == '*' {
		n, q := plainLength(b, p)
		if q == 0 || n == 0 || n > maxPeekedArgs {
			break
		}
		var a engine.Arrived
		for i := range n {
			if q >= len(b) || b[q] != '$' {
				return to
			}
			size, at := plainLength(b, q)
			if at == 0 || len(b)-at-2 < size {
				return to
			}
			if i < len(a.Args) {
				a.Args[i], a.Len = b[at:at+size], i+1
			}
			q = at + size + 2
		}
		to = append(to, a)
		p = q
	}
	return to
}
