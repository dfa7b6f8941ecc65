package debug

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/resp"
)

const flags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.Protected

// A row is a subcommand of DEBUG.
type row struct {
	name      string
	arity     int            // with DEBUG and the name; -n means at least n
	flags     commands.Flags // beside those of all
	syntax    string
	summary   string
	deviation string
	run       commands.Handler
}

// everyKey is for rows that visit the keyspace: they name no keys, as in Redis.
const everyKey = commands.AllShards

// Handlers are of the subcommands that need the engine.
type Handlers struct {
	Clock, ConfigRewrite, Fault, LoadAOF, Log, Reload, Reset, SetActiveExpire, Sleep,
	StructSize commands.Handler
}

// rows returns the subcommands that are more than an answer.
func rows(h *Handlers) []row {
	return []row{
		{
			"clock", -3, commands.NoMulti | everyKey,
			"<FREEZE | ADVANCE milliseconds | SET unix-time-milliseconds | RESUME>",
			"Holds, moves or releases the clock that expiry, TIME and RL.* follow.",
			"zlimit's own", h.Clock,
		},
		{
			"config-rewrite-force-all", 2, 0, "",
			"Writes every directive to the configuration file.", "", h.ConfigRewrite,
		},
		{"digest", 2, everyKey, "", "Returns a hash of the keyspace.", "", commands.DigestKeyspace},
		{
			"digest-value", -2, everyKey, "[key [key ...]]", "Returns a hash of each value.", "",
			commands.DigestValues,
		},
		{"error", 3, 0, "message", "Answers an error.", "", errorReply},
		{
			"fault", -3, 0, faults.Syntax,
			"Makes the next commands of clients fail, for tests of clients.", "zlimit's own", h.Fault,
		},
		{
			"htstats", 3, everyKey, "dbid", "Returns figures of the table of a database.", "the text",
			htStats,
		},
		{
			"htstats-key", 3, everyKey, "key", "Returns figures of the table of a value.", "the text",
			htStatsKey,
		},
		{
			"listpack", 3, everyKey, "key", "Accepts values that are listpacks.", "nothing is printed",
			listpack,
		},
		{
			"loadaof", 2, everyKey | commands.NoMulti, "",
			"Empties the keyspace and loads the append-only log.",
			"an error without a log; not in a transaction", h.LoadAOF,
		},
		{"log", 3, 0, "message", "Writes a message to the server's log.", "", h.Log},
		{
			"object", 3, everyKey, "key", "Returns how a value is stored.",
			"the address is 0x0, and what belongs to quicklists is missing", object,
		},
		{
			"populate", -3, everyKey, "count [prefix [size]]", "Creates strings.",
			"they are kept on disk like others", populate,
		},
		{
			"protocol", 3, 0,
			"<string | integer | double | bignum | null | array | set | map | attrib | push | verbatim | " +
				"true | false>", "Answers a value of a type.", "", protocol,
		},
		{
			"quicklist-packed-threshold", 3, 0, "size", "Accepts a size and does nothing.",
			"it has no effect", packedThreshold,
		},
		{
			"reload", -2, everyKey, "[NOSAVE] [NOFLUSH] [MERGE]",
			"Saves a snapshot, empties the keyspace and loads the snapshot.",
			"a file that cannot be read is refused before the keyspace is emptied; NOSAVE is refused while " +
				"appendonly is on", h.Reload,
		},
		{
			"reset", 2, commands.NoMulti | everyKey, "",
			"Removes keys, scripts, functions and faults, and sets the clock to the system's time.",
			"zlimit's own", h.Reset,
		},
		{"sdslen", 3, everyKey, "key", "Returns the sizes of a key and its string.", "", sdsLen},
		{
			"set-active-expire", 3, 0, "<0 | 1>", "Stops or resumes the removal of expired keys before " +
				"they are used.", "", h.SetActiveExpire,
		},
		{
			"sleep", 3, everyKey, "seconds", "Holds every shard for a while.",
			"commands without keys are answered meanwhile", h.Sleep,
		},
		{
			"stringmatch-len", 4, 0, "pattern string", "Returns whether a pattern matches a string.",
			"not in Redis 7.0.15", stringMatch,
		},
		{"structsize", 2, 0, "", "Returns the sizes of structures.", "the structures", h.StructSize},
	}
}

