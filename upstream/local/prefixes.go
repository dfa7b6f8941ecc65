package local

import (
	"errors"
	"strconv"
	"strings"
)

// prefixes are values by the prefix of a key. The longest prefix counts.
type prefixes[V any] []prefix[V]

type prefix[V any] struct {
	name  string
	value V
}

func (p prefixes[V]) of(key []byte) (value V, ok bool) {
	longest := -1
	for i := range p {
		x := &p[i]
		if len(x.name) > longest && len(x.name) <= len(key) && string(key[:len(x.name)]) == x.name {
			longest, value = len(x.name), x.value
		}
	}
	return value, longest >= 0
}

// MaxMs is the longest time that a directive may name, in milliseconds: a day.
const MaxMs = 86_400_000

var (
	errDenyCache = errors.New("rl-deny-cache must be pairs of a prefix of keys and milliseconds from 1 to " +
		strconv.Itoa(MaxMs) + `: user: 1000 "" 100`)
	errLease = errors.New("rl-lease must be prefixes of keys, each with a share in percent from 1 to 100 " +
		"and " +
		"milliseconds from 1 to " + strconv.Itoa(MaxMs) + ": hot: 10 50")
)

// parse reads groups of a prefix and n numbers, each from 1 to its bound.
func parse(words []string, wrong error, bounds ...int64) (out prefixes[[]int64], err error) {
	if len(words)%(1+len(bounds)) != 0 {
		return nil, wrong
	}
	for ; len(words) > 0; words = words[1+len(bounds):] {
		p := prefix[[]int64]{name: strings.Clone(words[0])}
		for i, most := range bounds {
			n, err := strconv.ParseInt(words[1+i], 10, 64)
			if err != nil || n < 1 || n > most {
				return nil, wrong
			}
			p.value = append(p.value, n)
		}
		out = append(out, p)
	}
	return out, nil
}
