package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// readFrom returns a Config that has read a file of a new directory, which is the working directory.
func readFrom(t *testing.T, text string) (c *Config, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "zlimit.conf")
	t.Chdir(filepath.Dir(path))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c = New()
	require.NoError(t, c.ParseArgs([]string{path}, nil))
	return c, path
}

func TestRewriteKeepsWhatHasNotChanged(t *testing.T) {
	const text = "# first\r\n\n\n  timeout \t 5 \nMAXMEMORY 1048576kb\n\tsave 1 2\n" +
		"rl-max-keys-per-prefix a 1 \"b c\" 2\nbind 127.0.0.1  -::1\n# last, without an end"
	c, _ := readFrom(t, text)
	require.Equal(t, text+"\n", rewritten(t, c))
	require.NoError(t, c.Set(bytesOf([]string{"timeout", "6"})))
	require.Equal(t, strings.Replace(text, "  timeout \t 5 ", "timeout 6", 1)+"\n", rewritten(t, c))
	require.NoError(t, c.Set(bytesOf([]string{"timeout", "5"})))
	require.Equal(t, text+"\n", rewritten(t, c), "the value of the file again")
}

// TestRewriteKnowsOurDirectives tests directives that Redis does not have.
func TestRewriteKnowsOurDirectives(t *testing.T) {
	c, path := readFrom(t, "rl-max-keys-per-prefix a 1\nrl-max-keys-per-prefix b 2\nmetrics-addr :1\n")
	for _, tc := range []struct{ set, want string }{
		{`"x y" 5 z 6`, "rl-max-keys-per-prefix \"x y\" 5 z 6\nmetrics-addr :1\n"},
		{"", "rl-max-keys-per-prefix \"\"\nmetrics-addr :1\n"},
	} {
		require.NoError(t, c.Set(bytesOf([]string{keyLimits, tc.set})))
		text := rewritten(t, c)
		require.Equal(t, tc.want, text)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		requireReadAgain(t, c, path)
	}
}

// TestRewriteOfAFileThatWasEdited tests lines that were added since the server has started.
func TestRewriteOfAFileThatWasEdited(t *testing.T) {
	c, path := readFrom(t, "timeout 5\n")
	for _, tc := range []struct{ name, file, want string }{
		{
			"unknown", "timeout 5\n nosuch  x\n\"\"\nbind \"x\n",
			"timeout 5\n# ??? nosuch  x\n# ??? \"\"\n# ??? bind \"x\n",
		},
		{"another value", "timeout 7\nhz 30\n", "timeout 5\nhz 10\n"},
		{"an invalid value", "timeout abc\nhz 1 2\n", "timeout 5\nhz 10\n"},
		{"a value that zlimit refuses", "timeout 5\ndaemonize yes\n", "timeout 5\ndaemonize no\n"},
		{"empty", "", signature + "\ntimeout 5\n"},
		{"a missing include", "timeout 5\ninclude none.conf\n", "timeout 5\ninclude none.conf\n"},
		{"an include without a name", "timeout 5\ninclude\n", "timeout 5\ninclude\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(tc.file), 0o600))
			require.Equal(t, tc.want, rewritten(t, c))
		})
	}
	require.NoError(t, os.Remove(path))
	require.Equal(t, signature+"\ntimeout 5\n", rewritten(t, c), "the file is gone")
}

// TestRewriteWithDirAndInclude: a file is included relative to dir, so the line of dir before it cannot
// change.
func TestRewriteWithDirAndInclude(t *testing.T) {
	_, path := readFrom(t, "")
	base := filepath.Dir(path)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(name, 0o700))
	}
	require.NoError(t, os.WriteFile("a/more.conf", []byte("hz 30\n"), 0o600))
	text := "dir " + base + "/a\ninclude more.conf\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	c := New()
	require.NoError(t, c.ParseArgs([]string{path}, nil))
	require.NoError(t, c.SetAs(Setter{Protected: true}, bytesOf([]string{"dir", base + "/b", "hz", "40"})))
	got := rewritten(t, c)
	require.Equal(t, text+"\n"+signature+"\ndir \""+base+"/b\"\nhz 40\n", got)
	require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	requireReadAgain(t, c, path)
}

func TestRewriteUsers(t *testing.T) {
	c, _ := readFrom(t, "user b on\ntimeout 5\n# x\nUSER a off\nuser c off\n")
	for _, tc := range []struct {
		users []string
		want  string
	}{
		{[]string{"user a off", "user d on"}, "user a off\ntimeout 5\n# x\nuser d on\n"},
		{
			[]string{"user a", "user b", "user c", "user d"},
			"user a\ntimeout 5\n# x\nuser b\nuser c\n\n" + signature + "\nuser d\n",
		},
		{nil, "timeout 5\n# x\n"},
	} {
		var got string
		require.NoError(t, c.Rewrite(func() []string { return tc.users }, func(_, text string) error {
			got = text
			return nil
		}))
		require.Equal(t, tc.want, got)
	}
}

func TestRewriteErrors(t *testing.T) {
	require.ErrorIs(t, New().Rewrite(nil, nil), ErrNoFile)
	c, path := readFrom(t, "timeout 5\n")
	planted := errors.New("planted")
	require.ErrorIs(t, c.Rewrite(nil, func(string, string) error { return planted }), planted)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	err := c.Rewrite(nil, nil)
	require.ErrorContains(t, err, "Is a directory")
	require.NotErrorIs(t, err, fs.ErrNotExist)
}

