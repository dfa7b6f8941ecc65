package engine

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

const debugFlags = commands.Admin | commands.NoScript | commands.Loading | commands.Stale | commands.Protected

// A debugRow is a subcommand of DEBUG. In Redis they are no commands of their own, so
// calls of a wrong number of arguments get the text of unknown subcommands: see
// debugUnknown.
type debugRow struct {
	name      string
	arity     int            // with DEBUG and the name; -n means at least n
	flags     commands.Flags // beside debugFlags
	syntax    string
	summary   string
	deviation string
	run       commands.Handler
}

// everyKey is for rows that visit the keyspace: they name no keys, as in Redis.
const everyKey = commands.AllShards

// debugRows returns the subcommands that are more than an answer.
func (e *Engine) debugRows() []debugRow {
	return []debugRow{
		{
			"clock", -3, commands.NoMulti | everyKey,
			"<FREEZE | ADVANCE milliseconds | SET unix-time-milliseconds | RESUME>",
			"Holds, moves or releases the clock that expiry, TIME and RL.* follow.",
			"zlimit's own", e.debugClock,
		},
		{
			"config-rewrite-force-all", 2, 0, "",
			"Writes every directive to the configuration file.", "", e.debugConfigRewrite,
		},
		{"digest", 2, everyKey, "", "Returns a hash of the keyspace.", "", commands.DigestKeyspace},
		{
			"digest-value", -2, everyKey, "[key [key ...]]", "Returns a hash of each value.", "",
			commands.DigestValues,
		},
		{"error", 3, 0, "message", "Answers an error.", "", debugError},
		{
			"htstats", 3, everyKey, "dbid", "Returns figures of the table of a database.", "the text",
			debugHTStats,
		},
		{
			"htstats-key", 3, everyKey, "key", "Returns figures of the table of a value.", "the text",
			debugHTStatsKey,
		},
		{
			"listpack", 3, everyKey, "key", "Accepts values that are listpacks.", "nothing is printed",
			debugListpack,
		},
		{
			"loadaof", 2, everyKey | commands.NoMulti, "",
			"Empties the keyspace and loads the append-only log.",
			"an error without a log; not in a transaction", e.debugLoadAOF,
		},
		{"log", 3, 0, "message", "Writes a message to the server's log.", "", e.debugLog},
		{
			"object", 3, everyKey, "key", "Returns how a value is stored.",
			"the address is 0x0, and what belongs to quicklists is missing", debugObject,
		},
		{
			"populate", -3, everyKey, "count [prefix [size]]", "Creates strings.",
			"they are kept on disk like others", debugPopulate,
		},
		{
			"protocol", 3, 0,
			"<string | integer | double | bignum | null | array | set | map | attrib | push | verbatim | " +
				"true | false>", "Answers a value of a type.", "", debugProtocol,
		},
		{
			"quicklist-packed-threshold", 3, 0, "size", "Accepts a size and does nothing.",
			"it has no effect", debugPackedThreshold,
		},
		{
			"reload", -2, everyKey, "[NOSAVE] [NOFLUSH] [MERGE]",
			"Saves a snapshot, empties the keyspace and loads the snapshot.",
			"a file that cannot be read is refused before the keyspace is emptied; NOSAVE is refused while " +
				"appendonly is on", e.debugReload,
		},
		{"sdslen", 3, everyKey, "key", "Returns the sizes of a key and its string.", "", debugSDSLen},
		{
			"set-active-expire", 3, 0, "<0 | 1>", "Stops or resumes the removal of expired keys before " +
				"they are used.", "", e.debugSetActiveExpire,
		},
		{
			"sleep", 3, everyKey, "seconds", "Holds every shard for a while.",
			"commands without keys are answered meanwhile", e.debugSleep,
		},
		{
			"stringmatch-len", 4, 0, "pattern string", "Returns whether a pattern matches a string.",
			"not in Redis 7.0.15", debugStringMatch,
		},
		{"structsize", 2, 0, "", "Returns the sizes of structures.", "the structures", debugStructSize},
	}
}

