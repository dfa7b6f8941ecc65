package zlimit_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/race"
)

// A tree is what pages and comments may refer to.
type tree struct {
	paths    map[string]bool     // files, directories, and records without their titles
	bases    map[string][]string // paths by their last component
	tests    map[string][]string // names of tests, benchmarks and fuzz targets by directory
	words    map[string]bool     // words in all files except pages
	declared map[string]bool     // of Go: Type, Type.Method and Type.Field
	pages    map[string]string
	code     map[string]string // Go files
}

var (
	testDeclared  = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(`)
	typeDeclared  = regexp.MustCompile(`(?ms)^type (\w+)(?:[^\n]*\{\n(.*?)^\})?`)
	fieldDeclared = regexp.MustCompile(`(?m)^\t((?:\w+, )*\w+)`)
	methodOf      = regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)(?:\[.*?\])?\) (\w+)`)

	testName      = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+`)
	fileName      = regexp.MustCompile(`[\w.*/-]*[\w*]\.(?:go|md|lua|cases)\b`)
	adrName       = regexp.MustCompile(`docs/adr/\d{4}`)
	comment       = regexp.MustCompile(`(?m)^.*// .*$`)
	codeBlock     = regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$")
	codeSpan      = regexp.MustCompile("`([^`]+)`")
	hyphenated    = regexp.MustCompile(`^-{0,2}([a-z]+(?:-[a-z]+)+)$`)
	mixedCase     = regexp.MustCompile(`^[a-z]\w*[a-z][A-Z]\w*$`)
	qualified     = regexp.MustCompile(`^\(?\*?(\w+)\)?\.(\w+)$`)
	makeTarget    = regexp.MustCompile(`^make ([a-z-]+)`)
	directiveName = regexp.MustCompile("`([a-z]+(?:-[a-z]+)+)[ `]")
)

// elsewhere are names that pages and comments take from other programs.
var elsewhere = []string{"TestConfiguration", "out.md", "table.md", "/etc/haproxy/zlimit.lua"}

// notOurs are directories with what git or a build has written.
var notOurs = []string{".git", ".bin", ".venv", "node_modules", "out", "target"}

// readTree reads the files below the working directory, except for this one.
func readTree(t *testing.T) *tree {
	t.Helper()
	if race.Enabled {
		t.Skip("one goroutine matches patterns, which takes minutes under the race detector")
	}
	tr := &tree{
		paths: map[string]bool{}, bases: map[string][]string{}, tests: map[string][]string{},
		words: map[string]bool{}, declared: map[string]bool{},
		pages: map[string]string{}, code: map[string]string{},
	}
	require.NoError(t, filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && slices.Contains(notOurs, e.Name()) {
			return filepath.SkipDir
		}
		tr.addPath(name)
		if !e.Type().IsRegular() || name == "docs_test.go" {
			return nil
		}
		text, err := os.ReadFile(name)
		tr.add(name, string(text))
		return err
	}))
	return tr
}

func (tr *tree) addPath(name string) {
	tr.paths[name] = true
	if record := adrName.FindString(name); record != "" {
		tr.paths[record] = true
	}
	tr.bases[path.Base(name)] = append(tr.bases[path.Base(name)], name)
}

// add adds what a file declares.
func (tr *tree) add(name, text string) {
	switch path.Ext(name) {
	case ".md":
		tr.pages[name] = text
		return
	case ".go":
		tr.code[name] = text
		for _, m := range typeDeclared.FindAllStringSubmatch(text, -1) {
			tr.declared[m[1]] = true
			for _, fields := range fieldDeclared.FindAllStringSubmatch(m[2], -1) {
				for field := range strings.SplitSeq(fields[1], ", ") {
					tr.declared[m[1]+"."+field] = true
				}
			}
		}
		for _, m := range methodOf.FindAllStringSubmatch(text, -1) {
			tr.declared[m[1]+"."+m[2]] = true
		}
	}
	if dir := path.Dir(name); strings.HasSuffix(name, "_test.go") {
		for _, m := range testDeclared.FindAllStringSubmatch(text, -1) {
			tr.tests[dir] = append(tr.tests[dir], m[1])
		}
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		tr.words[strings.TrimLeft(word, "-")] = true
	}
}

