package main

import (
	"cmp"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write how fakes differ anew, in the files differences.txt")

// copyTree copies folders of the repository, as far as git has or would have them, to the same
// place below dir.
func copyTree(t *testing.T, dir string, folders ...string) {
	t.Helper()
	root := filepath.Join("..", "..")
	args := append([]string{"-C", root, "ls-files", "-co", "--exclude-standard", "--"}, folders...)
	list, err := exec.Command("git", args...).Output()
	require.NoError(t, err)
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
	}
}

// requireDifferences compares what a comparison has printed with the record.
func requireDifferences(t *testing.T, folder, got string) {
	t.Helper()
	path := filepath.Join("..", folder, "beside", "differences.txt")
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -C dist ./packages -run Beside -rewrite records it")
}

// requireTimes checks that a script has printed how long so many ways of starting take.
func requireTimes(t *testing.T, ways int, printed string) {
	t.Helper()
	require.Len(t, regexp.MustCompile(`(?m)\d+\.\d+ ms\b`).FindAllString(printed, -1), ways, printed)
}

// rounds is how often the scripts that measure start each server here: they are to work.
const rounds = "2"

// prepared returns the folder compat of this repository if compat/run has installed there what comparisons
// need, as make packages-test has it do, or "": each of them then installs it for itself.
func prepared(t *testing.T) (compat string) {
	t.Helper()
	if os.Getenv("ZLIMIT_PREPARED") == "" {
		return ""
	}
	compat, err := filepath.Abs(filepath.Join("..", "..", "compat"))
	require.NoError(t, err)
	return compat
}

// usePackages lets a virtual environment import what another has.
func usePackages(t *testing.T, python, other string) {
	t.Helper()
	pattern := filepath.Join("lib", "python3*", "site-packages")
	var dirs []string
	for _, environment := range []string{filepath.Dir(filepath.Dir(python)), other} {
		found, err := filepath.Glob(filepath.Join(environment, pattern))
		require.NoError(t, err)
		require.Len(t, found, 1, environment)
		dirs = append(dirs, found[0])
	}
	require.NoError(t, os.WriteFile(filepath.Join(dirs[0], "prepared.pth"), []byte(dirs[1]+"\n"), 0o644))
}

// TestBesideFakeredis runs the documents' flows, limiter libraries and calls of limiters on
// zlimit and on fakeredis.
func TestBesideFakeredis(t *testing.T) {
	f, out := installing(t)
	dir := t.TempDir()
	copyTree(t, dir, "dist/python/beside", "compat/python", "compat/libraries/python")
	python := virtualEnvironment(t, dir)
	requirements := []string{"-r", filepath.Join(dir, "dist", "python", "beside", "requirements.txt")}
	if compat := prepared(t); compat != "" {
		usePackages(t, python, filepath.Join(compat, "libraries", "python", ".venv"))
	} else {
		requirements = append(requirements, "-r",
			filepath.Join(dir, "compat", "libraries", "python", "requirements.txt"))
	}
	pipInstall(t, python, requirements...)
	pipInstall(t, python, "--no-index", "--find-links", filepath.Join(out, "python"),
		"zlimit=="+pythonVersion(f.version))
	requireDifferences(t, "python", runIn(t, dir, python, "dist/python/beside/flows.py"))
	requireTimes(t, 6, runIn(t, dir, python, "dist/python/beside/start_time.py", rounds))
}

// TestBesideIoredisMock does so in Node.
func TestBesideIoredisMock(t *testing.T) {
	f, _ := installing(t)
	dir := t.TempDir()
	copyTree(t, dir, "dist/node", "compat/node", "compat/libraries/node")
	beside := filepath.Join(dir, "dist", "node", "beside")
	npm := []string{"--prefer-offline", "--no-audit", "--no-fund", "--no-update-notifier"}
	libraries := filepath.Join("libraries", "node")
	if compat := prepared(t); compat != "" {
		require.NoError(t, os.Symlink(filepath.Join(compat, libraries, "node_modules"),
			filepath.Join(dir, "compat", libraries, "node_modules")))
	} else {
		runIn(t, filepath.Join(dir, "compat", libraries), "npm", append(npm, "ci")...)
	}
	runIn(t, beside, "npm", append(npm, "install")...)
	server, err := filepath.Abs(filepath.Join(f.bin, "zlimit-server-"+host.system+"-"+host.arch))
	require.NoError(t, err)
	requireDifferences(t, "node", runIn(t, beside, "env", "ZLIMIT_SERVER="+server, "node", "flows.js"))
	requireTimes(t, 5, runIn(t, beside, "env", "ZLIMIT_SERVER="+server, "node", "start-time.js", rounds))
}

