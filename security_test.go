package zlimit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

var (
	testName      = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`)
	testDeclared  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	directiveName = regexp.MustCompile("`([a-z]+(?:-[a-z]+)+)[ `]")
)

// TestSecurityPage: the tests and directives that SECURITY.md names exist.
func TestSecurityPage(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	declared := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := os.ReadFile(path)
		for _, m := range testDeclared.FindAllSubmatch(file, -1) {
			declared[string(m[1])] = true
		}
		return err
	}))
	tests := testName.FindAllString(string(text), -1)
	require.Greater(t, len(tests), 20)
	for _, name := range tests {
		require.True(t, declared[name], "there is no %s", name)
	}
	known := map[string]bool{}
	for _, d := range config.New().Directives() {
		known[d.Name] = true
	}
	directives := directiveName.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(directives), 10)
	for _, m := range directives {
		require.True(t, known[m[1]], "there is no directive %s", m[1])
	}
}
