package httplimit_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/limiter/httplimit"
	"github.com/zlimit/zlimit/limiter/httplimit/inprocess"
	"github.com/zlimit/zlimit/zlimittest"
)

// backends are the ways to zlimit.
func backends(srv *zlimittest.Server) map[string]httplimit.Backend {
	return map[string]httplimit.Backend{
		"commands": httplimit.Commands(srv.Inner().Do), "typed": inprocess.Backend(srv.Inner().Limiter()),
	}
}

func failTest(t *testing.T) func(http.ResponseWriter, *http.Request, error, http.Handler) {
	return func(_ http.ResponseWriter, _ *http.Request, err error, _ http.Handler) {
		require.NoError(t, err, "OnError is for a backend that does not decide")
	}
}

// Commands.Check is what a server says with its defaults, at the bounds and beside them.
func TestBoundsOfCommands(t *testing.T) {
	const century = time.Duration(limiter.MaxWindowMs) * time.Millisecond
	var commands httplimit.Commands
	windows := []time.Duration{
		time.Millisecond, 16777 * time.Millisecond, time.Hour, century - time.Millisecond, century,
	}
	limits := []int64{1, 1001, 1 << 40, 999_999_999_999_999}
	for _, window := range windows {
		for _, limit := range limits {
			for _, cost := range []int64{0, 1, 1_000_001} {
				q := httplimit.Quota{Limit: limit, Window: window, Cost: cost}
				if cost > limit {
					continue // New refuses it
				}
				want := limiter.Validate([]limiter.Quota{{Limit: limit, WindowMs: window.Milliseconds()}},
					limiter.Call{Cost: cost})
				if err := commands.Check(q); want == nil {
					require.NoError(t, err, "%+v", q)
				} else {
					require.ErrorIs(t, err, httplimit.ErrQuota, "%+v: %v", q, want)
				}
			}
		}
	}
}

// What a Checker says of anything but the quota does not keep a program from starting.
func TestCheckOfOtherThings(t *testing.T) {
	srv := zlimittest.RunWith(t, zlimittest.Options{Frozen: true})
	require.Equal(t, "OK", srv.Do("SET", "", "text"))
	backend := inprocess.Backend(srv.Inner().Limiter())
	o := httplimit.Options{
		Backend: backend, OnError: failTest(t), Quota: httplimit.Quota{Limit: 1, Window: time.Second},
	}
	require.NotPanics(t, func() { httplimit.New(o) })
	require.NoError(t, srv.Inner().Limiter().Close())
	require.NotPanics(t, func() { httplimit.New(o) })
}
