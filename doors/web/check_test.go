package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
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

func TestDecisionsOfKeysAreShown(t *testing.T) {
	const most = "999999999999999" // of an integer in these headers
	b := newBench(t)
	for _, c := range []struct {
		decision      doors.KeyDecision
		status        int
		headers, body string
	}{
		{
			doors.KeyDecision{Code: doors.OK, Limit: 10, WindowMs: 60_000, Remaining: 9, ResetMs: 59_001},
			200, `"default";q=10;w=60 "default";r=9;t=60 - 10 9 60`,
			`{"code":"OK","limit":10,"window_ms":60000,"remaining":9,"reset_ms":59001}`,
		},
		{
			doors.KeyDecision{Code: doors.OverLimit, Limit: 10, WindowMs: 1500, RetryMs: 1, ResetMs: 1400},
			429, `"default";q=10 "default";r=0;t=1 1 10 0 1`,
			`{"code":"OVER_LIMIT","limit":10,"window_ms":1500,"remaining":0,"reset_ms":1400,"retry_ms":1}`,
		},
		{
			doors.KeyDecision{
				Code: doors.OverLimit, Limit: 1<<53 - 1, WindowMs: 1000, Remaining: 1<<53 - 2, RetryMs: -1,
			},
			429, `"default";q=` + most + `;w=1 "default";r=` + most + ` - ` + most + ` ` + most + ` -`,
			`{"code":"OVER_LIMIT","limit":9007199254740991,"window_ms":1000,"remaining":9007199254740990,` +
				`"reset_ms":0,"retry_ms":-1}`,
		},
	} {
		b.allow = func(d *doors.KeyDecision) error { *d = c.decision; return nil }
		w, body := b.check(`{"key":"a"}`)
		require.Equal(t, c.status, w.Code)
		require.Equal(t, c.headers, shown(w.Header()))
		require.Equal(t, c.body, body)
	}
	b.allow = func(*doors.KeyDecision) error { return &doors.Refusal{Reason: doors.Forbidden, Text: "why"} }
	w, body := b.check(`{"key":"a"}`)
	require.Equal(t, 403, w.Code)
	require.JSONEq(t, `{"error":"why"}`, body)
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

func TestDecisionsAreShown(t *testing.T) {
	b := newBench(t)
	const one = `"limit":{"name":"one","requests_per_unit":10,"unit":"minute"}`
	limit := func(name string, unit policy.Unit) doors.Limit {
		return doors.Limit{Name: name, Requests: 10, Unit: unit}
	}
	ok := doors.Status{
		Code: doors.OK, HasLimit: true, HasReset: true, Limit: limit("one", policy.Minute), Remaining: 4,
		ResetSeconds: 9,
	}
	denied := doors.Status{
		Code: doors.OverLimit, HasLimit: true, HasReset: true, Limit: limit("", policy.Hour),
		ResetSeconds: 70,
		RetryMs:      60_001,
	}
	brief := denied
	brief.RetryMs, brief.Limit = 1000, limit("\"\\", policy.UnknownUnit)
	forever := denied
	forever.RetryMs, forever.Limit = -1, limit("é", policy.Day)
	failed := doors.Status{Code: doors.OverLimit, HasLimit: true, Limit: limit("f", policy.Day)}
	quota := ok
	quota.QuotaOver, quota.HasReset = true, false
	for _, c := range []struct {
		statuses []doors.Status
		binding  int
		headers  string
		body     string
	}{
		{[]doors.Status{{Code: doors.OK}}, -1, "- - - - - -", `{"code":"OK","statuses":[{"code":"OK"}]}`},
		{
			[]doors.Status{ok},
			0, `"one";q=10;w=60 "one";r=4;t=9 - 10 4 9`,
			`{"code":"OK","statuses":[{"code":"OK",` + one + `,"remaining":4,"reset_seconds":9}]}`,
		},
		{
			[]doors.Status{denied, ok},
			0, `"d";q=10;w=3600 "d";r=0;t=61 61 10 0 61`,
			`{"code":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT",` +
				`"limit":{"requests_per_unit":10,"unit":"hour"},"remaining":0,"reset_seconds":70,` +
				`"retry_ms":60001},` +
				`{"code":"OK",` + one + `,"remaining":4,"reset_seconds":9}]}`,
		},
		{[]doors.Status{denied, brief}, 1, `"d";q=10;w=3600 "d";r=0;t=61 61 10 0 61`, ""},
		{[]doors.Status{brief}, 0, `"\"\\";q=10 "\"\\";r=0;t=1 1 10 0 1`, ""},
		{[]doors.Status{brief, forever, denied}, 2, `"default";q=10;w=86400 "default";r=0 - 10 0 -`, ""},
		{[]doors.Status{failed}, 0, `"f";q=10;w=86400 "f";r=0;t=1 1 10 0 1`, ""},
		{
			[]doors.Status{quota},
			0, `"one";q=10;w=60 "one";r=4 - 10 4 -`,
			`{"code":"OK","statuses":[{"code":"OK",` + one + `,"remaining":4,"quota_over":true}]}`,
		},
	} {
		b.decide = func(_ *doors.Request, response *doors.Response) error {
			response.Statuses, response.Binding = c.statuses, c.binding
			for i := range c.statuses {
				if c.statuses[i].Code == doors.OverLimit {
					response.Code = doors.OverLimit
				}
			}
			return nil
		}
		w, body := b.check(oneDescriptor)
		require.Equal(t, c.headers, shown(w.Header()))
		if c.body != "" {
			require.Equal(t, c.body, body)
		}
		want := 200
		if strings.Contains(body, `"code":"OVER_LIMIT"`) {
			want = 429
		}
		require.Equal(t, want, w.Code)
	}
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
		w, body := b.check(oneDescriptor)
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
