package httplimit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter/httplimit"
)

// logTo returns a logger without times.
func logTo(b *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(b,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
}

// failing returns a backend that fails with err.
func failing(err error) httplimit.Backend {
	return httplimit.BackendFunc(func(context.Context, string, httplimit.Quota) (httplimit.Decision, error) {
		return httplimit.Decision{}, err
	})
}

// Every failure is counted, and logged in at most one line a second with the number of failures.
func TestFailuresAreCountedAndLogged(t *testing.T) {
	for name, onError := range map[string]func(http.ResponseWriter, *http.Request, error, http.Handler){
		"open": httplimit.FailOpen, "closed": httplimit.FailClosed,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				var count atomic.Int64
				h := httplimit.New(httplimit.Options{
					Backend: failing(errors.New("no server")),
					Quota:   httplimit.Quota{Name: "login", Limit: 1, Window: time.Second},
					OnError: onError, Failures: &count, Log: logTo(&lines),
				})(hello)
				wait := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // the bubble's clock

				get(h, nil)
				const first = `level=ERROR msg="httplimit: the backend does not decide" policy=login ` +
					`requests=1 error="no server"` + "\n"
				require.Equal(t, first, lines.String())
				var all sync.WaitGroup
				for range 100 {
					all.Go(func() { get(h, nil) })
				}
				all.Wait()
				wait(time.Second - 1)
				get(h, nil)
				require.Equal(t, first, lines.String())
				wait(1)
				get(h, nil)
				require.Equal(t, first+strings.Replace(first, "=1", "=102", 1), lines.String())
				require.EqualValues(t, 103, count.Load())
			})
		})
	}
}

// A request whose client has gone must not pass, and does not count as a failure.
func TestCanceledRequest(t *testing.T) {
	var lines bytes.Buffer
	var count atomic.Int64
	backend := httplimit.BackendFunc(func(
		ctx context.Context, _ string, _ httplimit.Quota,
	) (httplimit.Decision, error) {
		return httplimit.Decision{}, ctx.Err()
	})
	h := httplimit.New(httplimit.Options{
		Backend: backend, Quota: httplimit.Quota{Limit: 1, Window: time.Second},
		OnError: httplimit.FailOpen, Failures: &count, Log: logTo(&lines),
	})(hello)
	with := func(ctx context.Context) int {
		return get(h, func(r *http.Request) { *r = *r.WithContext(ctx) }).Code
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, 503, with(gone))
	require.Zero(t, count.Load())
	require.Empty(t, lines.String())

	// A backend that exceeds the program's own deadline has failed.
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	require.Equal(t, 200, with(late))
	require.EqualValues(t, 1, count.Load())
	require.Contains(t, lines.String(), "deadline exceeded")
}

// Failures are logged by default.
func TestDefaultLog(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var lines bytes.Buffer
	slog.SetDefault(logTo(&lines))
	get(httplimit.New(httplimit.Options{
		Backend: failing(errors.New("no server")),
		Quota:   httplimit.Quota{Limit: 1, Window: time.Second},
		OnError: httplimit.FailOpen,
	})(hello), nil)
	require.Contains(t, lines.String(), "policy=default requests=1")
}
