package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/words"
)

func TestTable(t *testing.T) {
	for _, d := range New().Directives() {
		require.Regexp(t, `^[a-z][a-z_-]+$`, d.Name)
		require.Regexp(t, `^[A-Z].*[^.]\.$`, d.About, d.Name)
		require.NotContains(t, strings.TrimSuffix(d.About, "."), ". ", "%s: one sentence", d.Name)
		require.Equal(t, d.NoEffect, strings.HasPrefix(d.About, "No effect: "), d.Name)
		require.Equal(t, d.Only != nil, strings.HasPrefix(d.About, "Only "), d.Name)
		require.Equal(t, d.Only != nil, d.Refusal != "", d.Name)
		require.Equal(t, d.Kind == KindEnum || d.Kind == KindShutdown, d.Values != nil, d.Name)
		require.LessOrEqual(t, d.Min, d.Max, d.Name)
		require.Contains(t, Markdown(), "| `"+d.Name+"`")
	}
	for _, name := range strings.Fields("save appendonly timeout databases slave-read-only " +
		"replica-read-only maxmemory-policy notify-keyspace-events cluster-enabled") {
		_, ok := lookup(name)
		require.True(t, ok, "clients read %s", name)
	}
}

func TestGettersPanicOnMistakes(t *testing.T) {
	c := New()
	for name, call := range map[string]func(){
		"unknown":         func() { c.Int("no-such-directive") },
		"upper case":      func() { c.Int("HZ") },
		"int of bool":     func() { c.Int("appendonly") },
		"bool of int":     func() { c.Bool("hz") },
		"string of int":   func() { _ = c.String("hz") },
		"string of list":  func() { _ = c.String("bind") },
		"strings of path": func() { c.Strings("logfile") },
		"hook":            func() { c.View().OnChange("no-such-directive", func() {}) },
		"class":           func() { c.OutputBufferLimit(outputBufferClasses) },
	} {
		require.Panics(t, call, name)
	}
	require.Equal(t, int64(5000), c.Int("lua-time-limit"), "by an alias")
}

func TestPathsStartFromDir(t *testing.T) {
	c := New()
	require.Empty(t, c.String("logfile"))
	require.NoError(t, c.ParseFile("f", strings.NewReader("logfile a.log\npidfile /run/b.pid\n")))
	require.Equal(t, "a.log", c.String("logfile"))
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, c.ParseFile("f", strings.NewReader("dir "+words.Quote(dir)+"\ndir sub")))
	dir = filepath.Join(dir, "sub")
	require.Equal(t, filepath.Join(dir, "a.log"), c.String("logfile"))
	require.Equal(t, "/run/b.pid", c.String("pidfile"))
	require.Equal(t, dir, c.String("dir"), "relative to the previous one")
	require.Equal(t, "a.log", c.Text("logfile"), "CONFIG GET shows the value as set")
	require.Error(t, c.ParseFile("f", strings.NewReader(`pidfile "a\x00b"`)))
}

func TestFollow(t *testing.T) {
	c := New()
	var seen []string
	c.View().Follow(func() { seen = append(seen, c.Text("timeout")+" "+c.Text("hz")) })
	c.View().OnChange("hz", func() { seen = append(seen, "hz") })
	require.Equal(t, []string{"0 10"}, seen)
	for _, set := range []string{"timeout 5", "timeout 5", "timeout 6 hz abc", "hz 20 timeout 7", "timeout"} {
		_ = c.Set(bytesOf(strings.Fields(set)))
	}
	require.Equal(t, []string{"0 10", "5 10", "7 20", "hz"}, seen, "once per change and before OnChange")
}

func TestProtectedDirectives(t *testing.T) {
	c := New()
	pairs := bytesOf([]string{"dbfilename", "other.rdb", "timeout", "5"})
	require.ErrorContains(t, c.Set(pairs), "can't set protected config")
	require.Equal(t, "dump.rdb 0", c.Text("dbfilename")+" "+c.Text("timeout"))
	require.NoError(t, c.SetAs(Setter{Protected: true}, pairs))
	require.Equal(t, "other.rdb 5", c.Text("dbfilename")+" "+c.Text("timeout"))
	err := c.SetAs(Setter{Protected: true}, bytesOf([]string{"hz", "1", "databases", "16"}))
	require.ErrorContains(t, err, "immutable")
}

func TestDirMustBeADirectory(t *testing.T) {
	c := New()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for dir, why := range map[string]string{
		file: "Not a directory", file + ".none": "No such file or directory",
		filepath.Join(file, "sub"): "Not a directory", "a\x00b": "NUL",
		strings.Repeat("a", 1<<16): "File name too long",
	} {
		require.ErrorContains(t, c.SetAs(Setter{Protected: true}, bytesOf([]string{"dir", dir})), why)
	}
}

func TestOnChange(t *testing.T) {
	c := New()
	var calls []string
	for _, name := range []string{"timeout", "hz", "busy-reply-threshold"} {
		c.View().OnChange(name, func() { calls = append(calls, name+" "+c.Text(name)) })
	}
	for _, tc := range []struct {
		set  string
		want []string
	}{
		{"timeout 5", []string{"timeout 5"}},
		{"timeout 5", nil},        // unchanged
		{"timeout 6 hz abc", nil}, // all or nothing
		{"hz 20 timeout 7", []string{"hz 20", "timeout 7"}},
		{"lua-time-limit 1", []string{"busy-reply-threshold 1"}},
		{"maxclients 7", nil},
	} {
		calls = nil
		_ = c.Set(bytesOf(strings.Fields(tc.set)))
		require.Equal(t, tc.want, calls, tc.set)
	}
}

