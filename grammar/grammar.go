// Package grammar makes random commands from text, for tests only. Each command family has a file: a line is
// a form with its weight. README.md in this directory describes the notation.
//
// It knows nothing of the server and keeps no state between commands. What needs state (keys that exist,
// members added, the clock) is a function of the test that uses the grammar. The commands are a pure function
// of the text, those functions and the random numbers.
//
// This package is internal to zlimit: it may change in any release.
package grammar

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

//go:embed *.commands
var files embed.FS

// Dice is the source of random numbers; [math/rand/v2.Rand] is one.
type Dice interface{ IntN(n int) int }

// A Func returns a value that depends on the state of a test. args are what the text gives after the name.
type Func[S Dice] func(s S, args []string) string

// Options say how a test uses the grammar. S is its state.
type Options[S Dice] struct {
	Families []string
	// Definitions has more definitions, in the same notation. They replace those of the files.
	Definitions string
	// Funcs replace definitions of the same name.
	Funcs map[string]Func[S]
	// Programs are the names of forms that the test runs itself.
	Programs []string
}

// A Grammar is the parsed text. It is read-only.
type Grammar[S Dice] struct {
	Families map[string]*Family
	defs     map[string]*definition
	funcs    map[string]Func[S]
}

// A Family is one file.
type Family struct {
	Name  string
	Share int // weight among the families
	Forms []*Form
}

// A Form is one line of a family. A test that ignores a tag gets commands that are valid nevertheless.
type Form struct {
	Weight  int
	Program string // the name of a program, and no commands
	Exact   bool   // an argument must not be replaced: a huge number would allocate memory
	Alone   bool   // has a meaning only as a whole, outside of transactions and scripts
	Inner   bool   // only inside of other commands
	Scan    bool   // the last command is repeated with the cursor of its reply
	Held    bool   // only if the clock is held
	At      string // file and line
	steps   []step
}

type step struct {
	node
	glued bool
}

// A Command is one command of a form.
type Command struct {
	Args  []string
	Glued bool // has a meaning only right after the command before it
}

// Load parses the files of the families and checks that every value they use is defined.
func Load[S Dice](o Options[S]) (*Grammar[S], error) {
	g := &Grammar[S]{Families: map[string]*Family{}, defs: map[string]*definition{}, funcs: o.Funcs}
	var uses []use
	read := func(name, text string) error {
		f := &Family{Name: name}
		p := &parser{
			file: name + ".commands", text: text, family: f, defs: g.defs, programs: o.Programs,
			replaces: name == "options",
		}
		if err := p.parse(); err != nil {
			return err
		}
		uses = append(uses, p.uses...)
		if len(f.Forms) > 0 {
			g.Families[name] = f
		}
		return nil
	}
	for _, name := range append([]string{"values"}, o.Families...) {
		text, err := files.ReadFile(name + ".commands")
		if err != nil {
			return nil, err
		}
		if err := read(name, string(text)); err != nil {
			return nil, err
		}
	}
	if err := read("options", o.Definitions); err != nil {
		return nil, err
	}
	for _, u := range uses {
		switch d := g.defs[u.name]; {
		case o.Funcs[u.name] != nil:
		case u.name == "form" && len(u.args) == 1:
		case u.name == "repeat" && len(u.args) == 2:
		case d == nil:
			return nil, fmt.Errorf("%s: {%s} is not defined", u.at, strings.Join(append([]string{u.name},
				u.args...), " "))
		case len(d.params) != len(u.args):
			return nil, fmt.Errorf("%s: {%s} takes %d arguments", u.at, u.name, len(d.params))
		}
	}
	return g, nil
}

// Names lists the files, sorted, without the one that is always read.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var names []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".commands"); name != "values" {
			names = append(names, name)
		}
	}
	return names
}

// Choose returns a form of the family by weight, among those for which ok returns true. It returns nil if
// there are none.
func (f *Family) Choose(d Dice, ok func(*Form) bool) *Form {
	total := 0
	for _, form := range f.Forms {
		if ok(form) {
			total += form.Weight
		}
	}
	if total == 0 {
		return nil
	}
	n := d.IntN(total)
	for _, form := range f.Forms {
		if ok(form) {
			if n -= form.Weight; n < 0 {
				return form
			}
		}
	}
	panic("unreachable: the weights add up to the total")
}

// inside reports whether a form can be part of another command.
func inside(f *Form) bool { return f.Program == "" && !f.Alone && !f.Scan }

// Make returns the commands of a form.
func (g *Grammar[S]) Make(s S, f *Form) []Command {
	r := g.run(s)
	var out []Command
	for _, st := range f.steps {
		out = append(out, Command{st.expand(r), st.glued})
	}
	return out
}

// Command returns one random command of a family, such as may stand in a transaction or a script.
func (g *Grammar[S]) Command(s S, family string) []string {
	f := g.Families[family]
	if f == nil {
		panic("grammar: the family " + family + " is not loaded")
	}
	made := g.Make(s, f.Choose(s, inside))
	return made[len(made)-1].Args
}

// Words returns a random value of that name, which may be several words.
func (g *Grammar[S]) Words(s S, name string, args ...string) []string {
	v := value{name: name}
	for _, a := range args {
		v.args = append(v.args, argument{text: a})
	}
	return v.expand(g.run(s))
}

// Value is Words for a value of one word.
func (g *Grammar[S]) Value(s S, name string, args ...string) string {
	return strings.Join(g.Words(s, name, args...), "")
}

// Each returns every alternative of a definition once.
func (g *Grammar[S]) Each(s S, name string) [][]string {
	var out [][]string
	for _, a := range g.defs[name].alternatives {
		for _, n := range a.nodes() {
			out = append(out, n.expand(g.run(s)))
		}
	}
	return out
}

func (g *Grammar[S]) run(s S) *run {
	r := &run{Dice: s, labels: map[string]string{}}
	r.call = func(name string, args []string) []string {
		if f := g.funcs[name]; f != nil {
			return []string{f(s, args)}
		}
		switch name {
		case "form": // a command of a family
			return g.Command(s, args[0])
		case "repeat": // a text many times
			n, _ := strconv.Atoi(args[0])
			return []string{strings.Repeat(args[1], n)}
		}
		d := g.defs[name]
		inner := &run{Dice: s, call: r.call, labels: map[string]string{}}
		for i, p := range d.params {
			inner.labels[p] = args[i]
		}
		return d.expand(inner)
	}
	return r
}

// CommandNames returns the names that begin commands of the families, in upper case and sorted.
func (g *Grammar[S]) CommandNames() []string {
	names := map[string]bool{}
	for _, f := range g.Families {
		for _, form := range f.Forms {
			for _, st := range form.steps {
				for _, n := range firstWords(st.node, g.defs) {
					names[strings.ToUpper(n)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// AllCommandNames returns the names that begin commands of any file, in upper case.
func AllCommandNames() ([]string, error) {
	g := &Grammar[Dice]{Families: map[string]*Family{}, defs: map[string]*definition{}}
	for _, name := range append([]string{"values"}, Names()...) {
		text, err := files.ReadFile(name + ".commands")
		if err != nil {
			return nil, err
		}
		f := &Family{Name: name}
		p := &parser{file: name + ".commands", text: string(text), family: f, defs: g.defs, loose: true}
		if err := p.parse(); err != nil {
			return nil, err
		}
		g.Families[name] = f
	}
	return g.CommandNames(), nil
}
