package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// FailOpen is an Options.OnError that lets the request pass: better unlimited than down.
func FailOpen(w http.ResponseWriter, r *http.Request, _ error, next http.Handler) {
	next.ServeHTTP(w, r)
}

// FailClosed is an Options.OnError that answers 503: better down than unlimited. It does not show the error
// to the client.
func FailClosed(w http.ResponseWriter, _ *http.Request, _ error, _ http.Handler) {
	http.Error(w, "the rate limit cannot be checked", http.StatusServiceUnavailable)
}

// logInterval is the minimum time between two log lines.
const logInterval = time.Second

// The lines of the log.
const (
	failedLine  = "httplimit: the backend does not decide"
	invalidLine = "httplimit: requests are denied because their quota is invalid"
)

// failures counts and logs requests that were not decided.
type failures struct {
	line  string
	total *atomic.Int64 // Options.Failures; may be nil
	log   *slog.Logger  // Options.Log; nil: slog's default
	now   func() time.Time

	mu       sync.Mutex
	nextLine time.Time // protected by mu; time of the next line
	unlogged int64     // protected by mu; requests since the last line
}

func (f *failures) add(ctx context.Context, policy string, err error) {
	if f.total != nil {
		f.total.Add(1)
	}
	n := f.due(f.now())
	if n == 0 {
		return
	}
	log := f.log
	if log == nil {
		log = slog.Default()
	}
	log.LogAttrs(ctx, slog.LevelError, f.line,
		slog.String("policy", policy), slog.Int64("requests", n), slog.Any("error", err))
}

// due counts a request. It returns the number of requests for the next log line, or 0 if it is too early for
// one.
func (f *failures) due(now time.Time) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlogged++
	if now.Before(f.nextLine) {
		return 0
	}
	n := f.unlogged
	f.unlogged, f.nextLine = 0, now.Add(logInterval)
	return n
}
