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
					waitOf(s) > waitOf(&response.Statuses[binding])) {
				binding = i
			}
		}
	} else {
		status = http.StatusOK
	}
	if binding < 0 {
		return status
	}
	values := make([]string, 0, 6) // of all headers
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	s := &response.Statuses[binding]
	reset, hasReset := s.ResetSeconds, s.HasReset
	if s.Code == doors.OverLimit {
		wait := waitOf(s)
		if hasReset = wait < never; hasReset {
			reset = wait
			set("Retry-After", decimal(wait))
		}
	}
	if !s.HasLimit {
		return status
	}
	name := quoted(s.Limit.Name, domain)
	limit, remaining := decimal(int64(s.Limit.Requests)), decimal(int64(s.Remaining))
	policy, left := name+";q="+limit, name+";r="+remaining
	if s.Limit.Unit.Valid() {
		policy += ";w=" + decimal(s.Limit.Unit.Seconds())
	}
	set("X-Ratelimit-Limit", limit)
	set("X-Ratelimit-Remaining", remaining)
	if hasReset {
		left += ";t=" + decimal(reset)
		set("X-Ratelimit-Reset", decimal(reset))
	}
	set("Ratelimit-Policy", policy)
	set("Ratelimit", left)
	return status
}

// never is longer than every wait.
const never = math.MaxInt64

// waitOf returns the seconds to wait after a denial, at least 1.
func waitOf(s *doors.Status) int64 {
	if s.RetryMs < 0 {
		return never
	}
	return max((s.RetryMs-1)/1000+1, 1)
}

// quoted returns the name of a limit as a structured field's string, or its domain's if it has none.
func quoted(name string, domain []byte) string {
	if name == "" {
		name = string(domain)
	}
	b := []byte{'"'}
	for _, c := range []byte(name) {
		switch {
		case c < ' ' || c > '~':
			return `"default"` // it cannot be written
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
