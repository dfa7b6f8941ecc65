package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/grammar"
)

// families are the files of forms that rounds choose from. The last two are used only if they are named;
// replicated also with -replicas.
var families = []string{
	"zset", "hash", "set", "list", "string", "bits", "keys", "sort", "tx", "lua", "conn", "acl", "oom",
	"observe", "replicated",
}

// programs are the forms that are more than commands.
var programs map[string]func(*generator)

func init() { // not where it is declared: it runs what refers to it
	programs = map[string]func(*generator){
		"transaction": (*generator).transaction, "checkAndSet": (*generator).checkAndSet,
		"wrapped": func(g *generator) { g.add(g.wrapInScript(g.dataCommand())) },
		"limiter": (*generator).limiterScript, "conversion": (*generator).conversionScript,
		"luaProgram": (*generator).programScript,
		"failing":    func(g *generator) { g.add(step{args: g.eval(g.value("failing"), nil, nil)}) },
		"inline":     (*generator).inline, "clientReply": (*generator).clientReply,
		"hangUp": (*generator).hangUp, "asUser": (*generator).asUser,
		"exhaustMemory": (*generator).exhaustMemory, "logAll": (*generator).logAll,
		"digest": (*generator).digest, "callFunction": (*generator).callFunction,
		"served":   (*generator).served,
		"messages": func(g *generator) { g.add(step{args: []string{"PING"}, pushes: true}) },
	}
}

// values are those that depend on the round so far.
var values = map[string]grammar.Func[*generator]{
	"one": func(g *generator, args []string) string { return pick(g.r, g.keys[args[0]]...) },
	"nth": func(g *generator, args []string) string { return g.keys[args[0]][atoi(args[1])] },
	"serial": func(g *generator, _ []string) string {
		g.serial++
		return itoa(g.serial)
	},
	"copy": func(g *generator, _ []string) string { return "popped" + itoa(len(g.out)) },

	"member":  func(g *generator, args []string) string { return g.existingMember(args[0]) },
	"new":     func(g *generator, args []string) string { return g.newMember(args[0]) },
	"bound":   func(g *generator, args []string) string { return g.boundOf(args[0]) },
	"element": func(g *generator, args []string) string { return g.setMember(args[0]) },

	"recent": func(g *generator, _ []string) string { return itoa(g.nowMs/1000 - int64(g.r.IntN(90))) },
	"next":   func(g *generator, args []string) string { return g.logNext(args[0]) },
	"step": func(g *generator, args []string) string {
		g.logAt[args[0]]++
		return itoa(g.logAt[args[0]])
	},
	"last":      func(g *generator, args []string) string { return itoa(g.logAt[args[0]]) },
	"after":     func(g *generator, args []string) string { return itoa(g.logAt[args[0]] + 1) },
	"restarted": func(g *generator, _ []string) string { return g.restartLog(g.value("one", "log")) },
	"back": func(g *generator, args []string) string {
		return itoa(g.logAt[args[0]] - int64(g.r.IntN(atoi(args[1]))))
	},
	"plus": func(g *generator, args []string) string { return itoa(atoi(args[0]) + g.r.IntN(atoi(args[1]))) },
	"window": func(g *generator, args []string) string {
		return pick(g.r, "", "", "(") + itoa(g.logAt[args[0]]-pick[int64](g.r, 60, 1000, 60_000, 60_000))
	},

	"ttl": func(g *generator, args []string) string { return g.due(unitMs[args[0]], false) },
	"at":  func(g *generator, args []string) string { return g.due(unitMs[args[0]], true) },
	"ago": func(g *generator, args []string) string {
		return itoa(g.nowMs/unitMs[args[0]] - int64(g.r.IntN(2)))
	},

	"user":   func(g *generator, _ []string) string { return g.user() },
	"script": func(g *generator, _ []string) string { return g.sentScript().text },
	"sha": func(g *generator, _ []string) string {
		sha := g.sentScript().sha()
		return pick(g.r, sha, sha, strings.ToUpper(sha))
	},
	"replicas": func(g *generator, _ []string) string {
		if g.plan.replicated {
			return "x" // how many have acknowledged by now is chance
		}
		return pick(g.r, "0", "-1", "x")
	},
	"code": func(g *generator, _ []string) string { return g.library(g.value("library")) },
	"dumpedLibrary": func(g *generator, _ []string) string {
		return dumpedLibrary(g.library(g.value("library")))
	},
	"dumped": func(g *generator, _ []string) string {
		return dumped("\x00" + stored(strings.Repeat("v", g.between(0, 80))))
	},
}

