package zlimit_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

const sampleFile = "dist/zlimit.conf"

// withoutDir returns the lines of a file without that of dir: the sample's ./ stands for
// the working directory, which the file names.
func withoutDir(file string) string {
	return regexp.MustCompile(`(?m)^dir .*\n`).ReplaceAllString(file, "")
}

// TestDist compares the files of dist that are made from the table of directives.
func TestDist(t *testing.T) {
	for file, want := range map[string]string{
		sampleFile:                       config.Sample(),
		"dist/completion/zlimit.bash":    config.Completion("bash"),
		"dist/completion/_zlimit-server": config.Completion("zsh"),
		"dist/completion/zlimit.fish":    config.Completion("fish"),
	} {
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
			continue
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, want == string(got), "%s is old: run go test . -run Dist -rewrite", file)
	}
}

// TestSample checks that the sample changes nothing as it stands, and that it has
// every directive with the default and nothing else.
func TestSample(t *testing.T) {
	text, err := os.ReadFile(sampleFile)
	require.NoError(t, err)
	asIs := config.New()
	require.NoError(t, asIs.ParseFile(sampleFile, strings.NewReader(string(text))))
	require.Empty(t, asIs.File())

	directive := regexp.MustCompile(`(?m)^#([a-z].*)$`)
	lines := directive.FindAllStringSubmatch(string(text), -1)
	require.Len(t, lines, len(asIs.Directives()))
	all := config.New()
	seen := map[string]bool{}
	for _, line := range lines {
		// Alone, since a value could make up for another one's.
		one := config.New()
		require.NoError(t, one.ParseFile(sampleFile, strings.NewReader(line[1])), line[1])
		require.Empty(t, withoutDir(one.File()), line[1])
		require.NoError(t, all.ParseFile(sampleFile, strings.NewReader(line[1])))
		name, _, _ := strings.Cut(line[1], " ")
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Empty(t, withoutDir(all.File()))
	for _, d := range all.Directives() {
		require.True(t, seen[d.Name], d.Name)
	}
	for line := range strings.Lines(string(text)) {
		require.LessOrEqual(t, len(strings.TrimSpace(line)), 160)
	}
}

// TestCompletion completes command lines in bash, and checks the syntax of the other
// scripts where their shells are installed.
func TestCompletion(t *testing.T) {
	for _, shell := range [][]string{
		{"zsh", "-n", "dist/completion/_zlimit-server"},
		{"fish", "--no-execute", "dist/completion/zlimit.fish"},
	} {
		if path, err := exec.LookPath(shell[0]); err == nil {
			out, err := exec.Command(path, shell[1:]...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash, and the tests need Go and nothing else")
	}
	for _, c := range []struct {
		words []string // of the command line; the last is completed
		want  []string
	}{
		{[]string{"--appendf"}, []string{"--appendfilename", "--appendfsync"}},
		{[]string{"--appendfsync", "al"}, []string{"always"}},
		{[]string{"--appendonly", ""}, []string{"yes", "no"}},
		{[]string{"--supervised", ""}, []string{"no", "systemd", "auto"}},
		{[]string{"--log-format", "j"}, []string{"json"}},
		{[]string{"--port", "7000", "--check"}, []string{"--check", "--check-aof", "--check-rdb"}},
		{[]string{"--check", "dist/zlimit.c"}, []string{"dist/zlimit.conf"}},
		{[]string{"--port", "7"}, nil},
		{[]string{"dist/zlimit.c"}, []string{"dist/zlimit.conf"}},
		{[]string{"--logfile", "dist/zlimit.c"}, []string{"dist/zlimit.conf"}},
		{[]string{"--daemoni"}, nil}, // one value only
	} {
		script := `. dist/completion/zlimit.bash; COMP_WORDS=(zlimit-server "$@"); COMP_CWORD=$#; ` +
			`_zlimit_server; printf '%s\n' "${COMPREPLY[@]}"`
		out, err := exec.Command(bash, append([]string{"-c", script, "bash"}, c.words...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, c.want, fieldsOrNil(string(out)), "%q", c.words)
	}
}

func fieldsOrNil(text string) []string {
	if fields := strings.Fields(text); len(fields) > 0 {
		return fields
	}
	return nil
}
