package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// glob supports as much of Redis' patterns as the cases use.
func glob(pattern []byte, name string) bool {
	ok, err := filepath.Match(string(pattern), name)
	return err == nil && ok
}

// TestSetMatchesRedis runs testdata/set.txt from top to bottom on one Config: lines
// with > are CONFIG SET, those with ? CONFIG GET.
func TestSetMatchesRedis(t *testing.T) {
	file := caseFile("set.txt")
	cases := readCases(t, file)
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket, "--save", "",
			"--bind", "127.0.0.1 -::1")
		require.NotNil(t, r, output)
		for _, c := range cases {
			c.redis = nil
			for _, line := range c.marked(">") {
				c.redis = append(c.redis,
					r.do(t, append([]string{"CONFIG", "SET"}, wordsOf(t, line)...)...)...)
			}
			for _, line := range c.marked("?") {
				c.redis = append(c.redis,
					formatPairs(r.do(t, append([]string{"CONFIG", "GET"}, wordsOf(t, line)...)...))...)
			}
		}
		writeCases(t, file, cases)
	}
	config := New()
	for _, c := range cases {
		t.Run(strings.Join(c.lines, " "), func(t *testing.T) {
			var got []string
			for _, line := range c.marked(">") {
				got = append(got, set(config, wordsOf(t, line)))
			}
			for _, line := range c.marked("?") {
				got = append(got, get(config, wordsOf(t, line))...)
			}
			c.compare(t, got)
		})
	}
}

func set(c *Config, words []string) string {
	err := c.Set(bytesOf(words))
	var refusal *SetError
	switch {
	case errors.As(err, &refusal):
		return refusal.Reply()
	case err != nil:
		return "not a SetError: " + err.Error()
	}
	return "OK"
}

func get(c *Config, patterns []string) []string {
	var flat []string
	for _, pair := range c.Get(bytesOf(patterns), glob) {
		flat = append(flat, pair.Name, pair.Value)
	}
	return formatPairs(flat)
}

func bytesOf(words []string) [][]byte {
	var out [][]byte
	for _, word := range words {
		out = append(out, []byte(word))
	}
	return out
}

// differentDefaults are the defaults that differ from Redis', and why.
var differentDefaults = map[string]string{
	"bind":       "zlimit listens on loopback; Redis on all addresses, relying on protected-mode",
	"dir":        "both show the absolute path of their working directory",
	"port":       "the recorded Redis had none",
	"save":       "no save points by default",
	"unixsocket": "the recorded Redis had one",
}

// TestDefaultsMatchRedis compares all common names with testdata/get.txt, the reply
// of a new redis-server to CONFIG GET *.
func TestDefaultsMatchRedis(t *testing.T) {
	file := caseFile("get.txt")
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket)
		require.NotNil(t, r, output)
		lines := formatPairs(r.do(t, "CONFIG", "GET", "*"))
		for i, line := range lines {
			lines[i] = strings.ReplaceAll(line, dir, "DIR")
		}
		writeCases(t, file, []*recordedCase{{lines: []string{"? *"}, redis: lines}})
	}
	redis := make(map[string]string)
	for _, line := range readCases(t, file)[0].redis {
		words := wordsOf(t, line)
		redis[words[0]] = words[1]
	}
	require.Greater(t, len(redis), 150)
	different := make(map[string]bool)
	both := 0
	for _, n := range names {
		d := &table[n.index]
		value, ok := redis[n.text]
		require.Equal(t, d.Ours || d.Hidden, !ok, "%s: is it in Redis?", n.text)
		if !ok {
			continue
		}
		both++
		if value != d.Default {
			different[n.text] = true
			require.NotEmpty(t, differentDefaults[n.text], "%s: Redis has %q, we have %q", n.text, value,
				d.Default)
		}
	}
	for name := range differentDefaults {
		require.True(t, different[name], "%s is not different", name)
	}
	t.Logf("%d names of Redis' %d, %d of them with another default", both, len(redis), len(different))
}

// TestImmutableMatchesRedis sets every directive to its current value.
// testdata/immutable.txt has Redis' replies, one case per name.
func TestImmutableMatchesRedis(t *testing.T) {
	file := caseFile("immutable.txt")
	cases := readCases(t, file)
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket)
		require.NotNil(t, r, output)
		for _, c := range cases {
			name := c.marked(">")[0]
			c.redis = r.do(t, "CONFIG", "SET", name, r.do(t, "CONFIG", "GET", name)[1])
		}
		writeCases(t, file, cases)
	}
	c := New()
	var seen []string
	for _, one := range cases {
		name := one.marked(">")[0]
		seen = append(seen, name)
		n, ok := lookup(name)
		require.True(t, ok, name)
		t.Run(name, func(t *testing.T) {
			one.compare(t, []string{set(c, []string{name, c.Text(table[n.index].Name)})})
		})
	}
	for _, n := range names {
		if !table[n.index].Ours {
			require.True(t, slices.Contains(seen, n.text), "%s is not in %s", n.text, file)
		}
	}
}
