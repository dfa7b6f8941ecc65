package zlimit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestOtherSystems type-checks what is shipped as it is for systems on which no test runs. That takes a
// tenth of compiling it.
func TestOtherSystems(t *testing.T) {
	race.OneGoroutine(t)
	t.Parallel()
	files := newSources()
	for _, system := range []string{"darwin", "freebsd", "windows"} {
		checked, err := files.checkFor(system, ".", ".", "./cmd/...", "./limiter/...", "./zlimittest/...")
		require.NoError(t, err, system)
		require.Greater(t, checked, 60, "packages of this module on %s", system)
	}
}

// TestOtherSystemsDetectsFaults: a file for one system is checked there, and nowhere else.
func TestOtherSystemsDetectsFaults(t *testing.T) {
	race.OneGoroutine(t)
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("go.mod", "module example.com/systems\n\ngo 1.25\n")
	write("a.go", "package systems\n\nimport \"syscall\"\n\nvar _ = syscall.Getpid\n")
	write("a_windows.go", "package systems\n\nimport \"syscall\"\n\nvar _ = syscall.Kill\n")
	checked, err := newSources().checkFor("darwin", dir, ".")
	require.NoError(t, err)
	require.Equal(t, 1, checked)
	_, err = newSources().checkFor("windows", dir, ".")
	require.ErrorContains(t, err, "undefined: syscall.Kill")
	write("a_windows.go", "package systems\n\nfunc f() int {}\n")
	_, err = newSources().checkFor("windows", dir, ".")
	require.ErrorContains(t, err, "missing return")
}

// A listed package is one of go list.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

const listedFields = "Dir,ImportPath,GoFiles,ImportMap,Module,Error"

// A sources holds parsed files. Most of them belong to every system.
type sources struct {
	files  *token.FileSet
	parsed map[string]*ast.File
}

func newSources() *sources { return &sources{token.NewFileSet(), map[string]*ast.File{}} }

// parse returns a file, of those that are imported the declarations.
func (s *sources) parse(name string, ours bool) (*ast.File, error) {
	if f := s.parsed[name]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(s.files, name, nil, parser.SkipObjectResolution)
	if err == nil && !ours {
		prune(f)
	}
	s.parsed[name] = f
	return f, err
}

// prune removes the bodies of functions and the elements of tables, Unicode's above all, which take longer to
// check than everything else.
func prune(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body = nil
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					for _, value := range spec.Values {
						pruneTable(value)
					}
				}
			}
		}
	}
}

func pruneTable(value ast.Expr) {
	if pointer, ok := value.(*ast.UnaryExpr); ok {
		value = pointer.X
	}
	table, ok := value.(*ast.CompositeLit)
	if !ok {
		return
	}
	if array, ok := table.Type.(*ast.ArrayType); ok && array.Len != nil {
		return // [...]: its elements are its type
	}
	table.Elts = nil
}

// checkFor type-checks packages of a module's directory, and all that they import, for a system. It returns
// how many are of that module: only these are checked beyond their declarations.
func (s *sources) checkFor(system, dir string, patterns ...string) (checked int, err error) {
	c := newChecker(s)
	err = c.checkAll(system, dir, patterns...)
	return c.ours, err
}

func (c *checker) checkAll(system, dir string, patterns ...string) (err error) {
	list := exec.Command("go", append([]string{"list", "-e", "-deps", "-pgo=off", "-json=" + listedFields},
		patterns...)...)
	list.Dir, list.Stderr = dir, os.Stderr
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	decoder := json.NewDecoder(out)
	for {
		var p listed
		if err = decoder.Decode(&p); err != nil {
			break
		}
		if err = c.check(&p); err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	_, _ = io.Copy(io.Discard, out)
	return errors.Join(err, list.Wait())
}

// A checker checks packages, each after those that it imports.
type checker struct {
	*sources
	packages map[string]*types.Package
	ours     int
	inside   string     // the only package that is checked beyond its declarations; "": all of the module
	info     types.Info // about inside
}

func newChecker(s *sources) *checker {
	return &checker{sources: s, packages: map[string]*types.Package{"unsafe": types.Unsafe}}
}

func (c *checker) check(p *listed) error {
	switch {
	case p.Error != nil:
		return fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
	case p.ImportPath == "unsafe":
		return nil
	}
	ours := p.Module != nil && p.Module.Main
	if ours {
		c.ours++
	}
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := c.parse(filepath.Join(p.Dir, name), ours)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	config := types.Config{
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped := p.ImportMap[path]; mapped != "" {
				path = mapped
			}
			if found := c.packages[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("%s is not listed", path)
		}),
		IgnoreFuncBodies: !ours || c.inside != "" && c.inside != p.ImportPath,
		Sizes:            types.SizesFor("gc", "amd64"),
	}
	var info *types.Info
	if c.inside == p.ImportPath {
		info = &c.info
	}
	if !ours {
		config.Error = func(error) {} // they are as they were published
	}
	checked, err := config.Check(p.ImportPath, c.files, parsed, info)
	if c.packages[p.ImportPath] = checked; ours {
		return err
	}
	return nil
}

// importer makes a types.Importer of a function.
type importer func(path string) (*types.Package, error)

// Import implements types.Importer.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