// TestOnTry: an error restores all values of the Set.
func TestOnTry(t *testing.T) {
	c := New()
	var calls []string
	v := c.View()
	v.OnTry("timeout", func() error { calls = append(calls, "timeout "+c.Text("timeout")); return nil })
	v.OnTry("hz", func() error {
		if c.Int("hz") == 13 {
			return errors.New("it is unlucky")
		}
		return nil
	})
	v.OnChange("maxclients", func() { calls = append(calls, "changed") })
	err := c.Set(bytesOf(strings.Fields("timeout 5 maxclients 77 hz 13")))
	require.EqualError(t, err, "CONFIG SET failed (possibly related to argument 'hz') - it is unlucky")
	require.Equal(t, []string{"timeout 5", "timeout 0"}, calls)
	require.Equal(t, int64(10), c.Int("hz"))
	require.Equal(t, int64(10000), c.Int("maxclients"))
	require.NoError(t, c.Set(bytesOf(strings.Fields("hz 14 maxclients 77"))))
	require.Equal(t, []string{"timeout 5", "timeout 0", "changed"}, calls)
}

// TestOnChangeConcurrentSets: after concurrent Sets the last cached value is the
// current one.
func TestOnChangeConcurrentSets(t *testing.T) {
	c := New()
	var cached int64 // calls never overlap: no lock
	c.View().OnChange("timeout", func() { cached = c.Int("timeout") })
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 200 {
				_ = c.Set(bytesOf([]string{"timeout", fmt.Sprint(i*1000 + j)}))
				_ = c.Get(bytesOf([]string{"time*", "hz"}), glob)
			}
		})
	}
	wg.Wait()
	require.Equal(t, c.Int("timeout"), cached)
}

func TestOutputBufferSaturates(t *testing.T) {
	c := New()
	require.NoError(t, c.Set(bytesOf([]string{"client-output-buffer-limit", "normal 99999999999gb 1kb 5"})))
	require.Equal(t, OutputBufferLimit{math.MaxInt64, 1024, 5}, c.OutputBufferLimit(ClassNormal))
	require.Equal(t, OutputBufferLimit{256 << 20, 64 << 20, 60}, c.OutputBufferLimit(ClassReplica))
}

// TestFileRoundTrip: parsing the output of File makes an equal Config.
func TestFileRoundTrip(t *testing.T) {
	require.Empty(t, New().File())
	sample, err := parsed(t, "zlimit.conf")
	require.NoError(t, err)
	again := New()
	require.NoError(t, again.ParseFile("f", strings.NewReader(sample.File())))
	require.Equal(t, sample.values, again.values)
	require.Contains(t, sample.File(), "\nport 6380\n")
	require.Contains(t, sample.File(), "\nrequirepass \"a \\\"quoted\\\" pass\\\\word\"\n")
}

// TestCompareDetectsDifferences: the comparison with Redis' recorded replies
// detects differences, and reasons that no longer apply.
func TestCompareDetectsDifferences(t *testing.T) {
	for name, tc := range map[string]struct {
		c   recordedCase
		got []string
		ok  bool
	}{
		"same":          {recordedCase{redis: []string{"OK"}}, []string{"OK"}, true},
		"different":     {recordedCase{redis: []string{"OK"}}, []string{"ERR"}, false},
		"one line more": {recordedCase{redis: []string{"OK"}}, []string{"OK", "OK"}, false},
		"none":          {recordedCase{redis: []string{"OK"}}, nil, false},
		"for a reason": {
			recordedCase{redis: []string{"OK"}, reason: "w", ours: []string{"ERR"}},
			[]string{"ERR"},
			true,
		},
		"no longer different": {
			recordedCase{redis: []string{"OK"}, reason: "w", ours: []string{"OK"}},
			[]string{"OK"},
			false,
		},
		"other than ours": {
			recordedCase{redis: []string{"OK"}, reason: "w", ours: []string{"ERR"}},
			[]string{"no"},
			false,
		},
	} {
		require.Equal(t, tc.ok, tc.c.difference(tc.got) == "", name)
	}
}

// TestViewEnds: after End no function of the view is called, and those of others are.
func TestViewEnds(t *testing.T) {
	c := New()
	var calls []string
	ended, other := c.View(), c.View()
	for name, v := range map[string]*View{"ended": ended, "other": other} {
		v.Follow(func() { calls = append(calls, name+" follows") })
		v.OnChange("timeout", func() { calls = append(calls, name+" changes") })
		v.OnTry("timeout", func() error { calls = append(calls, name+" tries"); return nil })
	}
	ended.End()
	ended.End()
	calls = nil
	require.NoError(t, c.Set(bytesOf([]string{"timeout", "5"})))
	require.Equal(t, []string{"other tries", "other follows", "other changes"}, calls)
	require.Equal(t, "5", ended.Text("timeout"))
}

// TestEndWaits: End returns after the function that is running. The race detector sees it if not.
func TestEndWaits(t *testing.T) {
	c := New()
	v, begun, ended := c.View(), make(chan struct{}), make(chan error)
	calls := 0
	v.OnChange("timeout", func() { close(begun); runtime.Gosched(); calls++ })
	go func() { ended <- c.Set(bytesOf([]string{"timeout", "5"})) }()
	<-begun
	v.End()
	calls++
	require.NoError(t, <-ended)
	require.Equal(t, 2, calls)
}
