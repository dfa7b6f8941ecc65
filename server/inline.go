package server

import "github.com/zlimit/zlimit/words"

// inline continues to parse the inline command at start: anything that does not
// begin with '*', as in redis-server. whole is false if its line end is missing or
// the command is invalid.
//
// redcon's parser is not used: it knows no \xHH, refuses a quote inside a word, and
// treats a leading '$' as another protocol.
func (r *reader) inline() (args [][]byte, whole bool) {
	b := r.buf[r.start:r.end]
	stop := min(len(b), maxLine+1)
	i := r.searched
	// Redis searches with strchr: a NUL hides a line end behind it.
	for i < stop && b[i] != '\n' && b[i] != 0 {
		i++
	}
	r.examined += int64(i - r.searched + 1)
	r.searched = i
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
	args, ok := words.Split(line, r.earlier[:0])
	if !ok {
		r.err = errUnbalancedQuotes
		return nil, false
	}
	r.examined += int64(len(line))
	r.searched = 0
	if len(args) > 0 {
		r.keepArgs(args)
	}
	r.start += i + 1
	r.pos = r.start
	return args, true
}
