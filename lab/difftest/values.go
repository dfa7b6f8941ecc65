package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// pick returns one of its arguments.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// IntN makes a generator the dice of the grammar.
func (g *generator) IntN(n int) int { return g.r.IntN(n) }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// between returns a uniform random number in [lo, hi].
func (g *generator) between(lo, hi int) int { return lo + g.r.IntN(hi-lo+1) }

func itoa[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// spell sometimes changes the case of a name or an option.
func (g *generator) spell(word string) string {
	switch {
	case word == "":
	case g.chance(8):
		return strings.ToLower(word)
	case g.chance(8):
		return strings.ToUpper(word[:1]) + strings.ToLower(word[1:])
	}
	return word
}
