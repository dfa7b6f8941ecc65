package scripting

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

const (
	evalComplexity = "O(N)"
	evalDeviation  = "pairs follows the order of insertion, # of a table with holes, or with more than " +
		"four million elements, may find another border; a negative zero loses its sign; server is another " +
		"name of redis."
	noteRW      = "a script may do anything to its keys"
	noteRO      = "a script may read its keys in any way"
	noteFcallRW = "a function may do anything to its keys"
	noteFcallRO = "a function may read its keys in any way"
)

// Commands returns the rows of EVAL, FCALL, FUNCTION and SCRIPT. The flag AllShards is for callers that do
// not call Locks, and for functions, whose keys are not analyzed.
func (e *Engine) Commands() []commands.Command {
	const (
		script = commands.NoScript | commands.Stale | commands.SkipMonitor |
			commands.NoMandatoryKeys | commands.MovableKeys | commands.AllShards
		readOnly = script | commands.ReadOnly
		free     = script | commands.MayReplicate
	)
	const rw, ro = "RW access update", "RO access"
	eval := func(
		name, since, argument, summary, note string, flags commands.Flags, access string, h commands.Handler,
		locks func(*commands.Ctx, [][]byte) store.ShardSet,
		declares func([][]byte) (commands.Flags, bool),
	) commands.Command {
		return commands.Command{
			Name: name, Arity: -3, Flags: flags, Group: "scripting", Since: since,
			Categories: []string{"scripting"}, // explicit, so that ReadOnly does not add "read"
			Keys:       []commands.KeySpec{countedKeys(access, note)},
			Complexity: evalComplexity, Summary: summary, Deviation: evalDeviation,
			Syntax:  argument + " numkeys [key [key ...]] [arg [arg ...]]",
			Handler: h, Locks: locks, Declares: declares,
		}
	}
	return []commands.Command{
		eval("eval", "2.6.0", "script", "Runs a Lua script.",
			noteRW, free, rw, e.eval, e.locksOfSource, e.sourceDeclares),
		eval("evalsha", "2.6.0", "sha1", "Runs a cached Lua script.",
			"", free, rw, e.evalSHA, e.locksOfDigest, e.digestDeclares),
		eval("eval_ro", "7.0.0", "script", "Runs a Lua script that may not write.",
			noteRO, readOnly, ro, e.evalRO, e.locksOfSource, e.sourceDeclares),
		eval("evalsha_ro", "7.0.0", "sha1", "Runs a cached Lua script that may not write.",
			"", readOnly, ro, e.evalSHARO, e.locksOfDigest, e.digestDeclares),
		eval("fcall", "7.0.0", "function", "Calls a function of a library.",
			noteFcallRW, free, rw, e.fcall, nil, e.functionDeclares),
		eval("fcall_ro", "7.0.0", "function", "Calls a function of a library that may not write.",
			noteFcallRO, readOnly, ro, e.fcallRO, nil, e.functionDeclares),
		{
			Name: "function", Arity: -2, Group: "scripting", Since: "7.0.0",
			Complexity: "Depends on subcommand.", Summary: "Manages libraries of functions.",
			Subs: e.functionGroup(),
		},
		{
			Name: "script", Arity: -2, Group: "scripting", Since: "2.6.0",
			Complexity: "Depends on subcommand.", Summary: "Manages the script cache.",
			Subs: e.scriptGroup(),
		},
	}
}

func row(
	name string, arity int, flags commands.Flags, since, syntax, complexity, summary string,
	h commands.Handler, tips ...string,
) commands.Command {
	return commands.Command{
		Name: name, Arity: arity, Flags: flags, Group: "scripting", Since: since,
		Tips: tips, Syntax: syntax,
		Complexity: complexity, Summary: summary, Handler: h,
	}
}

