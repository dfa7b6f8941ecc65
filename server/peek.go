package server

import "github.com/zlimit/zlimit/engine"

// peek appends the beginnings of commands that have arrived and that next will return, until to has as many
// elements as it has room for. It consumes nothing, and stops at the first command that is incomplete, empty,
// or not in plain form.
func (r *reader) peek(to []engine.Arrived) []engine.Arrived {
	b, p := r.buf[:r.end], r.start
	for len(to) < cap(to) && p < len(b) && b[p] == '*' {
		n, q := plainLength(b, p)
		if q == 0 || n == 0 {
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