var unitMs = map[string]int64{"s": 1000, "ms": 1}

// language is the grammar with these values and programs.
var language *grammar.Grammar[*generator]

// commandNames has the names of all commands that forms begin with.
var commandNames = map[string]bool{}

func init() {
	var names []string
	for name := range programs {
		names = append(names, name)
	}
	var err error
	language, err = grammar.Load(grammar.Options[*generator]{
		Families: append(slices.Clone(families), "fill", "tracking"), Funcs: values, Programs: names,
	})
	if err != nil {
		panic(err)
	}
	plain := regexp.MustCompile(`^[A-Z][A-Z_]+$`)
	for _, name := range language.CommandNames() {
		if plain.MatchString(name) {
			commandNames[name] = true
		}
	}
	for _, words := range language.Each(&generator{}, "knownCommand") {
		commandNames[strings.ToUpper(words[0])] = true
	}
}

func (g *generator) value(name string, args ...string) string {
	return language.Value(g, name, args...)
}

func (g *generator) words(name string, args ...string) []string {
	return language.Words(g, name, args...)
}

// choose sends a form of the family.
func (g *generator) choose(family string) {
	g.send(language.Families[family].Choose(g, func(f *grammar.Form) bool {
		return !f.Inner && (!f.Held || !g.plan.runningClock)
	}))
}

// chooseOf sends a form of one of the families, by their shares.
func (g *generator) chooseOf(names []string) {
	total := 0
	for _, name := range names {
		total += g.share(name)
	}
	n := g.r.IntN(total)
	for _, name := range names {
		if n -= g.share(name); n < 0 {
			g.choose(name)
			return
		}
	}
}

// share returns a family's weight. Those that must be named have none of their own.
func (g *generator) share(family string) int {
	if family == "replicated" && g.plan.replicated {
		return 20
	}
	return max(language.Families[family].Share, 1)
}

// others returns the families that rounds have by default, without some.
func others(without ...string) (names []string) {
	for _, name := range families {
		if language.Families[name].Share > 0 && !slices.Contains(without, name) {
			names = append(names, name)
		}
	}
	return names
}

// send appends the commands of a form. The last may be corrupted.
func (g *generator) send(f *grammar.Form) {
	if f.Program != "" {
		programs[f.Program](g)
		return
	}
	made := language.Make(g, f)
	for i, c := range made {
		s := step{args: c.Args, glue: c.Glued}
		if last := i == len(made)-1; last && f.Scan {
			s.iterate = true
		} else if last && !f.Exact && g.chance(4) {
			s.args = g.corrupt(s.args)
		}
		g.add(s)
	}
}

// corrupt drops, adds or replaces an argument.
func (g *generator) corrupt(args []string) []string {
	switch g.r.IntN(4) {
	case 0:
		args = args[:len(args)-1]
	case 1:
		args = append(args, g.value("junk"))
	case 2:
		args[g.r.IntN(len(args))] = g.value("junk")
	default:
		args = slices.Insert(args, g.between(1, len(args)), g.value("junk"))
	}
	if len(args) == 0 || args[0] == "" {
		args = []string{"NOSUCH"}
	}
	return args
}

// dataCommand returns a command of the families that hold data, without sending it.
func (g *generator) dataCommand() []string {
	for {
		args := g.words("command")
		if percent := g.plan.omit[commandName(args)]; percent == 0 || !g.chance(percent) {
			return args
		}
	}
}
