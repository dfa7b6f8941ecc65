package doctor

import "strconv"

// An instant is a number that a client has sent and that is a time: seconds, milliseconds,
// microseconds or nanoseconds since 1970.
type instant struct {
	ms      int64
	seconds bool // it is a whole number of seconds
}

// plausibleMs is how far an instant may be from now: a year. The numbers of now in the four
// units are a factor of a thousand apart, so one of them fits at most.
const plausibleMs = 365 * 24 * 3600 * 1000

// aheadMs returns how far the instant is ahead of the server's clock, 0 if its second has
// now in it.
func (t instant) aheadMs(nowMs int64) int64 {
	if t.seconds && nowMs >= t.ms {
		return min(t.ms+999-nowMs, 0)
	}
	return t.ms - nowMs
}

// parseInstant reads an instant near nowMs. It reports false for everything else.
func parseInstant(b []byte, nowMs int64) (t instant, ok bool) {
	whole, fractionMs, form := scanNumber(b)
	switch form {
	case noNumber:
		return instant{}, false
	case withExponent: // as Lua prints large numbers: 1.7000000000001e+15
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || f < 0 || f >= 1e19 {
			return instant{}, false
		}
		whole = int64(min(f, 9.2e18))
		fractionMs = int64((f - float64(whole)) * 1000)
	}
	if nowMs < 2*plausibleMs {
		return instant{}, false // every small number would be an instant
	}
	for _, ms := range [...]int64{whole*1000 + fractionMs, whole, whole / 1000, whole / 1_000_000} {
		if d := ms - nowMs; d < plausibleMs && d > -plausibleMs {
			return instant{ms, form == integer && ms == whole*1000}, true
		}
	}
	return instant{}, false
}

// The forms of numbers.
type numberForm uint8

const (
	noNumber numberForm = iota
	integer
	withFraction
	withExponent // for strconv
)

// scanNumber reads the decimal number in b, with three digits of its fraction.
func scanNumber(b []byte) (whole, fractionMs int64, form numberForm) {
	if len(b) < 6 || len(b) > 32 || b[0] < '0' || b[0] > '9' {
		return 0, 0, noNumber
	}
	i := 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if whole > (1<<63-10)/10 {
			return 0, 0, noNumber
		}
		whole = whole*10 + int64(b[i]-'0')
	}
	if i == len(b) {
		return whole, 0, integer
	}
	if b[i] != '.' {
		return 0, 0, exponentForm(b[i])
	}
	i++
	for scale := int64(100); i < len(b); i, scale = i+1, scale/10 {
		if b[i]-'0' > 9 {
			return 0, 0, exponentForm(b[i])
		}
		fractionMs += int64(b[i]-'0') * scale
	}
	return whole, fractionMs, withFraction
}

// exponentForm returns the form of a number that goes on with ch.
func exponentForm(ch byte) numberForm {
	if ch|0x20 == 'e' {
		return withExponent
	}
	return noNumber
}

// parseBound reads an instant that is a bound of a range of scores: "(" excludes it.
func parseBound(b []byte, nowMs int64) (instant, bool) {
	if len(b) > 0 && b[0] == '(' {
		b = b[1:]
	}
	return parseInstant(b, nowMs)
}

// instantOf is parseInstant for a stored score.
func instantOf(score float64, nowMs int64) (instant, bool) {
	var room [32]byte
	return parseInstant(strconv.AppendFloat(room[:0], score, 'f', -1, 64), nowMs)
}
