package envoy

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/stretchr/testify/require"
)

var recordFlag = flag.Bool("record", false, "write the reference's verdicts instead of comparing them")

const (
	badVerdicts  = "testdata/bad/errors.txt"
	goodVerdicts = "testdata/good/dumps.txt"
)

// readCases returns the configurations of a directory by name, each as its files. A file
// is a configuration by itself; a directory is one of several files.
func readCases(t *testing.T, dir string) map[string]map[string]string {
	t.Helper()
	cases := map[string]map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		root, name := dir, e.Name()
		files := map[string]string{}
		switch {
		case e.IsDir():
			root = path.Join(dir, name)
			err = fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					files[file] = readFile(t, path.Join(root, file))
				}
				return err
			})
			require.NoError(t, err)
		case strings.HasSuffix(name, ".yaml"):
			files[name] = readFile(t, path.Join(root, name))
			name = strings.TrimSuffix(name, ".yaml")
		default:
			continue
		}
		require.NotContains(t, cases, name)
		cases[name] = files
	}
	return cases
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(name))
	require.NoError(t, err)
	return string(content)
}

// load returns what the reference makes of files.
func load(files map[string]string) (config.RateLimitConfig, error) {
	return readConfig(files, stats.NewStatManager(newSink().store(), settings.Settings{}), false)
}

// TestBadFiles requires that the reference refuses each configuration of testdata/bad
// with its recorded text.
func TestBadFiles(t *testing.T) {
	verdicts := map[string]string{}
	for name, files := range readCases(t, "testdata/bad") {
		_, err := load(files)
		if err == nil {
			t.Error("accepted: ", name)
			continue
		}
		require.NotErrorIs(t, err, ErrCrash, name)
		for range 20 { // the reference goes through maps, in whose order a text must not depend
			_, again := load(files)
			require.EqualError(t, again, err.Error(), name)
		}
		verdicts[name] = err.Error()
	}
	compareVerdicts(t, badVerdicts, verdicts)
}

// TestGoodFiles requires that the reference accepts each configuration of testdata/good
// and makes of it what is recorded.
func TestGoodFiles(t *testing.T) {
	verdicts := map[string]string{}
	for name, files := range readCases(t, "testdata/good") {
		c, err := load(files)
		if err != nil {
			t.Errorf("refused: %s: %v", name, err)
			continue
		}
		verdicts[name] = sortedLines(c.Dump())
	}
	compareVerdicts(t, goodVerdicts, verdicts)
}

// compareVerdicts compares verdicts with those of a file, or writes the file.
func compareVerdicts(t *testing.T, file string, verdicts map[string]string) {
	t.Helper()
	if *recordFlag {
		require.NoError(t, os.WriteFile(file, []byte(verdictLines(verdicts)), 0o600))
		return
	}
	require.Equal(t, readFile(t, file), verdictLines(verdicts))
}

// verdictLines returns a line for each verdict: a name, a tab and the verdict, quoted.
func verdictLines(verdicts map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(verdicts)) {
		b.WriteString(name + "\t" + strconv.Quote(verdicts[name]) + "\n")
	}
	return b.String()
}

// TestVerdictsDiffer changes a configuration, which must change its line.
func TestVerdictsDiffer(t *testing.T) {
	lines := func(content string) string {
		c, err := load(map[string]string{"a.yaml": content})
		if err != nil {
			return verdictLines(map[string]string{"a": err.Error()})
		}
		return verdictLines(map[string]string{"a": sortedLines(c.Dump())})
	}
	const content = "domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 1}\n"
	require.Equal(t, lines(content), lines("# the same\n"+content))
	for _, other := range []string{"unit: days", "unit: month", "unlimited: true"} {
		require.NotEqual(t, lines(content), lines(strings.Replace(content, "unit: day", other, 1)))
	}
}
