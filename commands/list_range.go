package commands

import (
	"github.com/zlimit/zlimit/resp"
)

// LLEN key
func llen(c *Ctx) resp.Value {
	l, refusal := readList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Int(0)
	}
	return resp.Int(int64(l.Len()))
}

// LINDEX key index
func lindex(c *Ctx) resp.Value {
	l, refusal := readList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Null // Redis looks up the key before it parses the index
	}
	index, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	at, ok := indexIn(index, l.Len())
	if !ok {
		return resp.Null
	}
	return resp.Bulk(l.At(at))
}

// indexIn returns the position of an index in a list of n elements; a negative index
// counts from the end. It reports false if the list has no such element.
func indexIn(index int64, n int) (at int, ok bool) {
	if index < 0 {
		index += int64(n)
	}
	return int(index), index >= 0 && index < int64(n)
}

// indexRange returns a range, which includes its ends, as the positions from first up
// to, not including, end in a list of n elements. If it is empty, first >= end.
func indexRange(start, stop int64, n int) (first, end int) {
	size := int64(n)
	if start < 0 {
		start = max(start+size, 0)
	}
	if stop < 0 {
		stop += size // if it is still negative, the range is empty
	}
	stop = min(stop, size-1)
	if start > stop {
		return 0, 0
	}
	return int(start), int(stop) + 1
}

// parseIndexes reads start and stop, the second and third argument.
func parseIndexes(c *Ctx) (start, stop int64, refusal resp.Value) {
	if start, refusal = toInt(c.Args[2]); refusal.IsError() {
		return 0, 0, refusal
	}
	stop, refusal = toInt(c.Args[3])
	return start, stop, refusal
}

// LRANGE key start stop
func lrange(c *Ctx) resp.Value {
	start, stop, refusal := parseIndexes(c)
	if refusal.IsError() {
		return refusal
	}
	l, refusal := readList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Empty
	}
	first, end := indexRange(start, stop, l.Len())
	if first >= end {
		return resp.Empty
	}
	// Elements are immutable, so the reply may alias them.
	out, remaining := c.Build(end-first), end-first
	l.Ascend(first, func(elem string) bool {
		remaining--
		return out.Add(resp.Bulk(elem)) && remaining > 0
	})
	return out.Array()
}

// lposOptions are LPOS' options.
type lposOptions struct {
	rank    int64 // the first match that counts, from 1; negative: from the end
	count   int64 // matches to return; 0: all
	counted bool  // COUNT was given: the reply is an array
	most    int64 // elements to compare; 0: all
}

func parseLpos(rest [][]byte) (lposOptions, resp.Value) {
	opts := lposOptions{rank: 1}
	for o := (options{rest}); o.more(); {
		var ok bool
		switch {
		case o.wordWith("rank", 1):
			rank, refusal := toInt(o.value())
			if refusal.IsError() {
				return opts, refusal
			}
			if rank == 0 {
				return opts, errLposRank
			}
			opts.rank = rank
		case o.wordWith("count", 1):
			opts.counted = true
			if opts.count, ok = parseInt(o.value()); !ok || opts.count < 0 {
				return opts, errLposCount
			}
		case o.wordWith("maxlen", 1):
			if opts.most, ok = parseInt(o.value()); !ok || opts.most < 0 {
				return opts, errLposMaxLen
			}
		default:
			return opts, ErrSyntax
		}
	}
	return opts, resp.None
}

// LPOS key element [RANK rank] [COUNT num-matches] [MAXLEN len]
func lpos(c *Ctx) resp.Value {
	opts, refusal := parseLpos(c.Args[3:])
	if refusal.IsError() {
		return refusal
	}
	l, refusal := readList(c)
	if refusal.IsError() {
		return refusal
	}
	found, first := c.Build(0), int64(-1)
	if l != nil {
		rank, fromEnd := opts.rank, opts.rank < 0
		if fromEnd {
			rank = -rank // the least int64 stays negative, and every match counts, as in Redis
		}
		looked, matches := 0, int64(0)
		look := func(elem string) bool {
			if opts.most != 0 && int64(looked) >= opts.most {
				return false
			}
			at := looked
			looked++
			if elem != string(c.Args[2]) {
				return true
			}
			if matches++; matches < rank {
				return true
			}
			if fromEnd {
				at = l.Len() - 1 - at
			}
			if first < 0 {
				first = int64(at)
			}
			return found.Add(resp.Int(int64(at))) && opts.counted &&
				(opts.count == 0 || matches-rank+1 < opts.count)
		}
		if fromEnd {
			l.Descend(l.Len()-1, look)
		} else {
			l.Ascend(0, look)
		}
	}
	switch {
	case opts.counted:
		return found.Array()
	case first < 0:
		return resp.Null
	}
	return resp.Int(first)
}