func (e *Engine) functionGroup() []commands.Command {
	const (
		since      = "7.0.0"
		change     = commands.Write | commands.NoScript | commands.AllShards // journaled in one order
		allShards  = "request_policy:all_shards"
		allSucceed = "response_policy:all_succeeded"
	)
	load := row("load", -3, change|commands.DenyOOM, since, "[REPLACE] function-code",
		"O(1) (considering compilation time is redundant)",
		"Loads a library from its source.", e.functionLoad, allShards, allSucceed)
	restore := row("restore", -3, change|commands.DenyOOM, since,
		"serialized-value [FLUSH | APPEND | REPLACE]",
		"O(N) where N is the number of functions on the payload",
		"Restores libraries that FUNCTION DUMP has returned.", e.functionRestore, allShards, allSucceed)
	dump := row("dump", 2, commands.NoScript, since, "", "O(N) where N is the number of functions",
		"Returns all libraries, serialized.", e.functionDump)
	list := row("list", -2, commands.NoScript, since, "[LIBRARYNAME library-name-pattern] [WITHCODE]",
		"O(N) where N is the number of functions",
		"Lists the libraries.", e.functionList, "nondeterministic_output_order")
	dump.Place, list.Place = commands.PlaceAlone, commands.PlaceAlone
	load.Deviation = "refuses what would make libraries hold more than lua-memory-limit"
	restore.Deviation = load.Deviation
	return []commands.Command{
		row("delete", 3, change, since, "library-name", "O(1)",
			"Removes a library and its functions.", e.functionDelete, allShards, allSucceed),
		dump,
		row("flush", -2, change, since, "[ASYNC | SYNC]", "O(N) where N is the number of functions deleted",
			"Removes all libraries.", e.functionFlush, allShards, allSucceed),
		row("help", 2, commands.Loading|commands.Stale, since, "", "O(1)",
			"Describes the subcommands.", e.functionHelp),
		row("kill", 2, commands.NoScript|commands.AllowBusy, since, "", "O(1)",
			"Ends the function that is running.", e.functionKill, allShards, "response_policy:one_succeeded"),
		list, load, restore,
		row("stats", 2, commands.NoScript|commands.AllowBusy, since, "", "O(1)",
			"Returns the running function and the loaded libraries.", e.functionStats,
			"nondeterministic_output", allShards, "response_policy:special"),
	}
}

func (e *Engine) scriptGroup() []commands.Command {
	debug := row("debug", 3, commands.NoScript, "3.2.0", "YES|SYNC|NO", "O(1)",
		"Sets the debug mode of later scripts.", e.scriptDebug)
	debug.Place = commands.PlaceRefused
	debug.Deviation = "There is no debugger: YES and SYNC are refused."
	kill := row("kill", 2, commands.NoScript|commands.AllowBusy, "2.6.0", "", "O(1)",
		"Ends the script that is running.", e.scriptKill,
		"request_policy:all_shards", "response_policy:one_succeeded")
	return []commands.Command{
		debug,
		row("exists", -3, commands.NoScript, "2.6.0", "sha1 [sha1 ...]",
			"O(N) with N being the number of digests.", "Reports which scripts are cached.", e.scriptExists,
			"request_policy:all_shards", "response_policy:agg_logical_and"),
		row("flush", -2, commands.NoScript, "2.6.0", "[ASYNC|SYNC]",
			"O(N) with N being the number of cached scripts.", "Empties the script cache.", e.scriptFlush,
			"request_policy:all_nodes", "response_policy:all_succeeded"),
		row("help", 2, commands.Loading|commands.Stale, "5.0.0", "", "O(1)",
			"Describes the subcommands.", e.scriptHelp),
		kill,
		row("load", 3, commands.NoScript|commands.Stale, "2.6.0", "script",
			"O(N) with N being the length of the script.", "Compiles a script into the cache.", e.scriptLoad,
			"request_policy:all_nodes", "response_policy:all_succeeded"),
	}
}

func countedKeys(access, note string) commands.KeySpec {
	spec := commands.CountedKeys(2, access)
	spec.Notes = note
	return spec
}
