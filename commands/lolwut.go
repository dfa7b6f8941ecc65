package commands

import (
	"math/rand/v2"
	"strings"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// RedisVersion is the version of Redis whose behaviour this is. Clients choose their
// commands by it.
const RedisVersion = "7.0.15"

// Lolwut is the row of LOLWUT.
var Lolwut = []Command{{
	Name: "lolwut", Arity: -1, Flags: ReadOnly | Fast,
	Group: "server", Since: "5.0.0", Syntax: "[VERSION version]",
	Handler:   lolwut,
	Summary:   "Shows the version, and with VERSION 5 or 6 a picture.",
	Deviation: "the picture is one of a token bucket",
}}

const lolwutEnd = "Redis ver. " + RedisVersion + "\n"

// LOLWUT [VERSION version [columns [rows ...]]]
//
// The versions that draw a picture in Redis draw one of a limiter. The last line is
// Redis'.
func lolwut(c *Ctx) resp.Value {
	if len(c.Args) < 3 || !EqualFold(c.Args[1], "version") {
		return resp.Verbatim(lolwutEnd)
	}
	version, ok := store.ParseInt(c.Args[2])
	if !ok {
		return ErrNotInteger
	}
	rest := c.Args[3:]
	switch uint32(version) { // as Redis reads it
	case 5:
		return picture(c, rest, []size{{66, 1000}, {8, 200}, {12, 200}})
	case 6:
		return picture(c, rest, []size{{80, 1000}, {20, 1000}})
	}
	return resp.Verbatim(lolwutEnd)
}

// A size is the default and the maximum of a picture's measure.
type size struct{ usual, most int64 }

// picture draws a bucket to which tokens are added steadily and from which they are
// taken in bursts: a column for each instant, with a mark below it if a request found
// too few.
func picture(c *Ctx, args [][]byte, sizes []size) resp.Value {
	var measures [3]int
	for i, s := range sizes {
		n := s.usual
		if i < len(args) {
			var ok bool
			if n, ok = store.ParseInt(args[i]); !ok {
				return ErrNotInteger
			}
		}
		measures[i] = int(min(max(n, 1), s.most))
	}
	columns, rows := measures[0], measures[len(sizes)-1]
	levels, refused := bucket(rand.New(rand.NewPCG(uint64(c.NowUs), 1)), columns, rows)
	var out strings.Builder
	for row := rows; row > 0; row-- {
		for _, level := range levels {
			out.WriteByte(" #"[min(max(level-row+1, 0), 1)])
		}
		out.WriteByte('\n')
	}
	for _, r := range refused {
		out.WriteByte(".x"[r])
	}
	out.WriteString("\n\nA token bucket; x is a request that was refused. " + lolwutEnd)
	return resp.Verbatim(out.String())
}

// bucket returns for each instant the tokens in the bucket, and 1 if a request was
// refused.
func bucket(r *rand.Rand, instants, burst int) (levels, refused []int) {
	tokens := burst
	for range instants {
		missed := 0
		if r.IntN(3) == 0 {
			if cost := 1 + r.IntN(max(burst/2, 1)); cost <= tokens {
				tokens -= cost
			} else {
				missed = 1
			}
		}
		levels, refused = append(levels, tokens), append(refused, missed)
		tokens = min(tokens+max(burst/12, 1), burst)
	}
	return levels, refused
}
