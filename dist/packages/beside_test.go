package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write how fakes differ anew, in the files differences.txt")

// copyTree copies folders of the repository, as far as git has or would have them, to the same
// place below dir.
func copyTree(t *testing.T, dir string, folders ...string) {
	t.Helper()
	root := filepath.Join("..", "..")
	args := append([]string{"-C", root, "ls-files", "-co", "--exclude-standard", "--"}, folders...)
	list, err := exec.Command("git", args...).Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
}

// requireDifferences compares what a comparison has printed with the record.
func requireDifferences(t *testing.T, folder, got string) {
	t.Helper()
	path := filepath.Join("..", folder, "beside", "differences.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -C dist ./packages -run Beside -rewrite records it")
}

// TestBesideFakeredis runs the documents' flows and calls of limiters on zlimit and on
// fakeredis.
func TestBesideFakeredis(t *testing.T) {
	f, out := installing(t)
	dir := t.TempDir()
	copyTree(t, dir, "dist/python/beside", "compat/python")
	python := filepath.Join(dir, "env", "bin", "python")
	pip := []string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}
	runIn(t, dir, "python3", "-m", "venv", "env")
	runIn(t, dir, python, append(pip, "-r", "dist/python/beside/requirements.txt")...)
	runIn(t, dir, python, append(pip, "--no-index", "--find-links", filepath.Join(out, "python"),
		"zlimit=="+pythonVersion(f.version))...)
	requireDifferences(t, "python", runIn(t, dir, python, "dist/python/beside/flows.py"))
}

// TestBesideIoredisMock does so in Node, with limiter libraries too.
func TestBesideIoredisMock(t *testing.T) {
	f, _ := installing(t)
	dir := t.TempDir()
	copyTree(t, dir, "dist/node", "compat/node")
	beside := filepath.Join(dir, "dist", "node", "beside")
	runIn(t, beside, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--no-update-notifier")
	server, err := filepath.Abs(filepath.Join(f.bin, "zlimit-server-"+host.system+"-"+host.arch))
	require.NoError(t, err)
	requireDifferences(t, "node", runIn(t, beside, "env", "ZLIMIT_SERVER="+server, "node", "flows.js"))
}

// TestBesideJedisMock does so in Java, through Jedis and Spring.
func TestBesideJedisMock(t *testing.T) {
	f, out := installing(t)
	dir := t.TempDir()
	copyTree(t, dir, "compat/java")
	mvn, err := newMaven(filepath.Join(dir, "maven"), filepath.Join(out, "java"))
	require.NoError(t, err)
	flows := filepath.Join(dir, "compat", "java")
	require.NoError(t, mvn.run(t.Context(), flows, nil, "package"))
	beside := filepath.Join(dir, "beside")
	require.NoError(t, f.stage("java/beside", beside))
	printed := filepath.Join(dir, "differences.txt")
	require.NoError(t, mvn.run(t.Context(), beside, []string{"XDG_CACHE_HOME=" + filepath.Join(dir, "cache")},
		"compile", "exec:java", "-Dexec.mainClass=beside.Flows", "-Dexec.args="+printed+" "+
			filepath.Join(flows, "jedis", "target", "jedis.jar")+" "+filepath.Join(flows, "spring", "target", "spring.jar")))
	got, err := os.ReadFile(printed)
	require.NoError(t, err)
	requireDifferences(t, "java", string(got))
}