// has reports whether a file or directory of this name exists, from the root or anywhere below dir. NAME and
// * stand for anything within a component.
func (tr *tree) has(dir, name string) bool {
	pattern := strings.ReplaceAll(strings.TrimSuffix(name, "/"), "NAME", "*")
	if tr.paths[pattern] || tr.paths[path.Join(dir, pattern)] {
		return true
	}
	among := tr.bases[path.Base(pattern)]
	if strings.Contains(pattern, "*") {
		among = slices.Collect(maps.Keys(tr.paths))
	}
	depth := strings.Count(pattern, "/") + 1
	return slices.ContainsFunc(among, func(p string) bool {
		if matched, err := path.Match(pattern, p); matched && err == nil {
			return true
		}
		parts := strings.Split(p, "/")
		end := strings.Join(parts[max(0, len(parts)-depth):], "/")
		matched, err := path.Match(pattern, end)
		return matched && err == nil && (dir == "." || strings.HasPrefix(p, dir+"/"))
	})
}

// missing lists what a page refers to and the tree does not have.
func (tr *tree) missing(page string) (out []string) {
	text := tr.pages[page]
	add := func(what, name string) { out = append(out, fmt.Sprintf("%s: no %s %s", page, what, name)) }
	for _, name := range fileName.FindAllString(text, -1) {
		if !tr.has(".", name) && !tr.has(path.Dir(page), name) {
			add("file", name)
		}
	}
	for _, name := range adrName.FindAllString(text, -1) {
		if !tr.paths[name] {
			add("record", name)
		}
	}
	for _, name := range testName.FindAllString(text, -1) {
		if !tr.hasTest([]string{"./..."}, "^"+name) {
			add("test", name)
		}
	}
	snippets := codeBlock.FindAllString(text, -1)
	for _, m := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		snippet := strings.Join(strings.Fields(m[1]), " ")
		snippets = append(snippets, snippet)
		if what, name := tr.unknown(path.Dir(page), snippet); name != "" {
			add(what, name)
		}
	}
	for _, snippet := range snippets {
		for line := range strings.Lines(snippet) {
			if _, arguments, ok := strings.Cut(line, "go test "); ok {
				for _, pattern := range tr.unmatched(strings.Fields(arguments)) {
					add("test that matches", pattern)
				}
			}
		}
	}
	return out
}

// unknown returns the name in a quoted snippet of a page that does not exist, and what it would be.
func (tr *tree) unknown(dir, snippet string) (what, name string) {
	word, more, _ := strings.Cut(snippet, " ")
	if m := makeTarget.FindStringSubmatch(snippet); m != nil && !tr.words[m[1]] {
		return "target", m[1]
	}
	if m := hyphenated.FindStringSubmatch(word); m != nil && !tr.words[m[1]] {
		return "directive or other name", m[1]
	}
	if more != "" {
		return "", ""
	}
	top, _, deep := strings.Cut(word, "/")
	if deep && top != "." && tr.paths[top] && !fileName.MatchString(word) && !tr.has(dir, word) {
		return "path", word
	}
	if mixedCase.MatchString(word) && !tr.words[word] {
		return "identifier", word
	}
	m := qualified.FindStringSubmatch(word)
	if m != nil && m[2] != "go" && tr.declared[m[1]] && !tr.declared[m[1]+"."+m[2]] && !tr.has(".", m[1]) {
		return "method or field", word
	}
	return "", ""
}

// hasTest reports whether the name of a test in these packages matches a pattern.
func (tr *tree) hasTest(packages []string, pattern string) bool {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	for dir, tests := range tr.tests {
		if slices.ContainsFunc(packages, func(pkg string) bool {
			root, all := strings.CutSuffix(path.Clean(pkg), "...")
			return dir == path.Clean(root) || all && strings.HasPrefix(dir, root)
		}) && slices.ContainsFunc(tests, re.MatchString) {
			return true
		}
	}
	return false
}

