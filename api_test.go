package zlimit_test

import (
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// apiPackages are the packages that other modules may rely on; see docs/adr/0030-what-is-api.md. Their
// exported declarations are listed in testdata/api.
var apiPackages = []string{
	root, "server", "server/pipe", "zlimittest", "zlimittest/miniredis", "limiter", "limiter/httplimit",
	"limiter/httplimit/inprocess", "calendar", "config", "clock",
}

// A package comment says which of the two its package is.
const (
	apiSentence      = "This package is part of zlimit's API: docs/adr/0030 says what that promises."
	internalSentence = "This package is internal to zlimit: it may change in any release."
)

// TestPackageComments checks that every package says whether it is API.
func TestPackageComments(t *testing.T) {
	for pkg := range mayImport {
		p, err := build.ImportDir(pkg, 0)
		require.NoError(t, err)
		if p.Name == "main" {
			continue
		}
		want, not := internalSentence, apiSentence
		if slices.Contains(apiPackages, pkg) {
			want, not = not, want
		}
		comment := strings.Join(strings.Fields(packageComment(t, p)), " ")
		require.Contains(t, comment, want, pkg)
		require.NotContains(t, comment, not, pkg)
	}
}

func packageComment(t *testing.T, p *build.Package) (comment string) {
	t.Helper()
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(token.NewFileSet(), path.Join(p.Dir, name), nil,
			parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		comment += f.Doc.Text()
	}
	return comment
}

// TestExamples checks that every API package has an Example whose output is checked.
func TestExamples(t *testing.T) {
	for _, pkg := range apiPackages {
		p, err := build.ImportDir(pkg, 0)
		require.NoError(t, err)
		var files []*ast.File
		for _, name := range p.XTestGoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), path.Join(p.Dir, name), nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, f)
		}
		require.True(t, slices.ContainsFunc(doc.Examples(files...), func(e *doc.Example) bool {
			return e.Output != ""
		}), "%s has no example with an output", pkg)
	}
}

// TestAPIPackagesAreInTheRecord checks that docs/adr/0030 and testdata/api name the API packages, and no
// others.
func TestAPIPackagesAreInTheRecord(t *testing.T) {
	text, err := os.ReadFile("docs/adr/0030-what-is-api.md")
	require.NoError(t, err)
	var named []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || strings.Trim(cells[1], " -") == "" || strings.TrimSpace(cells[1]) == "Package" {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			if name = strings.TrimSpace(name); name == "zlimit (the root)" {
				name = root
			}
			named = append(named, name)
		}
	}
	require.ElementsMatch(t, apiPackages, named)

	var want, files []string
	for _, dir := range apiPackages {
		want = append(want, listingOf(dir))
	}
	files, err = filepath.Glob("testdata/api/*")
	require.NoError(t, err)
	require.ElementsMatch(t, want, files)
}

// listingOf returns the name of a package's listing.
func listingOf(dir string) string {
	if dir == root {
		return "testdata/api/zlimit.txt"
	}
	return "testdata/api/" + strings.ReplaceAll(dir, "/", "-") + ".txt"
}

// TestAPI compares the exported declarations of the API packages with their listings.
func TestAPI(t *testing.T) {
	for _, dir := range apiPackages {
		file := listingOf(dir)
		listing := exported(t, dir)
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(listing), 0o644))
			continue
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), listing,
			"what %s exports has changed: run go test . -run API -rewrite", dir)
	}
}

// exported returns the exported declarations of a package.
func exported(t *testing.T, dir string) string {
	t.Helper()
	pkg, err := build.ImportDir(dir, 0)
	require.NoError(t, err)
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range pkg.GoFiles {
		f, err := parser.ParseFile(files, path.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(files, parsed, module+dir)
	require.NoError(t, err)
	l := lister{files: files}
	l.values(p.Consts, p.Vars)
	l.funcs(p.Funcs)
	for _, typ := range p.Types {
		l.node(typ.Decl)
		l.values(typ.Consts, typ.Vars)
		l.funcs(typ.Funcs)
		l.funcs(typ.Methods)
	}
	return l.text.String()
}

type lister struct {
	files *token.FileSet
	text  strings.Builder
}

func (l *lister) values(groups ...[]*doc.Value) {
	for _, group := range groups {
		var names []string
		for _, v := range group {
			for _, name := range v.Names {
				if ast.IsExported(name) {
					names = append(names, v.Decl.Tok.String()+" "+name+"\n")
				}
			}
		}
		slices.Sort(names)
		l.text.WriteString(strings.Join(names, ""))
	}
}

func (l *lister) funcs(funcs []*doc.Func) {
	for _, f := range funcs {
		if f.Level == 0 { // methods of embedded types are listed there
			l.node(&ast.FuncDecl{Recv: f.Decl.Recv, Name: f.Decl.Name, Type: f.Decl.Type})
		}
	}
}

// node prints a declaration without comments. Package doc has already removed unexported parts.
func (l *lister) node(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	var b strings.Builder
	_ = (&printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}).Fprint(&b, token.NewFileSet(), n)
	const unexported = "\n\n}// contains filtered or unexported fields\n"
	shorten := strings.NewReplacer("{"+unexported, "{ ... }", unexported, "\n    ...\n}")
	l.text.WriteString(shorten.Replace(b.String()) + "\n")
}
