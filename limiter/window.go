package limiter

import (
	"errors"
	"strconv"

	"github.com/zlimit/zlimit/calendar"
)

// SetWindow sets the window of q to what s says: a window of ParseWindow, or one of
// package calendar, such as 1mo@Europe/Zurich:17. It returns an error of the one or the
// other, and allocates nothing for a window that was parsed before.
func (q *Quota) SetWindow(s []byte) (err error) {
	q.Calendar = nil
	if q.WindowMs, err = ParseWindow(s); errors.Is(err, ErrWindowSyntax) && calendar.Is(s) {
		q.Calendar, err = calendar.Parse(s)
	}
	return err
}

// AppendWindow appends the window in a form that SetWindow parses.
func (q Quota) AppendWindow(b []byte) []byte {
	if q.Calendar != nil {
		return append(b, q.Calendar.String()...)
	}
	return strconv.AppendInt(b, q.WindowMs, 10)
}

// ParseWindow parses a window: a whole number of milliseconds, or a whole number and a
// lower-case unit, ms, s, m, h or d. Numbers have Redis' form of an integer: digits, no
// sign but a minus, no leading zero, no space. The result is at least 1 and below
// MaxWindowMs. Malformed windows yield ErrWindowSyntax, windows of zero or less
// ErrWindowShort, and longer ones, whatever their number of digits, ErrWindowLong.
func ParseWindow(s []byte) (ms int64, err error) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		if ms < MaxWindowMs { // one more digit cannot overflow; what exceeds the maximum still exceeds it
			ms = ms*10 + int64(s[digits]-'0')
		}
		digits++
	}
	unitMs := windowUnit(s[digits:])
	if digits == 0 || unitMs == 0 || s[0] == '0' && (digits > 1 || negative) {
		return 0, ErrWindowSyntax
	}
	switch {
	case negative || ms == 0:
		return 0, ErrWindowShort
	case ms > (MaxWindowMs-1)/unitMs:
		return 0, ErrWindowLong
	}
	return ms * unitMs, nil
}

// windowUnit returns the milliseconds of a unit, 0 if it is unknown.
func windowUnit(unit []byte) int64 {
	switch string(unit) {
	case "", "ms":
		return 1
	case "s":
		return 1000
	case "m":
		return 60_000
	case "h":
		return 3_600_000
	case "d":
		return 86_400_000
	}
	return 0
}