// debugIgnored are the subcommands whose subject does not exist here. They answer OK.
var debugIgnored = []struct {
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

// debugRefused are the subcommands that do harm, with the reason why they are refused.
var debugRefused = []struct{ name, reason string }{
	{"assert", "end the process with a signal instead"},
	{"crash-and-recover", "end the process with a signal instead"},
	{"leak", "memory is collected"},
	{"oom", "end the process with a signal instead"},
	{"panic", "end the process with a signal instead"},
	{"replicate", "there are no replicas"},
	{"restart", "restart the process instead"},
	{"segfault", "end the process with a signal instead"},
	{"set-skip-checksum-validation", "payloads are always verified"},
}

// debugGroup returns the row of DEBUG.
func (e *Engine) debugGroup() []commands.Command {
	row := func(r debugRow) commands.Command {
		return commands.Command{
			Name: r.name, Arity: r.arity, Flags: debugFlags | r.flags, Group: "server", Since: "1.0.0",
			Complexity: "Depends on subcommand.", Syntax: r.syntax, Summary: r.summary,
			Deviation: r.deviation, Handler: r.run,
		}
	}
	debug := commands.Command{
		Name: "debug", Arity: -2, Flags: debugFlags, Group: "server", Since: "1.0.0",
		Complexity: "Depends on subcommand.",
		Summary:    "Changes and inspects the server for tests.",
		Deviation:  "CLOCK is zlimit's own; what is of C's memory and of a cluster is unknown",
		Handler:    debugUnknown,
		LooseSubs:  true,
		Subs:       []commands.Command{commands.Help("server", "1.0.0")},
	}
	for _, r := range e.debugRows() {
		debug.Subs = append(debug.Subs, row(r))
	}
	for _, r := range debugIgnored {
		debug.Subs = append(debug.Subs, row(debugRow{
			r.name, r.arity, 0, r.syntax, "Does nothing.", "it has no effect",
			func(*commands.Ctx) resp.Value { return resp.OK },
		}))
	}
	for _, r := range debugRefused {
		refusal := resp.Error("ERR DEBUG " + strings.ToUpper(r.name) + " is refused: " + r.reason)
		debug.Subs = append(debug.Subs, row(debugRow{
			r.name, -2, 0, "[arg [arg ...]]", "Is refused.", r.reason,
			func(*commands.Ctx) resp.Value { return refusal },
		}))
	}
	slices.SortFunc(debug.Subs, func(a, b commands.Command) int { return strings.Compare(a.Name, b.Name) })
	for i := range debug.Subs {
		debug.Subs[i].Flags |= commands.Protected
	}
	return []commands.Command{debug}
}

// debugUnknown answers calls that fit no subcommand.
func debugUnknown(c *commands.Ctx) resp.Value {
	return resp.Error("ERR unknown subcommand or wrong number of arguments for '" +
		resp.OneLine(resp.CString(string(c.Args[1]))) + "'. Try DEBUG HELP.")
}

// DEBUG ERROR message
func debugError(c *commands.Ctx) resp.Value { return resp.Error(resp.OneLine(string(c.Args[2]))) }

// DEBUG LOG message
func (e *Engine) debugLog(c *commands.Ctx) resp.Value {
	e.log.Warn("DEBUG LOG: " + resp.OneLine(string(c.Args[2])))
	return resp.OK
}

// sleepSliceUs is how long DEBUG SLEEP takes at most to notice that it is to end.
const sleepSliceUs = 20_000

// DEBUG SLEEP seconds
//
// As in Redis, what is not a number is 0, and what is negative is no time.
func (e *Engine) debugSleep(c *commands.Ctx) resp.Value {
	seconds, _ := strconv.ParseFloat(string(c.Args[2]), 64)
	us := int64(min(seconds, 1e9) * 1e6)
	for us > 0 && e.options.Delay != nil && !caller(c).dead.Load() && !e.ending.Load() {
		slice := min(us, sleepSliceUs)
		e.options.Delay(slice)
		us -= slice
	}
	return resp.OK
}

// DEBUG SET-ACTIVE-EXPIRE 0 | 1
func (e *Engine) debugSetActiveExpire(c *commands.Ctx) resp.Value {
	on, _ := store.ParseInt(c.Args[2])
	e.reclaimOff.Store(on == 0)
	return resp.OK
}

// DEBUG STRINGMATCH-LEN pattern string
func debugStringMatch(c *commands.Ctx) resp.Value {
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
func debugPackedThreshold(c *commands.Ctx) resp.Value {
	if !memorySize.Match(c.Args[2]) {
		return errPackedThreshold
	}
	return resp.OK
}

// DEBUG STRUCTSIZE
func debugStructSize(*commands.Ctx) resp.Value {
	return resp.Status("bits:" + strconv.Itoa(strconv.IntSize) +
		" node:" + strconv.Itoa(int(unsafe.Sizeof(store.Node{}))) +
		" string:" + strconv.Itoa(int(unsafe.Sizeof(store.String{}))) +
		" session:" + strconv.FormatInt(sessionBytes, 10))
}
