package zlimit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A requirement is a line of a go.mod file.
type requirement struct {
	module   string
	indirect bool
}

// requirements returns what a go.mod file requires of other repositories. Tools
// count as direct.
func requirements(text string) []requirement {
	var out []requirement
	var tools []string
	block := ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "//":
			continue
		case fields[0] == ")":
			block = ""
			continue
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
			continue
		case block == "" && (fields[0] == "require" || fields[0] == "tool"):
			out, tools = readRequirement(fields[0], fields[1:], out, tools)
			continue
		}
		out, tools = readRequirement(block, fields, out, tools)
	}
	for i := range out {
		if slices.ContainsFunc(tools, func(tool string) bool {
			return strings.HasPrefix(tool+"/", out[i].module+"/")
		}) {
			out[i].indirect = false
		}
	}
	return out
}

func readRequirement(
	kind string, fields []string, out []requirement, tools []string,
) ([]requirement, []string) {
	switch {
	case kind == "tool":
		tools = append(tools, fields[0])
	case kind == "require" && !strings.HasPrefix(fields[0]+"/", module):
		out = append(out, requirement{fields[0], strings.Contains(strings.Join(fields, " "), "// indirect")})
	}
	return out, tools
}

// documented returns the rows of the tables under each heading of docs/dependencies.md.
func documented(text string) map[string][][]string {
	out := map[string][][]string{}
	heading := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = title
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") ||
			strings.HasPrefix(line, "| Module") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out[heading] = append(out[heading], cells)
	}
	return out
}

// dependencyFaults compares the documented modules with the required ones.
func dependencyFaults(rows [][]string, required []requirement) []string {
	var out, names []string
	for _, row := range rows {
		names = append(names, row[0])
		if slices.Contains(row, "") {
			out = append(out, row[0]+" has an empty cell")
		}
		i := slices.IndexFunc(required, func(r requirement) bool { return r.module == row[0] })
		if i < 0 {
			out = append(out, row[0]+" is not required")
		} else if required[i].indirect != strings.HasPrefix(row[len(row)-1], "indirect: ") {
			out = append(out, row[0]+" is indirect in one place and not in the other")
		}
	}
	for _, r := range required {
		if !slices.Contains(names, r.module) {
			out = append(out, r.module+" is not documented")
		}
	}
	if !slices.IsSorted(names) {
		out = append(out, "the modules are not sorted")
	}
	return out
}

// TestDependencies: docs/dependencies.md lists the modules of the go.mod files.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("docs/dependencies.md")
	require.NoError(t, err)
	tables := documented(string(text))
	ours, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	require.Empty(t, dependencyFaults(tables["The server and the library"], requirements(string(ours))))

	// Of the others, where each module is required, too.
	var others []requirement
	where := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "go.mod" || path == "go.mod" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, r := range requirements(string(text)) {
			if r.indirect {
				continue
			}
			if where[r.module] == nil {
				others = append(others, r)
			}
			where[r.module] = append(where[r.module], filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	}))
	rows := tables["Tools and comparisons"]
	require.Empty(t, dependencyFaults(rows, others))
	for _, row := range rows {
		require.Equal(t, strings.Join(where[row[0]], ", "), row[2], row[0])
	}
}

// TestDependencyFaults plants each fault that TestDependencies is to find.
func TestDependencyFaults(t *testing.T) {
	required := requirements("module m\n\nrequire a.b/direct v1\n\ntool x.y/tool/cmd\n\nrequire (\n" +
		"\tc.d/indirect v1 // indirect\n\tx.y/tool v1 // indirect\n)\n")
	require.Equal(t, []requirement{
		{"a.b/direct", false}, {"c.d/indirect", true}, {"x.y/tool", false},
	}, required)
	sound := [][]string{
		{"a.b/direct", "MIT", "yes", "reason"},
		{"c.d/indirect", "MIT", "yes", "indirect: reason"},
		{"x.y/tool", "MIT", "yes", "reason"},
	}
	require.Empty(t, dependencyFaults(sound, required))
	for _, row := range []struct {
		change func(rows [][]string) [][]string
		want   string
	}{
		{func(rows [][]string) [][]string { return rows[:2] }, "x.y/tool is not documented"},
		{
			func(rows [][]string) [][]string { return append(rows, []string{"z", "MIT", "yes", "r"}) },
			"z is not required",
		},
		{func(rows [][]string) [][]string { rows[0][1] = ""; return rows }, "a.b/direct has an empty cell"},
		{
			func(rows [][]string) [][]string { rows[1][3] = "r"; return rows },
			"c.d/indirect is indirect in one place and not in the other",
		},
		{
			func(rows [][]string) [][]string { rows[0], rows[1] = rows[1], rows[0]; return rows },
			"the modules are not sorted",
		},
	} {
		rows := make([][]string, len(sound))
		for i := range sound {
			rows[i] = slices.Clone(sound[i])
		}
		require.Equal(t, []string{row.want}, dependencyFaults(row.change(rows), required))
	}
}
