package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAuth: whatever the proxy's headers have, the request is refused, or its descriptors are of one form.
func FuzzAuth(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/a?b", "192.0.2.1"},
		{"PUT", "//a/%2e%2e/b/", "::1, [2001:db8::1]:80"},
		{"", "http://h/%00", "fe80::1%lo"},
		{"GET", "*", ","},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, method, uri, address string) {
		b := newBench(t)
		r := request("GET", edge, "")
		r.Header["X-Original-Method"] = []string{method}
		r.Header["X-Original-Uri"] = []string{uri}
		r.Header["X-Real-Ip"] = []string{address}
		w, _ := b.do(r)
		require.Empty(t, b.logged)
		if w.Code != 200 {
			require.Equal(t, 400, w.Code)
			require.Empty(t, b.asked)
			return
		}
		_, path, found := strings.Cut(b.last(), " path=")
		require.True(t, found)
		if path == "*" {
			return
		}
		require.Equal(t, "/", path[:1])
		for _, part := range []string{"//", "/./", "/../"} {
			require.NotContains(t, path, part)
		}
		// Its own spelling is of the same path.
		r.Header["X-Original-Uri"] = []string{(&url.URL{Path: path}).EscapedPath()}
		w, _ = b.do(r)
		require.Equal(t, 200, w.Code)
		_, again, _ := strings.Cut(b.last(), " path=")
		require.Equal(t, path, again)
	})
}

// FuzzCheck: every body is decided, or refused without a decision.
func FuzzCheck(f *testing.F) {
	f.Add(oneDescriptor)
	f.Add(`{"descriptors":[{"limit":{"unit":"day"},"hits":3,"entries":[{}]}, null], "hits": 2}`)
	f.Add(`[{}]`)
	f.Fuzz(func(t *testing.T, body string) {
		b := newBench(t)
		w, _ := b.check(body)
		switch w.Code {
		case 200:
			require.Len(t, b.asked, 1)
		case 400, 413:
			require.Empty(t, b.asked)
		default:
			t.Fatal(w.Code)
		}
	})
}
