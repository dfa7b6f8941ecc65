package httplimit

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Errors of an invalid quota.
var (
	errName   = errors.New("httplimit: Quota.Name is not printable ASCII")
	errLimit  = errors.New("httplimit: Quota.Limit is not from 1 to 999,999,999,999,999")
	errWindow = errors.New("httplimit: Quota.Window is not a whole number of milliseconds, at least one")
)

// name returns the name of the policy in headers and logs.
func (q Quota) name() string {
	if q.Name == "" {
		return "default"
	}
	return q.Name
}

// maxInteger is the largest integer of a structured field.
const maxInteger = 999_999_999_999_999

func (q Quota) check() error {
	for _, c := range []byte(q.Name) {
		if c < 0x20 || c > 0x7e {
			return errName
		}
	}
	switch {
	case q.Limit < 1 || q.Limit > maxInteger:
		return errLimit
	case q.Window < time.Millisecond || q.Window%time.Millisecond != 0:
		return errWindow
	}
	return nil
}

// writeHeaders writes the quota and what is left of it. The parameter t of a denied request is its
// Retry-After, as the draft requires; of an admitted one it is the time until the whole quota is available.
// Both fields are lists: several middlewares in front of a handler each add an item.
func writeHeaders(h http.Header, q Quota, d Decision, legacy bool) {
	name := appendString(nil, q.name())
	wait := d.ResetAfter
	if !d.Allowed && !d.never() {
		wait = d.RetryAfter
	}
	remaining := min(max(d.Remaining, 0), maxInteger)
	h.Add("RateLimit-Policy", string(name)+";q="+decimal(q.Limit)+";w="+decimal(seconds(q.Window)))
	h.Add("RateLimit", string(name)+";r="+decimal(remaining)+";t="+decimal(seconds(wait)))
	if !d.Allowed && !d.never() {
		h.Set("Retry-After", decimal(max(seconds(d.RetryAfter), 1)))
	}
	if legacy {
		h.Set("X-RateLimit-Limit", decimal(q.Limit))
		h.Set("X-RateLimit-Remaining", decimal(remaining))
		h.Set("X-RateLimit-Reset", decimal(seconds(wait)))
	}
}

// seconds rounds up, so that nobody retries too early.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return min(max(s, 0), math.MaxInt32) // a header's maximum
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// appendString appends a structured field's string, which must be printable ASCII.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"')
}
