package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var nodes = flag.String("nodes", "", "further `versions` of Node to run the checks with, as npm's package node has "+
	"them: 22,24")

func TestTarballsAreReproducible(t *testing.T) {
	requireReproducible(t, func(f *frame) error { return buildNode(t.Context(), f) })
}

// TestTarballContents reads every tarball as npm does.
func TestTarballContents(t *testing.T) {
	t.Parallel()
	f := testFrame(t)
	out, err := builtPackages()
	require.NoError(t, err)
	files, modes := readTarball(t, filepath.Join(out, "node", "zlimit-"+f.version+".tgz"))
	m := npmManifest{}
	require.NoError(t, json.Unmarshal([]byte(files["package.json"]), &m))
	require.Equal(t, f.version, m.Version)
	require.Len(t, m.OptionalDependencies, len(platforms))
	require.NotContains(t, files["package.json"], `"dependencies"`)
	require.NotContains(t, files["package.json"], `"scripts"`) // npm asks before it runs scripts
	require.NotContains(t, files["package.json"], unversioned)
	for _, path := range []string{"README.md", "index.js", "index.mjs", "index.d.ts", "index.d.mts", "lib/server.js"} {
		require.Contains(t, files, path)
		require.Equal(t, int64(0o644), modes[path], path)
	}
	require.Equal(t, int64(0o755), modes["bin/zlimit.js"])
	for path := range files {
		require.False(t, strings.HasPrefix(path, "examples/") || strings.HasPrefix(path, "checks/"), path)
	}
	for _, p := range platforms {
		name := npmNames.platform(p)
		path := filepath.Join(out, "node", fmt.Sprintf("zlimit-%s-%s.tgz", name, f.version))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(maxArchive), path)
		files, modes := readTarball(t, path)
		require.NoError(t, checkBinary([]byte(files["bin/zlimit-server"]), p))
		require.Equal(t, int64(0o755), modes["bin/zlimit-server"])
		require.Contains(t, files, "README.md")
		require.Contains(t, files[textsName], "go-redis")
		require.Len(t, files, 4)
		got := npmManifest{}
		require.NoError(t, json.Unmarshal([]byte(files["package.json"]), &got))
		require.Equal(t, "@zlimit/"+name, got.Name)
		require.Equal(t, f.version, got.Version)
		require.Equal(t, m.OptionalDependencies[got.Name], got.Version)
		require.Equal(t, name, got.OS[0]+"-"+got.CPU[0])
	}
}

func readTarball(t *testing.T, path string) (files map[string]string, modes map[string]int64) {
	t.Helper()
	in, err := os.Open(path)
	require.NoError(t, err)
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	require.NoError(t, err)
	files, modes = map[string]string{}, map[string]int64{}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		require.NoError(t, err)
		name, ok := strings.CutPrefix(h.Name, "package/")
		require.True(t, ok, h.Name)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[name], modes[name] = string(text), h.Mode
	}
}

// TestNode installs the tarballs into a fresh project, in a folder with a difficult name, and
// runs the package's checks and examples there.
func TestNode(t *testing.T) {
	f, out := installing(t)
	dir := filepath.Join(t.TempDir(), "a folder ä")
	require.NoError(t, f.stage("node/examples", dir))
	require.NoError(t, f.stage("node/checks", filepath.Join(dir, "checks")))
	useTarballs(t, f, filepath.Join(dir, "package.json"), filepath.Join(out, "node"))
	runIn(t, dir, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--no-update-notifier")
	shown := runIn(t, dir, "npx", "--no", "--", "zlimit", "--version")
	require.True(t, strings.HasPrefix(shown, "zlimit-server "+f.version+","), shown)
	runIn(t, dir, "npm", "test")
	checks, err := filepath.Glob(filepath.Join(dir, "checks", "*.test.*js"))
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	check := func(node string) {
		runIn(t, dir, "env", append([]string{
			fmt.Sprintf("ZLIMIT_STARTS=%d", *servers), node, "--test", "--test-timeout=600000",
		}, checks...)...)
	}
	check("node")
	for version := range strings.FieldsFuncSeq(*nodes, func(r rune) bool { return r == ',' }) {
		other := filepath.Join(t.TempDir(), "node")
		require.NoError(t, os.Mkdir(other, 0o755))
		runIn(t, other, "npm", "install", "--prefix", other, "--no-audit", "--no-fund", "--no-update-notifier",
			"node@"+version)
		node := filepath.Join(other, "node_modules", ".bin", "node")
		require.Contains(t, runIn(t, other, node, "--version"), "v"+version)
		check(node)
	}
}

// useTarballs makes a project depend on the tarballs of a folder. All platforms are named, so
// that npm chooses among them without asking a registry.
func useTarballs(t *testing.T, f *frame, manifest, folder string) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	require.NoError(t, err)
	project := map[string]any{}
	require.NoError(t, json.Unmarshal(text, &project))
	tarball := func(name string) string { return "file:" + filepath.Join(folder, name+"-"+f.version+".tgz") }
	development, ok := project["devDependencies"].(map[string]any)
	require.True(t, ok)
	require.Equal(t, f.version, development["zlimit"])
	development["zlimit"] = tarball("zlimit")
	optional := map[string]string{}
	for _, p := range platforms {
		optional["@zlimit/"+npmNames.platform(p)] = tarball("zlimit-" + npmNames.platform(p))
	}
	project["optionalDependencies"] = optional
	text, err = json.MarshalIndent(project, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(manifest, text, 0o644))
}

// requireInReadme checks that a package's README shows a file as it is.
func requireInReadme(t *testing.T, folder, example string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", folder, "README.md"))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("..", folder, "examples", example))
	require.NoError(t, err)
	require.True(t, strings.Contains(string(readme), "\n"+string(text)+"```\n"), "README.md of %s lacks %s as it is",
		folder, example)
}

// TestFirstTests checks that the tests that READMEs show are some that run.
func TestFirstTests(t *testing.T) {
	requireInReadme(t, "node", "node-test/first.test.js")
	requireInReadme(t, "java", "junit/src/test/java/example/FirstTest.java")
	requireInReadme(t, "python", "test_allow.py")
	requireInReadme(t, "node", "node-test/allow.test.js")
	requireInReadme(t, "java", "junit/src/test/java/example/AllowTest.java")
	requireInReadme(t, "python", "test_terms.py")
	requireInReadme(t, "node", "node-test/terms.test.js")
	requireInReadme(t, "java", "junit/src/test/java/example/TermsTest.java")
}
