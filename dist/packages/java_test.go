package main

import (
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArtifactsAreReproducible(t *testing.T) {
	t.Parallel()
	out, err := builtPackages()
	require.NoError(t, err)
	again := testFrame(t)
	require.NoError(t, buildJava(t.Context(), again))
	want := contents(t, filepath.Join(out, "java"))
	require.Len(t, want, 3*(4+4*len(platforms)))
	require.Equal(t, hashes(want), hashes(contents(t, filepath.Join(again.out, "java"))))
}

// A projectModel is what a pom.xml says, as far as it is checked.
type projectModel struct {
	GroupID      string         `xml:"groupId"`
	ArtifactID   string         `xml:"artifactId"`
	Version      string         `xml:"version"`
	Dependencies []projectModel `xml:"dependencies>dependency"`
}

// TestArtifactContents reads the artifacts as Maven and the class loader do.
func TestArtifactContents(t *testing.T) {
	t.Parallel()
	f := testFrame(t)
	out, err := builtPackages()
	require.NoError(t, err)
	r := mavenRepository{dir: filepath.Join(out, "java"), version: f.version}
	readPom := func(artifact string) (p projectModel) {
		text, err := os.ReadFile(r.path(artifact, ".pom"))
		require.NoError(t, err)
		require.NotContains(t, string(text), unversioned)
		require.NoError(t, xml.Unmarshal(text, &p))
		require.Equal(t, []string{mavenGroup, artifact, f.version}, []string{p.GroupID, p.ArtifactID, p.Version})
		return p
	}
	depends := map[string]bool{}
	for _, d := range readPom(javaCode).Dependencies {
		depends[d.GroupID+":"+d.ArtifactID] = true
	}
	files, _ := readZip(t, r.path(javaCode, ".jar"))
	for _, path := range []string{
		"io/zlimit/Server.class", "io/zlimit/junit/ZlimitServer.class", "META-INF/spring.factories",
	} {
		require.Contains(t, files, path)
	}
	require.Equal(t, "\x00\x00\x00\x3d", files["io/zlimit/Server.class"][4:8]) // Java 17
	require.Contains(t, files["META-INF/MANIFEST.MF"], "Automatic-Module-Name: io.zlimit.junit\r\n")
	for _, p := range platforms {
		require.True(t, depends["io.zlimit:"+mavenArtifact(p)], "%v", p)
		readPom(mavenArtifact(p))
		jar := r.path(mavenArtifact(p), ".jar")
		info, err := os.Stat(jar)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(maxArchive), jar)
		files, _ := readZip(t, jar)
		folder := "io/zlimit/server/" + mavenNames.platform(p) + "/"
		binary := files[folder+"zlimit-server"]
		require.NoError(t, checkBinary([]byte(binary), p))
		require.Equal(t, fmt.Sprintf("sha256=%x\nsize=%d\n", sha256.Sum256([]byte(binary)), len(binary)),
			files[folder+"zlimit-server.properties"])
		require.Contains(t, files["META-INF/MANIFEST.MF"], "Implementation-Version: "+f.version+"\r\n")
		require.Contains(t, files["META-INF/"+textsName], "go-redis")
		require.Len(t, files, 4)
	}
}

// testsInJVM has Surefire start the JVMs of tests as Maven's own.
const testsInJVM = "-DargLine=" + javaOptions

// TestJava installs the artifacts into a fresh local repository and runs the package's tests
// and examples, in a folder with a difficult name.
func TestJava(t *testing.T) {
	f, out := installing(t)
	dir := filepath.Join(t.TempDir(), "a folder ä")
	mvn, err := newMaven(filepath.Join(dir, "maven"), filepath.Join(out, "java"))
	require.NoError(t, err)
	cache := filepath.Join(dir, "cache")
	env := []string{"XDG_CACHE_HOME=" + cache}
	require.NoError(t, f.stage("java/examples", filepath.Join(dir, "examples")))
	require.NoError(t, mvn.run(t.Context(), filepath.Join(dir, "examples"), env, testsInJVM, "test"))
	require.NoError(t, f.stage("java", filepath.Join(dir, "package")))
	require.NoError(t, mvn.run(t.Context(), filepath.Join(dir, "package"), env, testsInJVM, "test",
		fmt.Sprintf("-Dzlimit.starts=%d", *servers)))

	// The server is unpacked once for all of them.
	var unpacked []string
	for path := range contents(t, cache) {
		unpacked = append(unpacked, filepath.Base(path))
	}
	require.Equal(t, []string{"zlimit-server"}, unpacked)
	reports, err := filepath.Glob(filepath.Join(dir, "examples", "*", "target", "surefire-reports", "*.txt"))
	require.NoError(t, err)
	require.Len(t, reports, 9, strings.Join(reports, "\n"))
}

// firstTest writes the project that the README shows, from its two files.
func firstTest(t *testing.T, dir string) {
	t.Helper()
	readme, err := os.ReadFile("../java/README.md")
	require.NoError(t, err)
	for after, path := range map[string]string{
		"as `src/test/java/example/FirstTest.java`:\n\n```java\n": "src/test/java/example/FirstTest.java",
		"and `mvn test` runs it:\n\n```xml\n":                     "pom.xml",
	} {
		_, text, ok := strings.Cut(string(readme), after)
		require.True(t, ok, path)
		text, _, _ = strings.Cut(text, "```")
		path = filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// runFirstTest runs that project.
func runFirstTest(t *testing.T, mvn *maven, dir string) {
	t.Helper()
	env := []string{"XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}
	require.NoError(t, mvn.run(t.Context(), dir, env, testsInJVM, "test"))
	report, err := os.ReadFile(filepath.Join(dir, "target", "surefire-reports", "example.FirstTest.txt"))
	require.NoError(t, err)
	require.Contains(t, string(report), "Tests run: 1, Failures: 0")
}

// TestJavaFirstTest builds the project that the README shows.
func TestJavaFirstTest(t *testing.T) {
	f, out := installing(t)
	dir := t.TempDir()
	firstTest(t, dir)
	pom, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	require.NoError(t, err)
	require.Contains(t, string(pom), "<artifactId>zlimit-junit</artifactId>\n      <version>"+f.version+"</version>")
	mvn, err := newMaven(filepath.Join(dir, "maven"), filepath.Join(out, "java"))
	require.NoError(t, err)
	runFirstTest(t, mvn, dir)
}
