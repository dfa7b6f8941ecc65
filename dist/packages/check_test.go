package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// forHost is what make packages QUICK=1 builds, built once.
var forHost = sync.OnceValues(func() (printed string, err error) {
	bin, err := builtBinaries()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = run(context.Background(), []string{
		"-dist", "..", "-bin", bin, "-out", filepath.Join(shared, "a folder ä"), "-platform", host.String(),
	}, &out)
	return out.String(), err
})

// hostFrame returns a frame of these packages, and what was printed.
func hostFrame(t *testing.T) (f *frame, printed string) {
	t.Helper()
	printed, err := forHost()
	require.NoError(t, err)
	f = testFrame(t)
	f.out, f.platforms = filepath.Join(shared, "a folder ä"), []platform{host}
	return f, printed
}

func TestPublishable(t *testing.T) {
	t.Parallel()
	f, _ := hostFrame(t)
	c, err := f.publishable(t.Context())
	require.NoError(t, err)
	require.Empty(t, c.faults)
	require.Subset(t, c.open, []string{
		"the project has no file LICENSE", "zlimit-junit.pom lacks <licenses>",
		"zlimit-0.1.0.tgz says UNLICENSED",
	})
	var printed strings.Builder
	require.NoError(t, c.report(&printed, false))
	require.Contains(t, printed.String(), "no faults")
	require.ErrorIs(t, c.report(&printed, true), errUnpublishable)
}

// TestUnpublishable changes what was built.
func TestUnpublishable(t *testing.T) {
	t.Parallel()
	built, _ := hostFrame(t)
	for fault, spoil := range map[string]func(f *frame) error{
		"zlimit-0.1.0.tgz is not what": func(f *frame) error {
			node := filepath.Join(f.out, "node")
			return os.Rename(filepath.Join(node, "zlimit-"+npmNames.platform(host)+"-"+f.version+".tgz"),
				filepath.Join(node, "zlimit-"+f.version+".tgz"))
		},
		"python has 1 wheels of 2": func(f *frame) error {
			return os.Remove(filepath.Join(f.out, "python", "zlimit-"+f.version+"-py3-none-any.whl"))
		},
		"zlimit-junit has no -javadoc.jar.md5": func(f *frame) error {
			r := mavenRepository{dir: filepath.Join(f.out, "java"), version: f.version}
			return os.Remove(r.path(javaCode, "-javadoc.jar.md5"))
		},
		"zlimit-junit.pom lacks <scm>": func(f *frame) error {
			r := mavenRepository{dir: filepath.Join(f.out, "java"), version: f.version}
			pom, err := os.ReadFile(r.path(javaCode, ".pom"))
			require.NoError(t, err)
			pom = bytes.ReplaceAll(pom, []byte("scm>"), []byte("s>"))
			return os.WriteFile(r.path(javaCode, ".pom"), pom, 0o644)
		},
	} {
		f := testFrame(t)
		f.platforms = built.platforms
		require.NoError(t, os.CopyFS(f.out, os.DirFS(built.out)))
		require.NoError(t, spoil(f), fault)
		if strings.Contains(fault, "tgz") { // check ends there: a package is missing
			c := &check{}
			require.NoError(t, c.sums(f.out))
			require.Contains(t, strings.Join(c.faults, "\n"), fault)
			continue
		}
		c, err := f.publishable(t.Context())
		require.NoError(t, err)
		require.Contains(t, strings.Join(c.faults, "\n"), fault)
		require.ErrorIs(t, c.report(&strings.Builder{}, false), errUnpublishable)
	}
}

// TestOwner checks that nothing of the metadata is open once the owner is known.
func TestOwner(t *testing.T) {
	t.Parallel()
	f := testFrame(t)
	f.owner = owner{licence: "EUPL-1.2", name: "A & B", mail: "a@example.org"}
	pom, err := os.ReadFile("../java/pom.xml")
	require.NoError(t, err)
	c := &check{}
	text := f.manifest(file{path: "pom.xml", content: pom})
	c.metadata("code", ".pom", f.version, text)
	require.Contains(t, text, "<name>A &amp; B</name>")
	manifest, err := os.ReadFile("../node/package.json")
	require.NoError(t, err)
	c.metadata("npm", "package.json", f.version, f.manifest(file{path: "package.json", content: manifest}))
	r := mavenRepository{dir: t.TempDir(), version: f.version, owner: f.owner}
	require.NoError(t, r.addPlatform(platforms[0], []byte("stub")))
	pom, err = os.ReadFile(r.path(mavenArtifact(platforms[0]), ".pom"))
	require.NoError(t, err)
	c.metadata("platform", ".pom", f.version, string(pom))
	f.platforms, f.binaries[platforms[0]] = platforms[:1], []byte("stub")
	require.NoError(t, buildPython(t.Context(), f))
	require.NoError(t, c.wheels(f))
	require.Empty(t, c.faults)
	require.Empty(t, c.open)
}