// ignored are the subcommands that do nothing. They answer OK.
var ignored = []struct {
	name   string
	arity  int
	syntax string
}{
	{"aof-flush-sleep", 3, "microseconds"},
	{"change-repl-id", 2, ""},
	{"drop-cluster-packet-filter", 3, "packet-type"},
	{"pause-cron", 3, "<0 | 1>"},
	{"replybuffer", 4, "<PEAK-RESET-TIME | RESIZING> value"},
	{"set-disable-deny-scripts", 3, "<0 | 1>"},
}

// refused are the subcommands that do harm, with the reason why they are refused.
var refused = []struct{ name, reason string }{
	{"assert", "end the process with a signal instead"},
	{"crash-and-recover", "end the process with a signal instead"},
	{"leak", "memory is collected"},
	{"oom", "end the process with a signal instead"},
	{"panic", "end the process with a signal instead"},
	{"replicate", "replicas would differ from their master"},
	{"restart", "restart the process instead"},
	{"segfault", "end the process with a signal instead"},
	{"set-skip-checksum-validation", "payloads are always verified"},
}

// Command returns the row of DEBUG.
func Command(h Handlers) commands.Command {
	subcommand := func(r row) commands.Command {
		return commands.Command{
			Name: r.name, Arity: r.arity, Flags: flags | r.flags, Group: "server", Since: "1.0.0",
			Complexity: "Depends on subcommand.", Syntax: r.syntax, Summary: r.summary,
			Deviation: r.deviation, Handler: r.run,
		}
	}
	help := commands.Help("server", "1.0.0")
	help.Flags |= commands.Protected
	debug := commands.Command{
		Name: "debug", Arity: -2, Flags: flags, Group: "server", Since: "1.0.0",
		Complexity: "Depends on subcommand.",
		Summary:    "Changes and inspects the server for tests.",
		Deviation: "CLOCK, FAULT and RESET are zlimit's own; what is of C's memory and of a cluster is " +
			"unknown",
		Handler:   commands.WrongSubcommandArity,
		LooseSubs: true,
		Subs:      []commands.Command{help},
	}
	for _, r := range rows(&h) {
		debug.Subs = append(debug.Subs, subcommand(r))
	}
	for _, r := range ignored {
		debug.Subs = append(debug.Subs, subcommand(row{
			r.name, r.arity, 0, r.syntax, "Does nothing.", "it has no effect",
			func(*commands.Ctx) resp.Value { return resp.OK },
		}))
	}
	for _, r := range refused {
		refusal := resp.Error("ERR DEBUG " + strings.ToUpper(r.name) + " is refused: " + r.reason)
		debug.Subs = append(debug.Subs, subcommand(row{
			r.name, -2, 0, "[arg [arg ...]]", "Is refused.", r.reason,
			func(*commands.Ctx) resp.Value { return refusal },
		}))
	}
	slices.SortFunc(debug.Subs, func(a, b commands.Command) int { return strings.Compare(a.Name, b.Name) })
	return debug
}

// DEBUG ERROR message
func errorReply(c *commands.Ctx) resp.Value { return resp.Error(resp.OneLine(string(c.Args[2]))) }

// DEBUG STRINGMATCH-LEN pattern string
func stringMatch(c *commands.Ctx) resp.Value {
	matches := int64(0)
	if commands.GlobMatch(c.Args[2], string(c.Args[3])) {
		matches = 1
	}
	return resp.Int(matches)
}

var (
	memorySize         = regexp.MustCompile(`(?i)^[0-9]{1,10}(b|kb?|mb?|gb?)?$`)
	errPackedThreshold = resp.Error("ERR argument must be a memory value bigger than 1 and smaller than 4gb")
)

// DEBUG QUICKLIST-PACKED-THRESHOLD size
func packedThreshold(c *commands.Ctx) resp.Value {
	if !memorySize.Match(c.Args[2]) {
		return errPackedThreshold
	}
	return resp.OK
}