// TestBesideJedisMock does so in Java, without the libraries, which would take a minute.
func TestBesideJedisMock(t *testing.T) {
	f, out := installing(t)
	dir := t.TempDir()
	mvn, err := newMaven(filepath.Join(dir, "maven"), filepath.Join(out, "java"))
	require.NoError(t, err)
	compat := prepared(t)
	flows := filepath.Join(compat, "java")
	if compat == "" {
		copyTree(t, dir, "compat/java")
		flows = filepath.Join(dir, "compat", "java")
		require.NoError(t, mvn.run(t.Context(), flows, nil, "package"))
	}
	beside := filepath.Join(dir, "beside")
	require.NoError(t, f.stage("java/beside", beside))
	env := []string{"XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}
	printed := filepath.Join(dir, "printed.txt")
	args := []string{
		printed, filepath.Join(flows, "jedis", "target", "jedis.jar"),
		filepath.Join(flows, "spring", "target", "spring.jar"),
	}
	require.NoError(t, mvn.run(t.Context(), beside, env, "compile", "exec:java",
		"-Dexec.mainClass=beside.Flows", "-Dexec.args="+strings.Join(args, " ")))
	got, err := os.ReadFile(printed)
	require.NoError(t, err)
	requireDifferences(t, "java", string(got))
	require.NoError(t, mvn.run(t.Context(), beside, env, "exec:java", "-Dexec.mainClass=beside.StartTime",
		"-Dexec.args="+rounds+" "+printed))
	got, err = os.ReadFile(printed)
	require.NoError(t, err)
	requireTimes(t, 4, string(got))
}

// fakes are those that the packages are compared with, in the order of the table in
// docs/testing.md.
var fakes = []struct{ name, folder string }{
	{"fakeredis", "python"}, {"ioredis-mock", "node"}, {"jedis-mock", "java"},
}

// A difference is a line of a comparison, as zlimit and a fake have it.
type difference struct{ zlimit, fake string }

// readDifferences reads the record of a comparison: what was compared, in order, how much of it
// differs, and the lines that do.
func readDifferences(
	t *testing.T, fake, folder string,
) (names []string, counts map[string]string, lines []difference) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", folder, "beside", "differences.txt"))
	require.NoError(t, err)
	header := regexp.MustCompile(`^== (.+): (\d+) of (\d+) lines differ$`)
	counts = map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := header.FindStringSubmatch(line); m != nil {
			names = append(names, m[1])
			counts[m[1]] = m[2] + " of " + m[3]
			if m[2] == "0" {
				counts[m[1]] = "same"
			}
		} else if zlimit, ok := strings.CutPrefix(line, "   zlimit "); ok {
			lines = append(lines, difference{zlimit: zlimit})
		} else if other, ok := strings.CutPrefix(line, "   "+fake+" "); ok {
			lines[len(lines)-1].fake = other
		}
	}
	return names, counts, lines
}

// TestBesideTable checks the table of flows and libraries in docs/testing.md, where those with the same
// results share a row, against the records of the comparisons.
func TestBesideTable(t *testing.T) {
	var rows []string
	cells := make([]map[string]string, len(fakes))
	for i, fake := range fakes {
		var names []string
		names, cells[i], _ = readDifferences(t, fake.name, fake.folder)
		for _, name := range names {
			if !slices.Contains(rows, name) && !strings.HasPrefix(name, "calls") {
				rows = append(rows, name)
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b string) int { // flows first
		return -cmp.Compare(strings.Index(a, "flow "), strings.Index(b, "flow "))
	})
	var table strings.Builder
	table.WriteString("| Lines that differ |")
	for _, fake := range fakes {
		table.WriteString(" " + fake.name + " |")
	}
	table.WriteString("\n|---" + strings.Repeat("|---", len(fakes)) + "|\n")
	var results []string
	of := map[string]string{} // the names of the rows by their results
	for _, row := range rows {
		result := ""
		for i := range fakes {
			result += " " + cells[i][row] + " |"
		}
		before := of[result]
		what, name, _ := strings.Cut(row, " ")
		switch last := before[strings.LastIndex(before, ";")+1:]; {
		case before == "":
			results = append(results, result)
			of[result] = row
		case strings.HasPrefix(strings.TrimSpace(last), what+" "):
			of[result] += ", " + name
		default:
			of[result] += "; " + row
		}
	}
	for _, result := range results {
		table.WriteString("| " + of[result] + " |" + result + "\n")
	}
	path := filepath.Join("..", "..", "docs", "testing.md")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^\| Lines that differ \|.*\n(\|.*\n)+`)
	if *rewrite {
		text = found.ReplaceAllLiteral(text, []byte(table.String()))
		require.NoError(t, os.WriteFile(path, text, 0o644))
	}
	require.Equal(t, table.String(), found.FindString(string(text)),
		"go test -C dist ./packages -run Beside -rewrite records it")
}

// TestBesideClaims looks for each call that docs/testing.md says a fake answers otherwise in the record
// of its comparison: what is in backquotes, in lines that differ.
func TestBesideClaims(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "testing.md"))
	require.NoError(t, err)
	quoted := regexp.MustCompile("`[^`]+`")
	for _, fake := range fakes {
		_, _, lines := readDifferences(t, fake.name, fake.folder)
		header := "| Call | redis-server, zlimit | " + fake.name + " |\n|---|---|---|\n"
		_, table, ok := strings.Cut(string(text), header)
		require.True(t, ok, fake.name)
		table, _, _ = strings.Cut(table, "\n\n")
		require.NotEmpty(t, table)
		for row := range strings.Lines(table) {
			cells := strings.Split(row, " | ")
			require.Len(t, cells, 3, row)
			for column, cell := range cells {
				for _, claim := range quoted.FindAllString(cell, -1) {
					claim = strings.Trim(claim, "`")
					require.True(t, slices.ContainsFunc(lines, func(d difference) bool {
						if column == 2 {
							return strings.Contains(d.fake, claim)
						}
						return strings.Contains(d.zlimit, claim)
					}), "%s: no line that differs has %s: %s", fake.name, claim, row)
				}
			}
		}
	}
}
