package limiter

import "math"

// entriesPerMs is the number of scores in a millisecond.
const entriesPerMs = 1000

// msOf returns the millisecond of a score, rounded down.
func msOf(score int64) int64 {
	ms := score / entriesPerMs
	if score%entriesPerMs < 0 {
		ms--
	}
	return ms
}

// firstScore returns the lowest score of the millisecond after ms.
func firstScore(ms int64) int64 { return mul(add(ms, 1), entriesPerMs) }

// add, sub and mul saturate at the ends of int64.

func add(a, b int64) int64 {
	sum := a + b
	if a > 0 && b > 0 && sum < 0 {
		return math.MaxInt64
	}
	if a < 0 && b < 0 && sum >= 0 {
		return math.MinInt64
	}
	return sum
}

func sub(a, b int64) int64 {
	diff := a - b
	if a >= 0 && b < 0 && diff < 0 {
		return math.MaxInt64
	}
	if a < 0 && b > 0 && diff >= 0 {
		return math.MinInt64
	}
	return diff
}

// mul multiplies by a positive factor.
func mul(a, factor int64) int64 {
	if a > math.MaxInt64/factor {
		return math.MaxInt64
	}
	if a < math.MinInt64/factor {
		return math.MinInt64
	}
	return a * factor
}

// ceil and floor divide and round. ceil returns the rounded-up quotient of two numbers,
// 0 if the dividend is not positive. floor returns the largest multiple of unit that is
// not above a. The divisor is positive.

func ceil(a, divisor int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a-1)/divisor + 1
}

func floor(a, unit int64) int64 {
	rest := a % unit
	if rest < 0 {
		rest += unit
	}
	return sub(a, rest)
}