// TestRewriteAndSetConcurrently: each text that is written is that of one instant between calls of Set.
func TestRewriteAndSetConcurrently(t *testing.T) {
	c, _ := readFrom(t, "timeout 0\nhz 100\n")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 50 {
				n := fmt.Sprint(100 + i*50 + j)
				_ = c.Set(bytesOf([]string{"timeout", n, "hz", n}))
			}
		})
		wg.Go(func() {
			for range 50 {
				text := ""
				_ = c.Rewrite(nil, func(_, to string) error { text = to; return nil })
				var timeout, hz int
				_, err := fmt.Sscanf(text, "timeout %d\nhz %d\n", &timeout, &hz)
				if err != nil || timeout != hz && timeout != 0 {
					t.Errorf("%q", text)
				}
			}
		})
	}
	wg.Wait()
}

// rewriteLines are lines of random files.
var rewriteLines = []string{
	"# comment", "", "timeout 5", "timeout 0", "TIMEOUT 7", "maxmemory 1gb", "maxmemory 1000", "save 1 2 3 4",
	"save \"\"", "save 5 6", "hz 20", "bind 127.0.0.1", "bind * -::*", "requirepass \"a \\x00\"",
	"requirepass \"\"",
	"client-output-buffer-limit normal 1 2 3", "client-output-buffer-limit pubsub 1mb 2 3 replica 0 0 0",
	"rl-max-keys-per-prefix a 1", "rl-max-keys-per-prefix b 2 c 3", "rl-max-keys-per-prefix \"\"",
	"slave-read-only no", "notify-keyspace-events KEA", "unixsocketperm 700", "maxmemory-clients 5%",
	"latency-tracking-info-percentiles 1 2", "rename-command KEYS \"\"", "user a on", "loglevel debug",
	"include other.conf",
}

// rewriteSets are parameters of CONFIG SET.
var rewriteSets = [][]string{
	{"timeout", "5", "0", "8"},
	{"maxmemory", "1gb", "0", "1000"},
	{"save", "", "1 2", "5 6 7 8"},
	{"hz", "20", "10"},
	{"bind", "127.0.0.1", "", "* -::*"},
	{"requirepass", "", "a \x00\xff", "\"'"},
	{"client-output-buffer-limit", "normal 0 0 0", "slave 1 2 3 pubsub 5 5 5", "pubsub 33554432 8388608 60"},
	{"rl-max-keys-per-prefix", "", "a 1", "b 2", `"x y" 5 a 7`},
	{"replica-read-only", "yes", "no"},
	{"notify-keyspace-events", "", "Kx"},
	{"maxmemory-clients", "0", "6%", "3mb"},
	{"latency-tracking-info-percentiles", "", "50 99 99.9"},
	{"loglevel", "notice", "warning"},
	{"dbfilename", "dump.rdb", "a b"},
}

// TestRewriteIsReadAgain rewrites random files after random changes: each gives an equal Config, and is not
// changed by a second rewrite.
func TestRewriteIsReadAgain(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	some := func(lines []string) string {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(lines[random.IntN(len(lines))] + "\n")
		}
		return b.String()
	}
	_, path := readFrom(t, "")
	whole := 0
	for round := range 600 {
		other := slices.DeleteFunc(slices.Clone(rewriteLines), func(l string) bool {
			return strings.HasPrefix(l, "include")
		})
		require.NoError(t, os.WriteFile("other.conf", []byte(some(other)), 0o600))
		require.NoError(t, os.WriteFile(path, []byte(some(rewriteLines)), 0o600))
		c := New()
		if c.ParseArgs([]string{path}, nil) != nil {
			continue // a prefix that is given twice
		}
		whole++
		for range random.IntN(4) {
			set := rewriteSets[random.IntN(len(rewriteSets))]
			pair := bytesOf([]string{set[0], set[1+random.IntN(len(set)-1)]})
			require.NoError(t, c.SetAs(Setter{Protected: true}, pair))
		}
		text := rewritten(t, c)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		requireReadAgain(t, c, path)
		require.Equal(t, text, rewritten(t, c), "round %d of seed %d", round, seed)
	}
	require.Greater(t, whole, 400)
}

// FuzzRewrite: whatever a file holds and CONFIG SET sets, the file that is written gives it.
func FuzzRewrite(f *testing.F) {
	for _, l := range rewriteLines {
		f.Add(l+"\ntimeout 3\n", "timeout", "5")
	}
	for _, s := range rewriteSets {
		f.Add("bind 'x'\r\n# y\n"+signature+"\n", s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, name, to string) {
		p := noFiles()
		if strings.Contains(strings.ToLower(text), "include") || p.parse("", text) != nil ||
			p.firstRefused() != nil {
			return
		}
		c := New()
		c.values = p.values
		_ = c.Set(bytesOf([]string{name, to}))
		d := parseDocument(text)
		d.update(c.values)
		again := noFiles()
		require.NoError(t, again.parse("", d.text()), d.text())
		for i := range table {
			require.True(t, sameText(i, c.values[i], again.values[i]), "%s: %q", table[i].Name, d.text())
		}
		require.Len(t, again.renames, len(p.renames))
		require.Len(t, again.users, len(p.users))
	})
}
