package httplimit

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// writeHeaders writes the quota and what is left of it. The parameter t of a denied request is its
// Retry-After, as the draft requires; of an admitted one it is the time until the whole quota is available. A
// limit of 0 has none: waiting does not help. Both fields are lists: several middlewares in front of a
// handler each add an item.
func writeHeaders(h http.Header, q Quota, d Decision, legacy bool) {
	name := string(appendString(nil, q.name()))
	remaining := min(max(d.Remaining, 0), maxInteger)
	policy, left := name+";q="+decimal(q.Limit), name+";r="+decimal(remaining)
	if q.Window > 0 {
		policy += ";w=" + decimal(seconds(q.Window))
	}
	wait := d.ResetAfter
	if !d.Allowed && !d.never() {
		wait = d.RetryAfter
		h.Set("Retry-After", decimal(max(seconds(wait), 1)))
	}
	reset := decimal(seconds(wait))
	if q.Limit > 0 {
		left += ";t=" + reset
	}
	h.Add("RateLimit-Policy", policy)
	h.Add("RateLimit", left)
	if !legacy {
		return
	}
	h.Set("X-RateLimit-Limit", decimal(q.Limit))
	h.Set("X-RateLimit-Remaining", decimal(remaining))
	if q.Limit > 0 {
		h.Set("X-RateLimit-Reset", reset)
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
