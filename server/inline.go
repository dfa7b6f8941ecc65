package server

import "github.com/zlimit/zlimit/words"

// inline goes on with the inline command at start, which is what redis-server takes for anything that does not begin
// with '*'. whole is false when its line end has not arrived or the command is wrong.
//
// Inline commands are ours rather than redcon's, which knows no \xHH, refuses a quote inside a word and takes a
// leading '$' for another protocol.
func (r *reader) inline() (args [][]byte, whole bool) {
	b := r.buf[r.start:r.end]
	stop := min(len(b), maxLine+1)
	i := r.seen
	// Redis searches with strchr: behind a NUL no line end is found.
	for i < stop && b[i] != '\n' && b[i] != 0 {
		i++
	}
	r.examined += int64(i - r.seen + 1)
	r.seen = i
	if i == stop || b[i] == 0 {
		if len(b) > maxLine {
			r.err = errInlineTooBig
		}
		return nil, false
	}
	line := b[:i]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	args, ok := words.Split(line, r.args[:0])
	if !ok {
		r.err = errUnbalancedQuotes
		return nil, false
	}
	r.examined += int64(len(line))
	r.args, r.seen = args, 0
	r.start += i + 1
	r.pos = r.start
	return args, true
}
