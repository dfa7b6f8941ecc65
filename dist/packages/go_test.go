package main

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const goModule = "github.com/zlimit/zlimit"

// moduleProxy writes what a module proxy serves of this source: the files that git has, or
// would have, without the modules within. It leaves out the profile, since compiling with it takes two
// minutes more.
func moduleProxy(t *testing.T, version string) (dir string) {
	t.Helper()
	root := filepath.Join("..", "..")
	list, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard").Output()
	require.NoError(t, err)
	names := strings.Split(strings.TrimSpace(string(list)), "\n")
	var inner []string
	for _, name := range names {
		if dir, ok := strings.CutSuffix(name, "/go.mod"); ok {
			inner = append(inner, dir+"/")
		}
	}
	dir = filepath.Join(t.TempDir(), goModule, "@v")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	out, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	w := zip.NewWriter(out)
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) || isWithin(name, inner) || path.Ext(name) == ".pgo" {
			continue
		}
		require.NoError(t, err)
		entry, err := w.Create(goModule + "@" + version + "/" + name)
		require.NoError(t, err)
		_, err = entry.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for suffix, text := range map[string]string{
		".mod": string(mod), ".info": fmt.Sprintf(`{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, version+suffix), []byte(text), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644))
	return strings.TrimSuffix(dir, "/"+goModule+"/@v")
}

func isWithin(name string, dirs []string) bool {
	for _, d := range dirs {
		if strings.HasPrefix(name, d) {
			return true
		}
	}
	return false
}

const goExample = `package example_test

import (
	"testing"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/zlimittest"
)

func TestWindow(t *testing.T) {
	srv := zlimittest.RunT(t)
	srv.Freeze()
	q := zlimit.Quota{Limit: 1, Window: time.Minute}
	first, second := srv.Allow("k", q, 1), srv.Allow("k", q, 1)
	srv.Advance(time.Minute)
	if third := srv.Allow("k", q, 1); !first.OK() || second.OK() || !third.OK() {
		t.Error(first, second, third)
	}
}
`

// TestGo installs the server by go install, has it as a tool of a new module, and tests
// there with zlimittest. The new module gets this source from a proxy, as all others do.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the server, which -short goes without")
	}
	t.Parallel()
	f := testFrame(t)
	version := "v" + f.version
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	project, bin := filepath.Join(dir, "project"), filepath.Join(dir, "bin")
	require.NoError(t, os.Mkdir(project, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(project, "example_test.go"), []byte(goExample), 0o644))
	downloaded := filepath.Join(strings.TrimSpace(string(cache)), "cache", "download")
	env := append(os.Environ(),
		"GOPROXY=file://"+moduleProxy(t, version)+",file://"+downloaded, "GOSUMDB=off", "GOWORK=off",
		"GOMODCACHE="+filepath.Join(dir, "modules"), "GOBIN="+bin,
		// So that folders of this test are no part of what is compiled, which was cached then; go tool does
		// not heed it. Modules of others are compiled as for releases, and this one without optimizations,
		// in two thirds of the time: what is tested is that it can be installed.
		"CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath '-gcflags="+goModule+"/...=-N -l'")
	command := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = project, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v\n%s", args, out)
		return string(out)
	}
	command("go", "install", goModule+"/cmd/zlimit-server@"+version)
	require.Contains(t, command(filepath.Join(bin, "zlimit-server"), "--version"), "zlimit-server ")
	command("go", "mod", "init", "example.test/project")
	command("go", "get", "-tool", goModule+"/cmd/zlimit-server@"+version)
	require.Equal(t, goModule+"/cmd/zlimit-server\n", command("go", "list", "tool"))
	require.NoError(t, os.Remove(filepath.Join(bin, "zlimit-server")))
	command("go", "install", "tool")
	require.Contains(t, command(filepath.Join(bin, "zlimit-server"), "--version"), "zlimit-server ")
	command("go", "test", "./...")
}