// unmatched returns the alternatives of -run and -bench that match no test in the packages of a go test.
func (tr *tree) unmatched(arguments []string) (out []string) {
	var packages, patterns []string
	module := "."
	for i, arg := range arguments {
		switch {
		case i > 0 && arguments[i-1] == "-C":
			module = arg
		case i > 0 && (arguments[i-1] == "-run" || arguments[i-1] == "-bench"):
			for alternative := range strings.SplitSeq(strings.Trim(arg, `'"`), "|") {
				function, _, _ := strings.Cut(alternative, "/")
				patterns = append(patterns, function)
			}
		case strings.HasPrefix(arg, "."):
			packages = append(packages, path.Join(module, arg))
		}
	}
	for _, pattern := range patterns {
		if pattern != "^$" && !tr.hasTest(packages, pattern) {
			out = append(out, pattern)
		}
	}
	return out
}

// missingInComments lists the files and records that a Go file's comments name and the tree does not have.
func (tr *tree) missingInComments(file string) (out []string) {
	for _, line := range comment.FindAllString(tr.code[file], -1) {
		for _, name := range fileName.FindAllString(line, -1) {
			if !tr.has(path.Dir(file), name) {
				out = append(out, file+": no file "+name)
			}
		}
		for _, name := range adrName.FindAllString(line, -1) {
			if !tr.paths[name] {
				out = append(out, file+": no record "+name)
			}
		}
	}
	return out
}

// TestDocs checks that the files, records, tests, directives and identifiers that pages name exist, and the
// files that comments of Go files name. CHANGELOG.md may name what is gone.
func TestDocs(t *testing.T) {
	tr := readTree(t)
	require.Greater(t, len(tr.pages), 70)
	var faults []string
	for page := range tr.pages {
		if page != "CHANGELOG.md" {
			faults = append(faults, tr.missing(page)...)
		}
	}
	for file := range tr.code {
		faults = append(faults, tr.missingInComments(file)...)
	}
	slices.Sort(faults)
	faults = slices.DeleteFunc(slices.Compact(faults), func(fault string) bool {
		return slices.Contains(elsewhere, fault[strings.LastIndex(fault, " ")+1:])
	})
	require.Empty(t, faults, strings.Join(faults, "\n"))
}

// TestSecurityPage checks that SECURITY.md names tests, and that each word with a hyphen that it quotes is a
// directive.
func TestSecurityPage(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	require.Greater(t, len(testName.FindAllString(string(text), -1)), 20)
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

// TestMissingDetectsFaults checks that each kind of name that does not exist is found.
func TestMissingDetectsFaults(t *testing.T) {
	tr := readTree(t)
	for text, want := range map[string]string{
		"`engine/none.go`":                        "page.md: no file engine/none.go",
		"see none_here.md":                        "page.md: no file none_here.md",
		"`commands/none_*.go`":                    "page.md: no file commands/none_*.go",
		"`engine/none`":                           "page.md: no path engine/none",
		"docs/adr/9999":                           "page.md: no record docs/adr/9999",
		"(`TestNone`)":                            "page.md: no test TestNone",
		"`go test\n./store -run 'Line|Zebra'`":    "page.md: no test that matches Zebra",
		"\n    go test -C compat/run . -run Line": "page.md: no test that matches Line",
		"`append-nothing yes`":                    "page.md: no directive or other name append-nothing",
		"`--append-nothing`":                      "page.md: no directive or other name append-nothing",
		"`noneOfThese`":                           "page.md: no identifier noneOfThese",
		"`Engine.None`":                           "page.md: no method or field Engine.None",
		"`make everything-none`":                  "page.md: no target everything-none",
		"`make test`, `appendonly yes`, `Engine.Tick`, `go test ./store -run '^$' -bench Line`": "",
	} {
		tr.pages["page.md"] = text
		require.Equal(t, want, strings.Join(tr.missing("page.md"), "\n"), text)
	}
	tr.code["engine/page.go"] = "// X is in none.go, conn.go and info/notes.go: docs/adr/9999.\n"
	require.Equal(t, []string{
		"engine/page.go: no file none.go", "engine/page.go: no file conn.go",
		"engine/page.go: no record docs/adr/9999",
	}, tr.missingInComments("engine/page.go"))
}
