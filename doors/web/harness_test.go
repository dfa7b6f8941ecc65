package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/doors/web"
	"github.com/zlimit/zlimit/policy"
)

const policies = `
domain: edge
rate_limits:
- actions:
  - remote_address: {}
- actions:
  - request_headers: {header_name: ":method", descriptor_key: method}
  - request_headers: {header_name: ":path", descriptor_key: path}
- actions:
  - request_headers: {header_name: x-tenant, descriptor_key: tenant}
---
domain: plain
---
domain: address
rate_limits:
- actions:
  - remote_address: {}
---
domain: tenant
rate_limits:
- actions:
  - request_headers: {header_name: x-tenant, descriptor_key: tenant}
`

// A bench is a server over clients that decide as decide does.
type bench struct {
	t      *testing.T
	server *web.Server
	now    time.Time
	set    *policy.Set

	mu      sync.Mutex
	logins  []doors.Credentials
	asked   []string // what clients were asked, as text
	closed  int
	logged  []string
	loading bool
	decide  func(*doors.Request, *doors.Response) error
	allow   func(*doors.KeyDecision) error
	login   error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	set, err := policy.Read([]policy.File{{Name: "a.yaml", Data: []byte(policies)}}, new(policy.Registry),
		func([][]byte) error { return nil })
	require.NoError(t, err)
	b := &bench{t: t, now: time.Unix(1_000, 0), set: set}
	b.server = web.New(&web.Options{
		Login:    b.logIn,
		Policies: func() *policy.Set { return b.set },
		Serving:  func() bool { return !b.loading },
		Now:      func() time.Time { return b.now },
		Log: func(format string, args ...any) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.logged = append(b.logged, fmt.Sprintf(format, args...))
		},
	})
	return b
}

func (b *bench) logIn(cr doors.Credentials) (doors.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.login != nil {
		return nil, b.login
	}
	b.logins = append(b.logins, cr)
	return client{b}, nil
}

type client struct{ *bench }

// Decide implements doors.Client.
func (c client) Decide(r *doors.Request, response *doors.Response) error {
	c.mu.Lock()
	text := string(r.Domain)
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		text += ";"
		for _, e := range d.Entries {
			text += fmt.Sprintf(" %s=%s", e.Key, e.Value)
		}
		if d.Hits != nil {
			text += fmt.Sprintf(" hits %d", *d.Hits)
		}
		if d.Override != nil {
			text += fmt.Sprintf(" limit %d %s", d.Override.Requests, d.Override.Unit)
		}
	}
	if r.Hits != 0 {
		text += fmt.Sprintf("; hits %d", r.Hits)
	}
	c.asked = append(c.asked, text)
	decide := c.decide
	c.mu.Unlock()
	response.Code, response.Binding = doors.OK, -1
	if decide != nil {
		return decide(r, response)
	}
	return nil
}

// Allow implements doors.Client.
func (c client) Allow(r *doors.KeyRequest, decision *doors.KeyDecision) error {
	text := fmt.Sprintf("key %s", r.Key)
	for _, l := range r.Limits {
		text += fmt.Sprintf(" %d/%s", l.Limit, l.Window)
	}
	c.mu.Lock()
	c.asked = append(c.asked, fmt.Sprintf("%s %q cost %d", text, r.Algorithm, r.Cost))
	allow := c.allow
	c.mu.Unlock()
	decision.Code = doors.OK
	if allow != nil {
		return allow(decision)
	}
	return nil
}

// Close implements doors.Client.
func (c client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
}

// request makes one with headers "name: value".
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(method, target, http.NoBody)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// do returns the answer to a request, and its body without the end of line.
func (b *bench) do(r *http.Request) (w *httptest.ResponseRecorder, body string) {
	b.t.Helper()
	w = httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	return w, strings.TrimSuffix(w.Body.String(), "\n")
}

// check posts a body to /v1/check.
func (b *bench) check(body string, headers ...string) (w *httptest.ResponseRecorder, answer string) {
	b.t.Helper()
	return b.do(request("POST", "/v1/check", body, append(headers, "Content-Type: application/json")...))
}

// last returns what was asked last, and forgets it.
func (b *bench) last() string {
	if len(b.asked) == 0 {
		return ""
	}
	text := b.asked[len(b.asked)-1]
	b.asked = nil
	return text
}
