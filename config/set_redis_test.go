package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// globForTest knows as much of Redis' patterns as the cases use.
func globForTest(pattern []byte, name string) bool {
	ok, err := filepath.Match(string(pattern), name)
	return err == nil && ok
}

// TestSetAsRedis performs testdata/set.txt from top to bottom, on one Config:
// lines with > are CONFIG SET, those with ? CONFIG GET.
func TestSetAsRedis(t *testing.T) {
	file := caseFile("set.txt")
	cases := readCases(t, file)
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket, "--save", "", "--bind", "127.0.0.1 -::1")
		require.NotNil(t, r, output)
		for _, c := range cases {
			c.redis = nil
			for _, line := range c.marked(">") {
				c.redis = append(c.redis, r.ask(t, append([]string{"CONFIG", "SET"}, wordsOf(t, line)...)...)...)
			}
			for _, line := range c.marked("?") {
				c.redis = append(c.redis, shown(r.ask(t, append([]string{"CONFIG", "GET"}, wordsOf(t, line)...)...))...)
			}
		}
		writeCases(t, file, cases)
	}
	config := New()
	for _, c := range cases {
		t.Run(strings.Join(c.lines, " "), func(t *testing.T) {
			var got []string
			for _, line := range c.marked(">") {
				got = append(got, setForTest(config, wordsOf(t, line)))
			}
			for _, line := range c.marked("?") {
				got = append(got, getForTest(config, wordsOf(t, line))...)
			}
			c.compare(t, got)
		})
	}
}

func setForTest(c *Config, words []string) string {
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

func getForTest(c *Config, patterns []string) []string {
	var flat []string
	for _, pair := range c.Get(bytesOf(patterns), globForTest) {
		flat = append(flat, pair.Name, pair.Value)
	}
	return shown(flat)
}

func bytesOf(words []string) [][]byte {
	var out [][]byte
	for _, word := range words {
		out = append(out, []byte(word))
	}
	return out
}

// differentDefaults are the defaults that are not Redis', and why.
var differentDefaults = map[string]string{
	"bind":       "an open port is asked for, never given: Redis listens on all addresses and relies on protected-mode",
	"dir":        "both show the directory they were started in, by its whole path",
	"port":       "the Redis that was asked had none",
	"save":       "nothing is saved unless it is asked for",
	"unixsocket": "the Redis that was asked had one",
}

// TestDefaultsAsRedis compares every name that both have with testdata/get.txt,
// the answer of a fresh redis-server to CONFIG GET *.
func TestDefaultsAsRedis(t *testing.T) {
	file := caseFile("get.txt")
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket)
		require.NotNil(t, r, output)
		lines := shown(r.ask(t, "CONFIG", "GET", "*"))
		for i, line := range lines {
			lines[i] = strings.ReplaceAll(line, dir, "DIR")
		}
		writeCases(t, file, []*aCase{{lines: []string{"? *"}, redis: lines}})
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
			require.NotEmpty(t, differentDefaults[n.text], "%s: Redis has %q, we have %q", n.text, value, d.Default)
		}
	}
	for name := range differentDefaults {
		require.True(t, different[name], "%s is no different", name)
	}
	t.Logf("%d names of Redis' %d, %d of them with another default", both, len(redis), len(different))
}

// TestImmutableAsRedis sets every directive to what it holds. testdata/immutable.txt
// has what Redis says, one case a name.
func TestImmutableAsRedis(t *testing.T) {
	file := caseFile("immutable.txt")
	cases := readCases(t, file)
	if *record {
		dir := t.TempDir()
		socket := filepath.Join(dir, "s")
		r, output := startRedis(t, dir, socket, nil, "--port", "0", "--unixsocket", socket)
		require.NotNil(t, r, output)
		for _, c := range cases {
			name := c.marked(">")[0]
			c.redis = r.ask(t, "CONFIG", "SET", name, r.ask(t, "CONFIG", "GET", name)[1])
		}
		writeCases(t, file, cases)
	}
	c := New()
	var asked []string
	for _, one := range cases {
		name := one.marked(">")[0]
		asked = append(asked, name)
		n, ok := lookup(name)
		require.True(t, ok, name)
		t.Run(name, func(t *testing.T) {
			one.compare(t, []string{setForTest(c, []string{name, c.Text(table[n.index].Name)})})
		})
	}
	for _, n := range names {
		if !table[n.index].Ours {
			require.True(t, slices.Contains(asked, n.text), "%s is not in %s", n.text, file)
		}
	}
}
