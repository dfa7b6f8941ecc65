package httplimit

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// FailOpen is an Options.OnError that lets a request pass about which the backend
// did not decide: better unlimited than down.
func FailOpen(w http.ResponseWriter, r *http.Request, _ error, next http.Handler) {
	next.ServeHTTP(w, r)
}

// FailClosed is an Options.OnError that answers 503 to a request about which the
// backend did not decide: better down than unlimited. The error is not shown to
// the client.
func FailClosed(w http.ResponseWriter, _ *http.Request, _ error, _ http.Handler) {
	http.Error(w, "the rate limit cannot be checked", http.StatusServiceUnavailable)
}

// logInterval is the least time between two lines about failures.
const logInterval = time.Second

// failures counts and logs the requests about which the backend did not decide.
type failures struct {
	total *atomic.Int64 // Options.Failures; may be nil
	log   *slog.Logger  // Options.Log; nil: slog's default

	mu       sync.Mutex
	nextLine time.Time // protected by mu; when one may be written again
	unlogged int64     // protected by mu; requests since the last line
}

func (f *failures) add(ctx context.Context, policy string, err error) {
	if f.total != nil {
		f.total.Add(1)
	}
	n := f.due(time.Now()) // the rate of log lines; no decision depends on it
	if n == 0 {
		return
	}
	log := f.log
	if log == nil {
		log = slog.Default()
	}
	log.LogAttrs(ctx, slog.LevelError, "httplimit: the backend does not decide",
		slog.String("policy", policy), slog.Int64("requests", n), slog.Any("error", err))
}

// due counts a request, and returns how many the next line is about, 0 where it
// is too early for one.
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
