package grammar

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// load parses a family from text.
func load(t *testing.T, text string) (*Grammar[*rand.Rand], error) {
	t.Helper()
	g, err := Load(Options[*rand.Rand]{
		Definitions: text, Programs: []string{"program"},
		Funcs: map[string]Func[*rand.Rand]{
			"one": func(r *rand.Rand, args []string) string {
				return args[0] + string(rune('0'+r.IntN(3)))
			},
			"twice": func(_ *rand.Rand, args []string) string { return args[0] + args[0] },
		},
	})
	return g, err
}

// made returns the distinct commands of the first form, several commands joined by their separators.
func made(t *testing.T, text string) []string {
	t.Helper()
	g, err := load(t, text)
	require.NoError(t, err)
	var out []string
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		line := ""
		for _, c := range g.Make(r, g.Families["options"].Forms[0]) {
			if line != "" {
				line += map[bool]string{false: ";", true: "&"}[c.Glued]
			}
			line += strings.Join(c.Args, ",")
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestForms(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`1 get 1..3`, "get,1 get,2 get,3"},
		{`1 get -2..-1`, "get,-1 get,-2"},
		{`1 GET`, "GET Get get"},
		{`1 get "A B\x00" "GET"`, "get,A B\x00,GET"},
		{"1 eval `a\n b`", "eval,a\n b"},
		{"1 get a\n  b\n\n# c", "get,a,b"},
		{`1 get m{1..2}"x"(y|z)`, "get,m1xy get,m1xz get,m2xy get,m2xz"},
		{`1 get (a|b c|)`, "get get,a get,b,c"},
		{`1 get [a [100% b]]`, "get get,a,b"},
		{`1 get [0% a] (100% b|0% c)`, "get,b"},
		{`1 get (a)x1-2`, "get,a get,a,a"},
		{`1 get {1..1}x0-1,3`, "get get,1 get,1,1,1"},
		{`1 get {1..1}x0,2`, "get get,1,1"},
		{`1 get <a (b c)>`, "get,a,b,c get,b,c,a"},
		{`1 get {one k:k} {k} {twice k}`, "get,k0,k0,k0k0 get,k1,k1,k1k1 get,k2,k2,k2k2"},
		{`1 get (a|b):k {k} {twice x}`, "get,a,a,xx get,b,b,xx"},
		{`1 get {repeat 3 x}`, "get,xxx"},
		{`1 @exact @alone a ; b & c`, "a;b&c"},
		{"v: 100% x (y z) | 0% w\n1 get {v}", "get,x get,y,z"},
		{"v a b: {b}{a}\n1 get {one k:k} {v k x}", "get,k0,xk0 get,k1,xk1 get,k2,xk2"},
		{"1 get {v}\nv: x", "get,x"},
		{"1 get {limits}\nlimits: x", "get,x"},
	} {
		require.Equal(t, test.want, strings.Join(made(t, test.text), " "), "%s", test.text)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"get a":                       "options.commands:1: a line is",
		"1 get\n1 get {nosuch}":       "options.commands:2: {nosuch} is not defined",
		"1 get {deadline}":            "options.commands:1: {deadline} takes 1 argument",
		"1 get {repeat 3}":            "{repeat 3} is not defined",
		"1 get (a|b":                  `')' is missing`,
		"1 get [a":                    `']' is missing`,
		"1 get <a":                    `'>' is missing`,
		"1 get {a":                    `'}' is missing`,
		"1 get {}":                    "is not a value",
		"1 get {a b:1}":               "is not a value",
		"1 get )":                     `unexpected ')'`,
		"1 get |a":                    `unexpected '|'`,
		"1 get \"a":                   "invalid syntax",
		"1 get 3..1":                  "3..1 is not a range",
		"1 @nosuch get":               "unknown tag @nosuch",
		"1 !nosuch":                   "no program nosuch",
		"1 get ;":                     "a command without words",
		"v: 50% a | 49% b":            "add up to 99",
		"v: 100% a | b":               "add up to 100, of 2 alternatives",
		"share x":                     "share: ",
		"v: {one k:k}\n1 get {k} {v}": "options.commands:2: {k} is not defined",
	} {
		_, err := load(t, text)
		require.ErrorContains(t, err, want, "%s", text)
	}
}

func TestAFormIsChosenByWeight(t *testing.T) {
	g, err := load(t, "share 7\n1 a\n0 b\n3 @held @scan @inner c\n2 !program")
	require.NoError(t, err)
	f := g.Families["options"]
	require.Equal(t, 7, f.Share)
	chosen := map[string]int{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 6000 {
		chosen[f.Choose(r, func(*Form) bool { return true }).At]++
	}
	require.Len(t, chosen, 3)
	require.InDelta(t, 1000, chosen["options.commands:2"], 150)
	require.InDelta(t, 3000, chosen["options.commands:4"], 150)
	require.Nil(t, f.Choose(r, func(f *Form) bool { return f.Weight == 0 }))
	require.True(t, f.Forms[2].Held && f.Forms[2].Scan && f.Forms[2].Inner)
}

func TestEachAndNames(t *testing.T) {
	g, err := load(t, "1 (get|{v}) x\n1 a ; SET b\nv: 70% x (y z) | 30% (INCR|DECR)")
	require.NoError(t, err)
	require.Equal(t, []string{"A", "DECR", "GET", "INCR", "SET", "X", "Y"}, g.CommandNames())
	r := rand.New(rand.NewPCG(1, 1))
	each := g.Each(r, "v")
	require.Equal(t, [][]string{{"x"}, {"y", "z"}}, each[:2])
	require.Len(t, each, 3)
}

// TestFilesAreWhole expands every form of all files.
func TestFilesAreWhole(t *testing.T) {
	var programs []string
	_, err := Load(Options[*rand.Rand]{Families: Names()})
	for err != nil { // the files name programs that only their tests have
		_, name, ok := strings.Cut(err.Error(), "there is no program ")
		if !ok {
			break
		}
		programs = append(programs, name)
		_, err = Load(Options[*rand.Rand]{Families: Names(), Programs: programs})
	}
	require.ErrorContains(t, err, "{one any} is not defined")
	state := func(_ *rand.Rand, _ []string) string { return "1" }
	funcs := map[string]Func[*rand.Rand]{}
	for _, name := range []string{"one", "nth", "step", "serial", "code", "dumped", "dumpedLibrary"} {
		funcs[name] = state
	}
	g, err := Load(Options[*rand.Rand]{Families: Names(), Programs: programs, Funcs: funcs})
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	for _, f := range g.Families {
		for _, form := range f.Forms {
			for range 30 {
				g.Make(r, form)
			}
		}
	}
	for name, d := range g.defs {
		if len(d.params) == 0 {
			require.NotEmpty(t, g.Each(r, name), name)
		}
	}
	a, b := rand.New(rand.NewPCG(3, 3)), rand.New(rand.NewPCG(3, 3))
	for range 200 {
		require.Equal(t, g.Command(a, "zset"), g.Command(b, "zset"))
	}
}
