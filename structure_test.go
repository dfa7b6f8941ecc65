package zlimit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// bounds keep the centre from growing: how much of something a package has, and how much it is to have one
// day. A change that needs more makes room first, or says here why it does not; one that needs less lowers
// the bound. Fields are counted through embedded structs and through those that have no methods and are
// used once: a part with methods of its own is one.
var bounds = []struct {
	dir, what string
	bound     int
	aim       int
}{
	{"engine", "fields of Session", 18, 20},
	{"engine", "fields of Engine", 20, 20},
	{"commands", "fields of Ctx", 20, 20},
	{"server", "fields of Server", 20, 20},
	{"server", "fields of conn", 15, 20},
	{"server", "fields of output", 11, 20},
	{"doors/rls", "fields of conn", 17, 20},
	{"upstream", "fields of unit", 18, 20},
	{"persist/aof", "fields of Log", 18, 20},
	{"engine/durable", "fields of Storage", 20, 20},
	{"engine/durable", "fields of Options", 20, 20},
	{"engine/replication", "fields of Link", 12, 20},
	{"engine", "methods of Session", 55, 60},
	{"engine", "tests of a command's name", 0, 0},
	{"commands", "tests of a command's name", 0, 0},
	{"commands/introspection", "tests of a command's name", 0, 0},
	{"commands/rl", "tests of a command's name", 0, 0},
	{"server", "tests of a command's name", 0, 0},
	{"scripting", "tests of a command's name", 0, 0},
	{"engine", "init functions", 0, 0},
	{"commands", "init functions", 0, 0},
	{"commands/rl", "init functions", 0, 0},
	{"scripting", "init functions", 0, 0},
}

// TestBounds fails when something has grown, and when it has shrunk and its bound has not.
func TestBounds(t *testing.T) {
	race.OneGoroutine(t)
	for _, b := range bounds {
		s := readStructure(t, b.dir)
		n := s.count(b.what)
		if n > b.aim {
			t.Logf("%s has %d %s, and is to have %d", b.dir, n, b.what, b.aim)
		}
		require.LessOrEqual(t, n, b.bound, "%s: more %s", b.dir, b.what)
		require.GreaterOrEqual(t, n, b.bound, "%s: fewer %s: lower the bound", b.dir, b.what)
	}
}

// largeStructs is how many structs have more than largeFields fields, which are counted as the bounds are.
const (
	largeFields  = 12
	largeStructs = 22
)

// rows are the structs that are rows of data: a field more is one more thing that can be said.
var rows = map[string]string{
	"commands.Command":         "of the command table",
	"commands.Settings":        "directives",
	"commands/rl.LimitCall":    "what a call asks for",
	"commands/rl.algorithm":    "of the table of algorithms",
	"config.Directive":         "of the table of directives",
	"engine.Options":           "options",
	"engine/durable.Options":   "options",
	"engine/durable.Status":    "figures",
	"engine/info.Facts":        "figures",
	"engine/room.Options":      "options",
	"limiter.Decision":         "a result",
	"limiter.Explanation":      "a result",
	"persist/aof.Status":       "figures",
	"policy.Policy":            "of a file",
	"policy.descriptorFields":  "of a file",
	"scenario.Step":            "of a file",
	"scripting/lua.Proto":      "a compiled function",
	"server/tlsconfig.Options": "options",
}

// TestLargeStructs bounds how many structs are larger than a reader can take in. Fewer lower the bound.
func TestLargeStructs(t *testing.T) {
	race.OneGoroutine(t)
	var large []string
	found := 0
	for dir := range mayImport {
		if dir == "bench" || dir == "oracle" {
			continue
		}
		s := readStructure(t, dir)
		for _, name := range s.large() {
			if _, row := rows[dir+"."+name]; row {
				found++
			} else {
				large = append(large, dir+"."+name)
			}
		}
	}
	slices.Sort(large)
	require.Len(t, rows, found, "a row is not large any more")
	require.Len(t, large, largeStructs, "split a struct, or lower the bound: %s", strings.Join(large, " "))
}

