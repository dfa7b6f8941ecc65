package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
)

// copySource copies the tracked and new files of the module to a directory of another
// name and depth.
func copySource(t *testing.T, to string) {
	t.Helper()
	list, err := exec.Command("git", "-C", "../..", "ls-files", "-co", "--exclude-standard", "*.go",
		"go.mod", "go.sum", "*.pgo", "*.txt", "*.html", "*.js", "*.css", "*.lua", "calendar/zones.bin",
		"docs/dependencies.md").Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		path := filepath.Join(to, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o644))
	}
}

var cold = flag.Bool("cold", false, "compile everything anew for the second build")

// TestReproducible builds a release for this platform in two directories, the second
// time without the cache if -cold is given, and expects equal files. Without the
// profile, because that takes half the time.
func TestReproducible(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "another", "place")
	copySource(t, source)
	platforms := [][2]string{{runtime.GOOS, runtime.GOARCH}}
	licences, err := readLicences(filepath.Join(source, "docs", "dependencies.md"))
	require.NoError(t, err)
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	a := build{source: "../..", version: "9.8.7-rc.1", out: first, extra: []string{"-pgo=off"}}
	require.NoError(t, a.release(t.Context(), platforms, licences))
	b := build{source: source, version: "9.8.7-rc.1", out: second, extra: []string{"-pgo=off"}}
	if *cold {
		b.extra = append(b.extra, "-a")
	}
	require.NoError(t, b.release(t.Context(), platforms, licences))
	binary := name([2]string{runtime.GOOS, runtime.GOARCH})
	for _, file := range []string{binary, binary + ".cdx.json", textsName, sumsName} {
		a, err := os.ReadFile(filepath.Join(first, file))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(second, file))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), file)
	}
	checkSums(t, first, 3)
	texts, err := os.ReadFile(filepath.Join(first, textsName))
	require.NoError(t, err)
	require.Contains(t, string(texts), "\n==== github.com/redis/go-redis/v9: LICENSE\n")
	require.NotContains(t, string(texts), "testify") // it is not linked
	_, err = licenceTexts(t.Context(), source, []string{"github.com/zlimit/zlimit"})
	require.ErrorContains(t, err, "has no file with its licence")
	out, err := exec.Command(filepath.Join(first, binary), "--version").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "zlimit-server 9.8.7-rc.1, ")
	checkMaterials(t, filepath.Join(first, binary+".cdx.json"))
	content, err := os.ReadFile(filepath.Join(first, binary))
	require.NoError(t, err)
	require.True(t, hasFunction(content, "github.com/redis/go-redis/v9.NewClient"))
	require.False(t, hasFunction(content, unusedMethod), "something calls methods by reflection, so that the "+
		"linker keeps all exported ones and the binary is 7 MB larger: go build -ldflags=-dumpdep shows "+
		"what reaches <ReflectMethod>")

	// The comparison fails where it should.
	b.version, b.extra = "9.8.7", a.extra
	require.NoError(t, b.release(t.Context(), platforms, licences))
	other, err := os.ReadFile(filepath.Join(second, sumsName))
	require.NoError(t, err)
	sums, err := os.ReadFile(filepath.Join(first, sumsName))
	require.NoError(t, err)
	require.NotEqual(t, string(sums), string(other))
}

// unusedMethod is one that nothing calls. The linker keeps it only if it must keep the exported
// methods of every type.
const unusedMethod = "github.com/redis/go-redis/v9.cmdable.GeoSearchStore"

// hasFunction reports whether a binary has a function, which also a stripped one can name in
// stack traces.
func hasFunction(binary []byte, name string) bool {
	return bytes.Contains(binary, []byte("\x00"+name+"\x00"))
}

// checkSums compares the checksums with the files.
func checkSums(t *testing.T, dir string, files int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, sumsName))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, files)
	for _, line := range lines {
		sum, file, ok := strings.Cut(line, "  ")
		require.True(t, ok, line)
		content, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, sum, fmt.Sprintf("%x", sha256.Sum256(content)))
	}
}

// checkMaterials reads a bill of materials and looks for what go.mod requires.
func checkMaterials(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(f, cdx.BOMFileFormatJSON).Decode(&bom))
	require.Regexp(t, `^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		bom.SerialNumber)
	require.Equal(t, "9.8.7-rc.1", bom.Metadata.Component.Version)
	found := map[string]bool{}
	for _, c := range *bom.Components {
		found[c.Name] = true
		require.NotEmpty(t, c.Version, c.Name)
		require.NotNil(t, c.Licenses, "docs/dependencies.md has no licence of %s", c.Name)
	}
	for _, module := range []string{
		"std", "github.com/tidwall/redcon", "github.com/prometheus/client_golang",
	} {
		require.True(t, found[module], module)
	}
	require.False(t, found["github.com/stretchr/testify"], "it is for tests only")
}

// TestMaterialsReplaced checks that a replaced module is listed as its replacement.
func TestMaterialsReplaced(t *testing.T) {
	text, err := materials(&debug.BuildInfo{
		GoVersion: "go1.99", Main: debug.Module{Path: "m", Version: "v0"},
		Deps: []*debug.Module{{Path: "a", Version: "v1", Replace: &debug.Module{Path: "b", Version: "v2"}}},
	}, "binary", "", [sha256.Size]byte{}, map[string]string{"b": "MIT"})
	require.NoError(t, err)
	require.Contains(t, string(text), "pkg:golang/b@v2")
	require.NotContains(t, string(text), "pkg:golang/a@v1")
	require.Contains(t, string(text), "pkg:golang/std@1.99")
}

// TestRefusals checks that invalid versions and platforms are refused.
func TestRefusals(t *testing.T) {
	for _, v := range []string{"1 -X main.x=y", "1'", "1\n", "1/2"} {
		require.ErrorContains(t, checkVersion(v), "may have", v)
	}
	require.NoError(t, checkVersion("1.2.3-rc.1+abc"))
	require.Error(t, run(t.Context(), []string{"-only", "linux"}))
	require.Error(t, run(t.Context(), []string{"-source", t.TempDir()}))
	b := build{source: "../..", out: t.TempDir()}
	_, err := b.binary(t.Context(), [2]string{"no", "such"})
	require.ErrorContains(t, err, "unsupported GOOS/GOARCH pair")
}
