package policies_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/policies"
	"github.com/zlimit/zlimit/resp"
)

// A world is policies whose files a test writes.
type world struct {
	t        *testing.T
	policies policies.Policies
	dir      string
	changed  int
	log      strings.Builder
}

func newWorld(t *testing.T, path string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	if path != "" {
		path = filepath.Join(w.dir, path)
	}
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs([]string{"--rl-policies", path}, nil))
	w.policies.Init(cfg.View(), slog.New(slog.NewTextHandler(&w.log, nil)), func() { w.changed++ })
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(w.t, os.WriteFile(path, []byte(text), 0o600))
}

// do calls RL.POLICY.
func (w *world) do(words ...string) string {
	w.t.Helper()
	row := w.policies.Row()
	sub := row.Sub([]byte(words[0]))
	require.NotNil(w.t, sub)
	c := &commands.Ctx{Cmd: sub}
	c.Settings = &commands.Settings{}
	for _, word := range append([]string{"RL.POLICY"}, words...) {
		c.Args = append(c.Args, []byte(word))
	}
	v := sub.Handler(c)
	return string(resp.Append(nil, &v, resp.RESP2))
}

const one = "domain: d\ndescriptors:\n- key: k\n  rate_limit: {unit: day, requests_per_unit: 5}\n"

func TestReload(t *testing.T) {
	w := newWorld(t, "file")
	require.ErrorContains(t, w.policies.Load(), "file: no such file or directory")
	require.Nil(t, w.policies.Set())
	require.Equal(t, "-ERR no policies are loaded: rl-policies names no file\r\n", w.do("LIST"))
	w.write("file", one)
	require.NoError(t, w.policies.Load())
	require.Equal(t, 1, w.changed)
	first := w.policies.Set()
	first.Find("d.k").Counts().Deny()

	w.write("file", one+"- key: k\n")
	require.Equal(t, "-ERR rl-policies: file:5: duplicate descriptor composite key 'd.k'\r\n", w.do("RELOAD"))
	require.Same(t, first, w.policies.Set())
	require.Equal(t, 1, w.changed)

	w.write("file", one+"  unit: day\n")
	require.Equal(t, "*1\r\n$42\r\nfile:5: unit has no effect in a descriptor\r\n", w.do("CHECK"))
	require.Same(t, first, w.policies.Set(), "CHECK loads nothing")
	require.Equal(t, "+OK\r\n", w.do("RELOAD"))
	require.NotSame(t, first, w.policies.Set())
	require.Equal(t, 2, w.changed)
	require.Contains(t, w.log.String(), "rl-policies: file:5: unit has no effect")
	require.Equal(t, int64(1), w.policies.Set().Find("d.k").Counts().Tally().Denied)
	require.Contains(t, w.do("LIST"),
		"$3\r\nd.k\r\n$4\r\nmode\r\n$8\r\nenforced\r\n$7\r\nallowed\r\n:0\r\n$6\r\ndenied\r\n:1\r\n")
	require.Equal(t, "*0\r\n", w.do("LIST", "other"))
	require.Contains(t, w.do("GET", "d.k"), "$4\r\nfile\r\n$4\r\nfile\r\n$4\r\nline\r\n:3\r\n")
	require.Equal(t, "-ERR no such policy\r\n", w.do("GET", "d.other"))
}

func TestDirectory(t *testing.T) {
	w := newWorld(t, "dir")
	w.write("dir/b.yml", strings.Replace(one, "domain: d", "domain: b", 1))
	w.write("dir/a.yaml", strings.Replace(one, "domain: d", "domain: a", 1))
	w.write("dir/readme.txt", "no: [yaml")
	w.write("dir/.hidden.yaml", "no: [yaml")
	w.write("dir/sub/c.yaml", "no: [yaml")
	require.NoError(t, w.policies.Load())
	var names []string
	for _, f := range w.policies.Figures(10) {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"a.k", "b.k"}, names)
	require.Len(t, w.policies.Figures(1), 1)
	w.write("dir/c.yaml", one+strings.Repeat("#", 16<<20))
	require.ErrorContains(t, w.policies.Load(), "is larger than 16777216 bytes")
	w.write("dir/c.yaml", one+strings.Repeat("#", 15<<20))
	w.write("dir/d.yaml", strings.Repeat("#", 2<<20))
	require.ErrorContains(t, w.policies.Load(), "are larger than 16777216 bytes")
	require.Len(t, w.policies.Figures(10), 2)
}

// TestListOfADomain: a domain's name may go on where another one's ends.
func TestListOfADomain(t *testing.T) {
	w := newWorld(t, "file")
	w.write("file", one+"---\n"+strings.Replace(one, "domain: d", "domain: d.e", 1))
	require.NoError(t, w.policies.Load())
	require.Contains(t, w.do("LIST"), "d.e.k")
	require.NotContains(t, w.do("LIST", "d"), "d.e.k")
	require.Contains(t, w.do("LIST", "d"), "d.k")
	require.Contains(t, w.do("LIST", "d.e"), "d.e.k")
}

// TestNamesThatRunTogether are shown once: as metrics they would be one series twice.
func TestNamesThatRunTogether(t *testing.T) {
	w := newWorld(t, "file")
	limit := "rate_limit: {unit: day, requests_per_unit: 5}"
	w.write("file", "domain: d\ndescriptors:\n- {key: a.b, "+limit+"}\n"+
		"- {key: a, descriptors: [{key: b, "+limit+"}, {key: c, "+limit+"}]}\n"+
		"- {key: a.c, shadow_mode: true, "+limit+"}\n")
	require.NoError(t, w.policies.Load())
	var names []string
	for _, f := range w.policies.Figures(10) {
		names = append(names, f.Name+" "+f.Mode)
	}
	require.Equal(t, []string{"d.a.b enforced", "d.a.c enforced", "d.a.c shadow"}, names)
}

func TestNoFiles(t *testing.T) {
	w := newWorld(t, "")
	require.NoError(t, w.policies.Load())
	require.Zero(t, w.changed)
	for _, sub := range []string{"CHECK", "RELOAD"} {
		require.Equal(t, "-ERR rl-policies names no file\r\n", w.do(sub))
	}
	_, ok := w.policies.Stats()
	require.False(t, ok)
}