// TestBoundsCount counts what is planted.
func TestBoundsCount(t *testing.T) {
	s := structure{structs: map[string]*ast.StructType{}, methods: map[string]int{}, uses: map[string]int{}}
	s.addSource(t, `package p
type T struct { part; other behaves; twice, again pair; a, b int; c struct { d, e int } }
type U struct { *part2; third pair }
type part struct { x, y int }
type part2 struct { z int; t *T }
type pair struct { l, r int }
type behaves struct { i, j, k int }
func (behaves) f() {}
func (t *T) g() {}
func init() {}
func h(c *Command) bool { return c.Name == "get" || "x y" != c.FullName() || table[c.FullName()] }
`)
	require.Equal(t, 9, s.count("fields of T"), "x, y, other, twice, again, a, b, d, e")
	require.Equal(t, 3, s.count("fields of U"), "z, t, third")
	require.Equal(t, 1, s.count("methods of T"))
	require.Equal(t, 3, s.count("tests of a command's name"))
	require.Equal(t, 1, s.count("init functions"))
	require.Empty(t, s.large())
	s.addSource(t, `package p
type Large struct { a, b, c, d, e, f, g int; more; h, i string; j, k, l []T }
type more struct { m, n int }
`)
	require.Equal(t, 14, s.count("fields of Large"))
	require.Equal(t, []string{"Large"}, s.large())
}

// A structure is what TestBounds counts of a package.
type structure struct {
	structs map[string]*ast.StructType
	methods map[string]int
	uses    map[string]int // of a type's name, as one of a field
	names   int
	inits   int
}

func readStructure(t *testing.T, dir string) structure {
	s := structure{structs: map[string]*ast.StructType{}, methods: map[string]int{}, uses: map[string]int{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		s.addSource(t, string(source))
	}
	return s
}

func (s *structure) addSource(t *testing.T, source string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if st, ok := n.Type.(*ast.StructType); ok {
				s.structs[n.Name.Name] = st
			}
		case *ast.Field:
			s.uses[typeName(n.Type)] += max(1, len(n.Names))
		case *ast.FuncDecl:
			if n.Recv != nil {
				s.methods[typeName(n.Recv.List[0].Type)]++
				s.uses[typeName(n.Recv.List[0].Type)]-- // which is a field, too
			} else if n.Name.Name == "init" {
				s.inits++
			}
		case *ast.BinaryExpr:
			named := isName(n.X) && isText(n.Y) || isText(n.X) && isName(n.Y)
			if named && (n.Op == token.EQL || n.Op == token.NEQ) {
				s.names++
			}
		case *ast.IndexExpr:
			if isName(n.Index) {
				s.names++
			}
		}
		return true
	})
}

func typeName(e ast.Expr) string {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}

// isName reports whether an expression is a command's name: cmd.Name or cmd.FullName().
func isName(e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == "FullName"
	}
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Name"
}

func (s *structure) count(what string) int {
	switch kind, name, _ := strings.Cut(what, " of "); kind {
	case "fields":
		return s.fields(s.structs[name])
	case "methods":
		return s.methods[name]
	case "tests":
		return s.names
	}
	return s.inits
}

// large returns the names of the structs of more than largeFields fields.
func (s *structure) large() (names []string) {
	for name, st := range s.structs {
		if s.fields(st) > largeFields {
			names = append(names, name)
		}
	}
	return names
}

func (s *structure) fields(st *ast.StructType) (n int) {
	for _, f := range st.Fields.List {
		inner, _ := f.Type.(*ast.StructType)
		name := typeName(f.Type)
		embedded := len(f.Names) == 0
		if inner == nil && (embedded || s.uses[name] == 1 && s.methods[name] == 0) {
			inner = s.structs[name]
		}
		if inner != nil {
			n += s.fields(inner)
		} else {
			n += max(1, len(f.Names))
		}
	}
	return n
}
