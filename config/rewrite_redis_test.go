package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRewriteMatchesRedis runs testdata/rewrite.txt. In a case
//
//	$ | + are those of a fileCase
//	> is CONFIG SET
//	< is a line that redis-server has written; those that it appends are sorted
//
// The lines of directives that the case names are compared, as servers read them.
func TestRewriteMatchesRedis(t *testing.T) {
	runFileCases(t, "rewrite.txt", func(t *testing.T, c *fileCase) {
		config := New()
		require.NoError(t, config.ParseArgs(c.args, nil))
		if *record {
			c.redis = rewriteByRedis(t, c, config.String("requirepass"))
		}
		for _, line := range c.marked(">") {
			require.NoError(t, config.Set(bytesOf(wordsOf(t, line))))
		}
		text := rewritten(t, config)
		c.compareRewritten(t, text)
		require.NoError(t, os.WriteFile(c.args[0], []byte(text), 0o600))
		requireReadAgain(t, config, c.args[0])
		require.Equal(t, text, rewritten(t, config), "again")
	})
}

// rewritten returns what Rewrite writes.
func rewritten(t *testing.T, c *Config) (text string) {
	t.Helper()
	require.NoError(t, c.Rewrite(nil, func(path, to string) error {
		require.Equal(t, c.Path(), path)
		text = to
		return nil
	}))
	return text
}

// requireReadAgain checks that a file makes a Config equal to c.
func requireReadAgain(t *testing.T, c *Config, path string) {
	t.Helper()
	again := New()
	require.NoError(t, again.ParseArgs([]string{path}, nil))
	for i := range table {
		require.Equal(t, c.shown(i), again.shown(i), table[i].Name)
	}
}

func rewriteByRedis(t *testing.T, c *fileCase, password string) []string {
	t.Helper()
	text, err := os.ReadFile(c.args[0])
	require.NoError(t, err)
	socket := filepath.Join(c.dir, "s")
	r, output := startRedis(t, c.dir, socket, nil,
		append(slices.Clone(c.args), "--port", "0", "--unixsocket", socket)...)
	require.NotNil(t, r, output)
	if password != "" {
		require.Equal(t, []string{"OK"}, r.do(t, "AUTH", password))
	}
	for _, line := range c.marked(">") {
		require.Equal(t, []string{"OK"}, r.do(t, append([]string{"CONFIG", "SET"}, wordsOf(t, line)...)...))
	}
	require.Equal(t, []string{"OK"}, r.do(t, "CONFIG", "REWRITE"))
	got, err := os.ReadFile(c.args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.args[0], text, 0o600))
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(got), c.dir, "DIR")), "\n")
	if i := slices.Index(lines, signature); i >= 0 && !slices.Contains(c.marked("|"), signature) {
		slices.Sort(lines[i+1:])
	}
	return lines
}

// compareRewritten compares a text with the lines of Redis, or with ours if there is a reason.
func (c *fileCase) compareRewritten(t *testing.T, text string) {
	t.Helper()
	got := c.comparable(strings.Split(strings.TrimSpace(strings.ReplaceAll(text, c.dir, "DIR")), "\n"))
	theirs := *c.recordedCase
	theirs.redis, theirs.ours = c.comparable(c.redis), c.comparable(c.ours)
	require.Empty(t, theirs.difference(got), "%s", text)
}

// comparable returns the lines that are compared: comments, and lines of directives that the case names, in
// one spelling. Those below the signature are sorted.
func (c *recordedCase) comparable(lines []string) (out []string) {
	known := map[int]bool{otherLine: true}
	for _, named := range slices.Concat(c.marked("|"), c.marked(">"), c.marked("+"), optionsOf(c)) {
		known[classify(strings.Trim(named, blanks))] = true
	}
	delete(known, comment)
	appended := -1
	for _, l := range lines {
		l = strings.Trim(l, blanks)
		index := classify(l)
		switch {
		case l == signature:
			appended = len(out)
		case strings.HasPrefix(l, "#"):
			out = append(out, l)
		case l != "" && known[index]:
			out = append(out, respelled(index, l))
		}
	}
	if appended >= 0 && !slices.Contains(c.marked("|"), signature) {
		slices.Sort(out[appended:])
	}
	return out
}

// optionsOf returns the options of a case's command line as lines of a file.
func optionsOf(c *recordedCase) []string {
	options, _ := optionLines(strings.Fields(c.marked("$")[0]))
	return strings.Split(options, "\n")
}

// respelled returns a line as the server would write it.
func respelled(index int, l string) string {
	if index < 0 {
		return l
	}
	args, err := splitLine(l)
	if err != nil {
		return l
	}
	v, err := table[index].parse(args[1:], value{})
	if err != nil {
		return l
	}
	if table[index].Kind == KindOutputBuffer {
		return strings.Join(append([]string{table[index].Name}, args[1:]...), " ")
	}
	if table[index].Kind == KindDir {
		return table[index].Name + " " + v.text
	}
	return strings.Join(table[index].lines(v, true), " ")
}

// TestCompareRewrittenDetectsDifferences: each of these texts differs from the lines of Redis.
func TestCompareRewrittenDetectsDifferences(t *testing.T) {
	c := recordedCase{
		lines: []string{"$ FILE --hz 20", "| # a", "| timeout 1", "> save 1 2"},
		redis: []string{"# a", "timeout 1", "", signature, "dir \"x\"", "hz 20", "save 1 2"},
	}
	same := func(lines ...string) bool {
		return slices.Equal(c.comparable(c.redis), c.comparable(lines))
	}
	require.True(t, same("# a", "", " timeout  1", signature, "save 1 2", "hz 20"))
	require.False(t, same("# b", "timeout 1", signature, "hz 20", "save 1 2"), "a comment")
	require.False(t, same("timeout 1", "# a", signature, "hz 20", "save 1 2"), "the order")
	require.False(t, same("# a", "timeout 2", signature, "hz 20", "save 1 2"), "a value")
	require.False(t, same("# a", "timeout 1", signature, "save 1 2"), "a line that is missing")
	require.False(t, same("# a", "timeout 1", "timeout 1", signature, "hz 20", "save 1 2"), "a line too many")
}
