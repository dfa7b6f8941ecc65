package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var servers = flag.Int("servers", 200, "how many servers each package's tests start one after the other")

func TestWheelsAreReproducible(t *testing.T) {
	requireReproducible(t, func(f *frame) error { return buildPython(t.Context(), f) })
}

// TestWheelContents reads every wheel as an installer does.
func TestWheelContents(t *testing.T) {
	t.Parallel()
	f := testFrame(t)
	out, err := builtPackages()
	require.NoError(t, err)
	tags := map[string]platform{"any": {}}
	for p, tag := range wheelTags {
		tags[tag] = p
	}
	wheels, err := filepath.Glob(filepath.Join(out, "python", "*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, len(tags))
	for tag, p := range tags {
		name := "zlimit-" + f.version + "-py3-none-" + tag + ".whl"
		path := filepath.Join(out, "python", name)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(maxArchive), name)
		files, modes := readZip(t, path)
		binary, there := files["zlimit/bin/zlimit-server"]
		require.Equal(t, tag != "any", there)
		if there {
			require.NoError(t, checkBinary([]byte(binary), p))
			require.Contains(t, files["zlimit/bin/"+textsName], "go-redis")
			require.Equal(t, os.FileMode(0o755), modes["zlimit/bin/zlimit-server"])
		}
		for _, module := range []string{"__init__", "__main__", "pytest_plugin"} {
			require.Contains(t, files, "zlimit/"+module+".py")
		}
		require.Contains(t, files, "zlimit/py.typed")
		dist := "zlimit-" + f.version + ".dist-info/"
		require.Contains(t, files[dist+"METADATA"], "\nVersion: "+f.version+"\n")
		for single := range strings.SplitSeq(tag, ".") {
			require.Contains(t, files[dist+"WHEEL"], "\nTag: py3-none-"+single+"\n")
		}
		record := strings.Split(strings.TrimSuffix(files[dist+"RECORD"], "\n"), "\n")
		require.Len(t, record, len(files))
		for _, line := range record {
			cells := strings.Split(line, ",")
			if cells[0] == dist+"RECORD" {
				continue
			}
			sum := sha256.Sum256([]byte(files[cells[0]]))
			require.Equal(t, fmt.Sprintf("%s,sha256=%s,%d", cells[0],
				base64.RawURLEncoding.EncodeToString(sum[:]), len(files[cells[0]])), line)
		}
	}
	require.Equal(t, "1.2.3rc4", pythonVersion("1.2.3-rc.4"))
}

func readZip(t *testing.T, path string) (files map[string]string, modes map[string]os.FileMode) {
	t.Helper()
	r, err := zip.OpenReader(path)
	require.NoError(t, err)
	defer r.Close()
	files, modes = map[string]string{}, map[string]os.FileMode{}
	for _, entry := range r.File {
		in, err := entry.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files[entry.Name], modes[entry.Name] = string(text), entry.Mode()
	}
	return files, modes
}

// pythonWithPip returns the path of a Python with pip, in a virtual environment that is created once: to
// install pip takes seconds.
var pythonWithPip = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(shared, "pip")
	if out, err := exec.Command("python3", "-m", "venv", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "python"), nil
})

// virtualEnvironment creates a fresh one below dir and returns the path of its Python.
func virtualEnvironment(t *testing.T, dir string) (python string) {
	t.Helper()
	runIn(t, dir, "python3", "-m", "venv", "--without-pip", "env")
	return filepath.Join(dir, "env", "bin", "python")
}

// pipInstall installs into a virtual environment. Modules are compiled when they are imported: most never
// are.
func pipInstall(t *testing.T, python string, args ...string) {
	t.Helper()
	pip, err := pythonWithPip()
	require.NoError(t, err)
	runIn(t, filepath.Dir(python), pip, append([]string{
		"-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-compile",
	}, args...)...)
}

// TestPython installs the wheel into a fresh virtual environment, in a folder with a
// difficult name, and runs the package's tests and examples there.
func TestPython(t *testing.T) {
	f, out := installing(t)
	dir := filepath.Join(t.TempDir(), "a folder ä")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, folder := range []string{"tests", "examples"} {
		from := os.DirFS(filepath.Join("../python", folder))
		require.NoError(t, os.CopyFS(filepath.Join(dir, folder), from))
	}
	requirements, err := filepath.Abs("../python/requirements-test.txt")
	require.NoError(t, err)
	python := virtualEnvironment(t, dir)
	pipInstall(t, python, "-r", requirements)
	pipInstall(t, python, "--no-index", "--find-links", filepath.Join(out, "python"),
		"zlimit=="+pythonVersion(f.version))
	t.Log(runIn(t, dir, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "tests",
		"examples", fmt.Sprintf("--servers=%d", *servers)))
	readme, err := os.ReadFile("../python/README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(readme, -1)
	require.Len(t, blocks, 6)
	for i, block := range blocks {
		name := filepath.Join(dir, "page", fmt.Sprintf("test_block_%d.py", i))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, block[1], 0o644))
	}
	page := runIn(t, dir, python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "page")
	require.Contains(t, page, "5 passed") // one block has no test and runs when it is imported
	typed := filepath.Join(dir, "typed.py")
	require.NoError(t, os.WriteFile(typed, []byte("import zlimit\n\n"+
		"def test(zlimit: zlimit.Server) -> None:\n    zlimit.clock.advance(seconds=1)\n    "+
		"zlimit.faults.inject('loading', times=2)\n    "+
		"zlimit.clock.advance(zlimit.allow('k', 1, '1m').retry_after)\n\n\n"+
		"def excess(server: zlimit.Server) -> int:\n    "+
		"terms = [zlimit.Term('t', (9, '1m')), zlimit.Slots('s', 1, '1m')]\n    "+
		"server.allow_all(terms, hold='1m', id='a')\n    "+
		"return server.settle(['t', 's'], 'a', [9, 0])[0].excess\n"), 0o644))
	sources, err := filepath.Abs("../python/src")
	require.NoError(t, err)
	runIn(t, dir, filepath.Join(dir, "env", "bin", "vermin"), "--no-tips", "--violations", "-t=3.9-",
		"--eval-annotations", sources) // nothing in them is newer than Python 3.9
	checked := filepath.Join(t.TempDir(), "mypy")
	runIn(t, dir, python, "-m", "mypy", "--strict", "--cache-dir", checked, "-p", "zlimit")
	runIn(t, dir, python, "-m", "mypy", "--strict", "--cache-dir", checked, "typed.py")
}

// TestWheelOfPlatform asks pip which wheel it installs on other platforms.
func TestWheelOfPlatform(t *testing.T) {
	_, out := installing(t)
	dir := t.TempDir()
	python, err := pythonWithPip()
	require.NoError(t, err)
	for platform, want := range map[string]string{
		"manylinux2014_aarch64": "aarch64", "musllinux_1_1_x86_64": "musllinux_1_1_x86_64",
		"macosx_15_0_arm64": "macosx_12_0_arm64", "macosx_11_0_arm64": "any", "win_amd64": "any",
	} {
		to := filepath.Join(dir, platform)
		runIn(t, dir, python, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
			"--no-index", "--find-links", filepath.Join(out, "python"), "--only-binary=:all:",
			"--platform", platform, "-d", to, "zlimit")
		wheels, err := filepath.Glob(filepath.Join(to, "*.whl"))
		require.NoError(t, err)
		require.Len(t, wheels, 1, platform)
		require.True(t, strings.HasSuffix(wheels[0], want+".whl"), "%s: %s", platform, wheels[0])
	}
}
