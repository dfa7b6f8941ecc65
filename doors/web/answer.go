package web

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/zlimit/zlimit/doors"
)

// Values of headers that answers share.
var (
	noStore = []string{"no-store"}
	noSniff = []string{"nosniff"}
	ofJSON  = []string{jsonType}
)

// writeDecision writes the headers of a decision and returns its status: RateLimit-Policy and RateLimit of
// draft-ietf-httpapi-ratelimit-headers-11, Retry-After if it denies, and x-ratelimit-limit, -remaining and
// -reset. They show the limit that binds. If several deny it is the one to wait for longest: waiting less
// than that does not help.
func writeDecision(h http.Header, domain []byte, response *doors.Response) (status int) {
	binding := response.Binding
	if response.Code == doors.OverLimit {
		status = http.StatusTooManyRequests
		for i := range response.Statuses {
			if s := &response.Statuses[i]; s.Code == doors.OverLimit &&
				(binding < 0 || response.Statuses[binding].Code != doors.OverLimit ||
					waitOf(s.RetryMs) > waitOf(response.Statuses[binding].RetryMs)) {
				binding = i
			}
		}
	} else {
		status = http.StatusOK
	}
	if binding < 0 {
		return status
	}
	s := &response.Statuses[binding]
	shown := limitHeaders{
		hasReset: s.HasReset, reset: s.ResetSeconds,
		denied: s.Code == doors.OverLimit, wait: waitOf(s.RetryMs),
	}
	if s.HasLimit {
		shown.name = quoted(s.Limit.Name, domain)
		shown.limit, shown.remaining = int64(s.Limit.Requests), int64(s.Remaining)
		if s.Limit.Unit.Valid() {
			shown.window = s.Limit.Unit.Seconds()
		}
	}
	shown.write(h)
	return status
}

// writeKeyDecision does the same with a decision about a key, whose limit is called default.
func writeKeyDecision(h http.Header, d *doors.KeyDecision) (status int) {
	shown := limitHeaders{
		name: unnamed, limit: min(d.Limit, maxInteger), remaining: min(d.Remaining, maxInteger),
		hasReset: true, reset: seconds(d.ResetMs),
		denied: d.Code == doors.OverLimit, wait: waitOf(d.RetryMs),
	}
	if d.WindowMs%1000 == 0 {
		shown.window = d.WindowMs / 1000
	}
	shown.write(h)
	if shown.denied {
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}

// maxInteger is the largest integer of a structured field.
const maxInteger = 999_999_999_999_999

// limitHeaders is what the headers of a decision show.
type limitHeaders struct {
	name             string // as a structured field's string; "": no limit
	limit, remaining int64
	window           int64 // in seconds; 0: unknown, or not whole
	hasReset         bool
	reset            int64 // seconds until the window ends
	denied           bool
	wait             int64 // in the place of reset after a denial
}

func (l *limitHeaders) write(h http.Header) {
	values := make([]string, 0, 6) // of all headers
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	reset, hasReset := l.reset, l.hasReset
	if l.denied {
		if hasReset = l.wait < never; hasReset {
			reset = l.wait
			set("Retry-After", decimal(reset))
		}
	}
	if l.name == "" {
		return
	}
	limit, remaining := decimal(l.limit), decimal(l.remaining)
	policy, left := l.name+";q="+limit, l.name+";r="+remaining
	if l.window > 0 {
		policy += ";w=" + decimal(l.window)
	}
	set("X-Ratelimit-Limit", limit)
	set("X-Ratelimit-Remaining", remaining)
	if hasReset {
		left += ";t=" + decimal(reset)
		set("X-Ratelimit-Reset", decimal(reset))
	}
	set("Ratelimit-Policy", policy)
	set("Ratelimit", left)
}

// never is longer than every wait.
const never = math.MaxInt64

// waitOf returns the seconds to wait after a denial, at least 1.
func waitOf(retryMs int64) int64 {
	if retryMs < 0 {
		return never
	}
	return max(seconds(retryMs), 1)
}

// seconds returns milliseconds from 0 on in seconds, rounded up.
func seconds(ms int64) int64 { return ms/1000 + min(ms%1000, 1) }

// unnamed is the name of a limit that has none, or one that cannot be written.
const unnamed = `"default"`

// quoted returns the name of a limit as a structured field's string, or its domain's if it has none.
func quoted(name string, domain []byte) string {
	if name == "" {
		name = string(domain)
	}
	b := []byte{'"'}
	for _, c := range []byte(name) {
		switch {
		case c < ' ' || c > '~':
			return unnamed
		case c == '"' || c == '\\':
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(append(b, '"'))
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values are ours
	}
	writeBody(w, status, append(text, '\n'))
}

// writeBody answers with text in JSON.
func writeBody(w http.ResponseWriter, status int, text []byte) {
	w.Header()["Content-Type"] = ofJSON
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// fail answers a request that is not decided. A connection with a body that may not have been read is closed.
func fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	if r.URL.Path == authPath {
		writeText(w, status, text)
		return
	}
	writeJSON(w, status, struct {
		Error string `json:"error"`
	}{text})
}

// unavailable answers that a decision can be made later.
func unavailable(w http.ResponseWriter, r *http.Request, text string) {
	w.Header().Set("Retry-After", "1")
	fail(w, r, http.StatusServiceUnavailable, text)
}

// refuseCheck answers a request of /v1/check that was refused.
func refuseCheck(w http.ResponseWriter, r *http.Request, f *doors.Refusal) {
	switch f.Reason {
	case doors.Unauthenticated:
		w.Header().Set("WWW-Authenticate", `Basic realm="zlimit"`)
		fail(w, r, http.StatusUnauthorized, f.Text)
	case doors.Forbidden:
		fail(w, r, http.StatusForbidden, f.Text)
	case doors.UnknownDomain:
		fail(w, r, http.StatusNotFound, f.Text)
	case doors.Invalid:
		fail(w, r, http.StatusBadRequest, f.Text)
	default:
		unavailable(w, r, f.Text)
	}
}

// A limitedLog logs at most once a second.
type limitedLog struct {
	now func() time.Time
	log func(format string, args ...any)

	mu   sync.Mutex
	last time.Time // protected by mu
}

func (l *limitedLog) printf(format string, args ...any) {
	now := l.now()
	l.mu.Lock()
	passed := now.Sub(l.last)
	due := passed < 0 || passed >= time.Second
	if due {
		l.last = now
	}
	l.mu.Unlock()
	if due {
		l.log(format, args...)
	}
}
