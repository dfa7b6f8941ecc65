package main

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// pick returns one of its arguments.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// integers are the limits at which integer arguments, counters and canonical decimals change. None is between
// 100,000 and 512 MiB, where an offset would make both servers allocate that much.
var integers = []string{
	"0", "1", "-1", "2", "3", "5", "7", "10", "15", "100", "127", "128", "255", "256", "-128", "-129",
	"32767", "65535",
	"65536", "2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295", "4294967296",
	"9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740992", "-9007199254740993",
	"1000000000000000000", "9223372036854775806", "9223372036854775807", "-9223372036854775807",
	"-9223372036854775808",
}

// notIntegers look like integers, but Redis refuses them.
var notIntegers = []string{
	"", " ", "abc", "1.0", "1e3", " 1", "1 ", "+1", "0100", "-0", "00", "0x10", "9223372036854775808",
	"-9223372036854775809", "18446744073709551616", "99999999999999999999", "1\x002", "\r\n", "--1", "1,000",
}

// floats are scores and increments at the limits of doubles, of their formatting and of strtod's grammar.
var floats = []string{
	"0", "-0", "0.0", "1.5", "-1.5", "0.1", "0.2", "0.30000000000000004", "3.14159265358979", "1e3", "1E3",
	"+5", "5.",
	".5", "-.5", "0100", "007", "1e17", "1e16", "123456789012345678", "1e20", "1e21", "1e22", "-1e17", "1e-5",
	"1e-7", "1e100",
	"1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "5e-324",
	"9007199254740991",
	"9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808",
	"inf", "+inf", "-inf", "Inf", "INFINITY", "-infinity", "0x10", "0x1p4", "1700000000.123", "1700000000.5",
	"17.25",
	"1." + strings.Repeat("0", 254), "1." + strings.Repeat("0", 255), strings.Repeat("0", 300) + "7.5", "0x" +
		strings.Repeat("0", 300) + "2",
	"3." + strings.Repeat("0", 5117), "3." + strings.Repeat("0", 5118),
}

// notFloats are refused as scores.
var notFloats = []string{
	"", " ", "nan", "NaN", "-nan", "abc", " 1", "1 ", "1..2", "1e", "1e400", "-1e400", "(1", "[1", "in",
	"1\x00", "1,5", "--1", "0x", "0x1p-1080", "1e-400",
}

// sampleStrings are members and values: short ones that collide, decimals in several spellings, empty,
// binary, long.
var sampleStrings = []string{
	"a", "b", "c", "d", "aa", "ab", "b1", "B", "", "0", "1", "2", "-1", "10", "0100", "-0", "1.5", "1e3",
	"inf", "nan",
	"9007199254740993", "1700000000123", "\x00", "\x00\x01\xff\xfe", "a\r\nb", "*1\r\n",
	"\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87",
	"with space", `"quoted"`, "'", "\\", "{a}b", "[a", "(a", "-", "+", "nil", "OK",
	strings.Repeat("x", 44), strings.Repeat("x", 45), strings.Repeat("m", 64), strings.Repeat("m", 65),
	strings.Repeat("long", 100),
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// between returns a uniform random number in [lo, hi].
func (g *generator) between(lo, hi int) int { return lo + g.r.IntN(hi-lo+1) }

func itoa[T int | int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// integer returns mostly small integers, sometimes a limit, rarely an invalid one.
func (g *generator) integer() string {
	switch n := g.r.IntN(100); {
	case n < 70:
		return itoa(g.between(-3, 20))
	case n < 97:
		return pick(g.r, integers...)
	default:
		return pick(g.r, notIntegers...)
	}
}

// index returns a rank as in ZRANGE and GETRANGE.
func (g *generator) index() string {
	switch n := g.r.IntN(100); {
	case n < 35:
		return "0"
	case n < 60:
		return itoa(g.between(0, 12))
	case n < 85:
		return itoa(-g.between(1, 12))
	case n < 97:
		return pick(g.r, "100", "-100", "130", "9223372036854775807", "-9223372036854775808", "2147483648")
	default:
		return pick(g.r, notIntegers...)
	}
}

// count returns a number of elements to ask for.
func (g *generator) count() string {
	switch n := g.r.IntN(100); {
	case n < 80:
		return itoa(g.between(0, 12))
	case n < 90:
		return pick(g.r, "-1", "-5", "100", "9223372036854775807")
	case n < 96:
		return "0"
	default:
		return pick(g.r, notIntegers...)
	}
}

// score returns a score for ZADD or ZINCRBY.
func (g *generator) score() string {
	switch n := g.r.IntN(100); {
	case n < 50:
		return itoa(g.between(0, 20))
	case n < 65:
		return itoa(g.nowMs/1000 - int64(g.r.IntN(90)))
	case n < 97:
		return pick(g.r, floats...)
	default:
		return pick(g.r, notFloats...)
	}
}

// bound returns one end of a range by score.
func (g *generator) bound() string {
	switch n := g.r.IntN(100); {
	case n < 15:
		return "-inf"
	case n < 30:
		return "+inf"
	case n < 40:
		return "0"
	case n < 60:
		return pick(g.r, "", "(") + itoa(g.between(-1, 20))
	case n < 72:
		return pick(g.r, "", "(") + itoa(g.nowMs/1000-int64(g.r.IntN(90)))
	case n < 97:
		return pick(g.r, "", "", "(") + pick(g.r, floats...)
	default:
		return pick(g.r, "(", "((1", "(nan", "nan", "", "abc", "[1", "1e400")
	}
}

// lexBound returns one end of a range by member.
func (g *generator) lexBound() string {
	switch n := g.r.IntN(100); {
	case n < 20:
		return "-"
	case n < 40:
		return "+"
	case n < 95:
		return pick(g.r, "[", "(") + g.member()
	default:
		return pick(g.r, "", "a", "--", "+a", "{a")
	}
}

func (g *generator) member() string {
	if g.chance(65) {
		return "m" + itoa(g.between(0, 20))
	}
	return pick(g.r, sampleStrings...)
}

// spell sometimes changes the case of a name or an option.
func (g *generator) spell(word string) string {
	if word == "" {
		return word
	}
	switch g.r.IntN(12) {
	case 0:
		return strings.ToLower(word)
	case 1:
		return strings.ToUpper(word[:1]) + strings.ToLower(word[1:])
	}
	return word
}
