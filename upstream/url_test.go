package upstream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/upstream/call"
)

func TestParseURL(t *testing.T) {
	for text, want := range map[string]Address{
		"redis://h": {Seeds: []string{"h:6379"}},
		"redis://h1:1,h2:2,[::1]:3": {
			Seeds: []string{"h1:1", "h2:2", "[::1]:3"},
		},
		"rediss://bob:s%40crt@h:1/0": {
			TLS: true, Seeds: []string{"h:1"}, Login: true, Username: "bob", Password: "s@crt",
		},
		"redis://:pw@h:1":     {Seeds: []string{"h:1"}, Login: true, Password: "pw"},
		"redis://@h:1":        {Seeds: []string{"h:1"}, Login: true},
		"redis+cluster://h:1": {Kind: Cluster, Seeds: []string{"h:1"}},
		"rediss+single://h:1": {Kind: Single, TLS: true, Seeds: []string{"h:1"}},
		"redis+sentinel://a,b:2/mymaster": {
			Kind: Sentinel, Seeds: []string{"a:26379", "b:2"}, Master: "mymaster",
		},
	} {
		got, err := ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":                     "must begin with redis://",
		"http://h":             "must begin with redis://",
		"redis://":             "names no host",
		"redis://h,,i":         "names no host",
		"redis://h:0":          "not a port",
		"redis://h:x":          "not a port",
		"redis://a:b:c":        "not a host and a port",
		"redis://h/1":          "has a path",
		"redis+sentinel://h":   "name of the master",
		"redis://u%zz:p@h":     "two hex digits",
		"redis+sentinel://h:1": "name of the master",
	} {
		_, err := ParseURL(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseFailures(t *testing.T) {
	f, err := ParseFailures([]string{"local", "3", "api:", "open", "api:pay:", "closed"})
	require.NoError(t, err)
	for key, want := range map[string]call.Policy{
		"x": {Mode: call.Local, Share: 3}, "api:1": {Mode: call.Open}, "api:pay:1": {Mode: call.Closed},
	} {
		require.Equal(t, want, f.policy([]byte(key)), key)
	}
	f, err = ParseFailures(nil)
	require.NoError(t, err)
	require.Equal(t, call.Policy{}, f.policy([]byte("x")))
	for _, words := range [][]string{
		{"maybe"}, {"local"}, {"local", "0"}, {"local", "x"}, {"open", "p:"}, {"open", "p:", "perhaps"},
	} {
		_, err := ParseFailures(words)
		require.ErrorContains(t, err, "upstream-failure must be", words)
	}
}
