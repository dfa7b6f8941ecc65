package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// installing begins a test that installs what was built, with what it needs from the network, as a user does:
// -short is for who has none. It returns the frame, and the folder of the packages.
func installing(t *testing.T) (f *frame, out string) {
	t.Helper()
	if testing.Short() {
		t.Skip("installs packages from the network, which -short goes without")
	}
	t.Parallel()
	f = testFrame(t)
	out, err := builtPackages()
	require.NoError(t, err)
	return f, out
}

// host is the platform of this machine.
var host = platform{runtime.GOOS, runtime.GOARCH}

// builtBinaries builds the binaries of testFrame once, into a folder that TestMain removes.
var builtBinaries = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(shared, "bin")
	args := []string{
		"run", "../release", "-source", "../../", "-only", host.String(), "-pgo=off", "-out", dir,
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	for _, p := range platforms {
		if p != host {
			if err := buildStub(p, filepath.Join(dir, "zlimit-server-"+p.system+"-"+p.arch)); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
})

// buildStub compiles a program that does nothing, for another platform: like the server it
// is a static executable, but it takes a second and not a minute.
func buildStub(p platform, path string) error {
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./testdata/stub")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.system, "GOARCH="+p.arch, "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %v: %w\n%s", p, err, out)
	}
	return nil
}

// shared is the folder for what all tests of this package use.
var shared string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "zlimit-packages")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared = dir
	compression = 5 // a quarter of the time, for archives that are a hundredth larger
	return m.Run()
}

// testFrame returns a prepared frame: with the server for this platform, and stubs for the
// others. Its output is the test's own.
func testFrame(t *testing.T) *frame {
	t.Helper()
	bin, err := builtBinaries()
	require.NoError(t, err)
	f := &frame{dist: "..", bin: bin, out: t.TempDir()}
	require.NoError(t, f.prepare())
	return f
}

// contents returns the files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(text)
		return err
	}))
	return out
}

// requireReproducible runs a builder in two frames and expects equal files, and others for
// another version.
func requireReproducible(t *testing.T, build func(f *frame) error) {
	t.Helper()
	first, second, other := testFrame(t), testFrame(t), testFrame(t)
	other.version = "9.8.7"
	for _, f := range []*frame{first, second, other} {
		f.binaries[host] = f.binaries[platform{"darwin", "arm64"}] // a stub takes less time to compress
	}
	for _, f := range []*frame{first, second, other} {
		require.NoError(t, build(f))
		require.NoError(t, f.writeSums())
	}
	want := contents(t, first.out)
	require.Equal(t, hashes(want), hashes(contents(t, second.out)))
	require.NotEqual(t, want[sumsName], contents(t, other.out)[sumsName])
	for line := range strings.Lines(want[sumsName]) {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		require.True(t, ok, line)
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256([]byte(want[filepath.FromSlash(path)]))), path)
	}
	require.Equal(t, len(want)-1, strings.Count(want[sumsName], "\n"))
}

// builtPackages returns the folder with the packages of all languages for this machine, built
// once.
var builtPackages = sync.OnceValues(func() (string, error) {
	bin, err := builtBinaries()
	if err != nil {
		return "", err
	}
	out := filepath.Join(shared, "packages")
	return out, run(context.Background(), []string{"-dist", "..", "-bin", bin, "-out", out}, io.Discard)
})

// hashes replaces contents by what is short enough to print.
func hashes(files map[string]string) map[string]string {
	out := map[string]string{}
	for path, content := range files {
		out[path] = fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	}
	return out
}

// runIn runs a command of a new user, who has neither this source nor a server, and returns
// its output.
func runIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		prefixes := []string{"ZLIMIT_", "PYTHON", "NODE_"}
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(v, p) }) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%v\n%s", cmd.Args, bytes.TrimSpace(out))
	return string(out)
}

// TestTooLarge gives every builder a binary that does not get small enough.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	f := testFrame(t)
	random := rand.NewChaCha8([32]byte{1})
	large := make([]byte, maxArchive+1)
	_, _ = random.Read(large)
	f.binaries[platforms[0]] = large
	for _, b := range builders {
		err := b.build(t.Context(), f)
		require.ErrorIs(t, err, errLarge, b.name)
		require.Regexp(t, `^\S+(x86_64|linux-x64)\S*: it is too large: 80\d{5} bytes, of at most 8000000$`,
			err.Error())
	}
	for path, content := range contents(t, f.out) {
		require.LessOrEqual(t, len(content), maxArchive, path)
	}
	f.binaries[platforms[0]] = make([]byte, maxArchive+1)
	require.NoError(t, buildNode(t.Context(), f), "a binary may be larger than its package")
}

// TestRefusals checks versions and binaries that no package may have.
func TestRefusals(t *testing.T) {
	bin, err := builtBinaries()
	require.NoError(t, err)
	for _, v := range []string{"1", "1.2", "v1.2.3", "1.2.3-dev", "1.2.3+abc", "1.2.3-rc1", "../1.2.3"} {
		f := &frame{dist: "..", bin: bin, out: t.TempDir(), version: v}
		require.ErrorContains(t, f.prepare(), "is none that all packages can have", v)
	}
	require.ErrorContains(t, run(t.Context(), []string{
		"-dist", "..", "-bin", bin, "-out", t.TempDir(), "-only", "cobol",
	}, io.Discard), "not all of")
	err = run(t.Context(), []string{"-platform", "plan9/amd64"}, io.Discard)
	require.ErrorContains(t, err, "packages are for")
	err = run(t.Context(), []string{"-dist", "..", "-bin", t.TempDir()}, io.Discard)
	require.ErrorIs(t, err, os.ErrNotExist)

	amd64, err := os.ReadFile(filepath.Join(bin, "zlimit-server-linux-amd64"))
	require.NoError(t, err)
	mac, err := os.ReadFile(filepath.Join(bin, "zlimit-server-darwin-arm64"))
	require.NoError(t, err)
	require.NoError(t, checkBinary(amd64, platform{"linux", "amd64"}))
	require.NoError(t, checkBinary(mac, platform{"darwin", "arm64"}))
	require.ErrorContains(t, checkBinary(amd64, platform{"linux", "arm64"}), "it is ET_EXEC for EM_X86_64")
	require.ErrorContains(t, checkBinary(mac, platform{"darwin", "amd64"}), "for CpuArm64")
	require.Error(t, checkBinary(amd64, platform{"darwin", "amd64"}))
	require.Error(t, checkBinary([]byte("#!/bin/sh\n"), platform{"linux", "amd64"}))
	if shell, err := os.ReadFile("/bin/sh"); err == nil && host.system == "linux" {
		require.Error(t, checkBinary(shell, host), "a dynamic binary")
	}
}
