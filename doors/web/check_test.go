package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
)

const oneDescriptor = `{"domain":"d","descriptors":[{"entries":[{"key":"k","value":"v"}]}]}`

func TestLongBodies(t *testing.T) {
	b := newBench(t)
	long := `{"domain":"` + strings.Repeat("x", 64<<10-13) + `"}`
	require.Len(t, long, 64<<10)
	w, _ := b.check(long)
	require.Equal(t, 200, w.Code)
	w, _ = b.check(long + " ")
	require.Equal(t, 413, w.Code)
	require.Equal(t, "close", w.Header().Get("Connection"))
}

func TestChunkedBodyAndLoading(t *testing.T) {
	b := newBench(t)
	chunked := request("POST", "/v1/check", oneDescriptor, "Content-Type: application/json")
	chunked.TransferEncoding, chunked.ContentLength = []string{"chunked"}, -1
	w, _ := b.do(chunked)
	require.Equal(t, 411, w.Code)
	require.Equal(t, "close", w.Header().Get("Connection"))
	b.loading = true
	w, _ = b.check(oneDescriptor)
	require.Equal(t, 503, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Empty(t, b.asked)
}

// shown are the headers of a decision.
func shown(h http.Header) string {
	var all []string
	for _, name := range []string{
		"RateLimit-Policy", "RateLimit", "Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining",
		"X-RateLimit-Reset",
	} {
		if v := h.Values(name); len(v) > 0 {
			all = append(all, strings.Join(v, "|"))
		} else {
			all = append(all, "-")
		}
	}
	return strings.Join(all, " ")
}

func TestRefusals(t *testing.T) {
	b := newBench(t)
	for reason, want := range map[doors.Reason][2]int{ // of /v1/check and of /v1/auth
		doors.Invalid: {400, 500}, doors.Unauthenticated: {401, 401}, doors.Forbidden: {403, 403},
		doors.UnknownDomain: {404, 500}, doors.Unavailable: {503, 503},
	} {
		b.decide = func(*doors.Request, *doors.Response) error {
			return &doors.Refusal{Reason: reason, Text: "why"}
		}
		b.allow = func(*doors.KeyDecision) error { return b.decide(nil, nil) }
		w, body := b.check(`{"key":"a"}`)
		require.Equal(t, want[0], w.Code)
		require.JSONEq(t, `{"error":"why"}`, body)
		w, body = b.check(oneDescriptor)
		require.Equal(t, want[0], w.Code)
		require.JSONEq(t, `{"error":"why"}`, body)
		require.Equal(t, reason == doors.Unauthenticated, w.Header().Get("WWW-Authenticate") != "")
		require.Equal(t, reason == doors.Unavailable, w.Header().Get("Retry-After") == "1")
		w, body = b.do(request("GET", "/v1/auth?domain=address&address=x-real-ip", "", "X-Real-IP: 1.2.3.4"))
		require.Equal(t, want[1], w.Code)
		require.NotContains(t, body, "why")
		require.Empty(t, w.Header().Get("WWW-Authenticate"))
	}
	require.Equal(t, []string{"/v1/auth: why"}, b.logged, "once a second")
	b.now = b.now.Add(-1e9)
	b.do(request("GET", "/v1/auth", ""))
	require.Len(t, b.logged, 2, "the clock has stepped back")
	b.decide, b.login = nil, &doors.Refusal{Reason: doors.Unauthenticated, Text: "who"}
	b.now = b.now.Add(2e10) // what has logged in is too old
	w, body := b.check(oneDescriptor)
	require.Equal(t, 401, w.Code)
	require.JSONEq(t, `{"error":"who"}`, body)
}

// TestClientLeaves: a decision that waits learns that its client has left.
func TestClientLeaves(t *testing.T) {
	b := newBench(t)
	begun := make(chan struct{})
	b.decide = func(r *doors.Request, _ *doors.Response) error {
		close(begun)
		<-r.Gone
		return &doors.Refusal{Reason: doors.Unavailable, Text: "gone"}
	}
	ctx, leave := context.WithCancel(t.Context())
	r := request("POST", "/v1/check", oneDescriptor, "Content-Type: application/json")
	done := make(chan int, 1)
	go func() {
		w, _ := b.do(r.WithContext(ctx))
		done <- w.Code
	}()
	select {
	case <-begun:
	case code := <-done:
		require.Fail(t, "answered without a decision", "%d", code)
	}
	leave()
	require.Equal(t, 503, <-done)
}
