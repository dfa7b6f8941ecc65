package main

import "regexp"

// A comparison is the input of a comparator: the command as it was run, both parsed replies, and, if the
// generator put a reading command right before (step.glue), Redis' reply to that.
type comparison struct {
	args      []string
	ref, ours value
	before    *value
}

// A comparator returns "" if the replies agree as far as they can, else what differs.
type comparator func(comparison) string

// An exception is one row of the list below.
type exception struct {
	how    comparator
	when   condition
	reason string
}

// A condition selects the replies that a row applies to.
type condition int

const (
	notErrors    condition = iota // neither reply is an error: error texts are compared byte for byte
	alsoErrors                    // Redis refuses, ours may answer
	runningClock                  // the servers' clocks cannot be held
)

// exceptions lists the commands whose replies are not compared byte for byte. A row is consulted only if the
// bytes differ, so it can only allow a difference. The only other allowance is interpreterWords, below.
var exceptions = map[string]exception{
	// Facts of each server: versions, ids, counters, addresses, ages.
	"CLIENT ID":   {sameShape, notErrors, "each server assigns ids in its own order of accepting"},
	"CLIENT INFO": {sameKind, notErrors, "ids, addresses, ages and buffer sizes"},
	"CLIENT LIST": {sameKind, notErrors, "ids, addresses, ages and buffer sizes"},
	"COMMAND": {
		sameKind, notErrors,
		"the command tables differ; rows are compared through COMMAND INFO",
	},
	"COMMAND COUNT": {sameKind, notErrors, "the command tables differ in size"},
	"COMMAND DOCS":  {sameKind, notErrors, "summaries differ"},
	"COMMAND LIST":  {sameKind, notErrors, "the command tables differ"},
	"COMMAND INFO": {
		commandRows, notErrors,
		"flags and categories are sets; tips and key specifications are hints for clients",
	},
	"HELLO":      {helloFields, notErrors, "version and connection id"},
	"INFO":       {sameKind, notErrors, "version, memory, counters, process figures"},
	"CONFIG GET": {samePairs, notErrors, "Redis walks a hash table: the order of the pairs is random"},

	"ACL GETUSER": {
		aclCommands, notErrors,
		"single commands in the order of a hash table, commands that Redis does not have, " +
			"what it writes beside ~*",
	},
	"ACL LIST": {
		aclCommands, notErrors,
		"single commands in the order of a hash table, commands that Redis does not have, " +
			"what it writes beside ~*",
	},

	"SLOWLOG GET":         {slowEntries, notErrors, "ids, instants, durations, addresses"},
	"MEMORY USAGE":        {sameKind, notErrors, "the bytes are each server's"},
	"MEMORY STATS":        {fieldNames, notErrors, "the bytes are each server's"},
	"MEMORY DOCTOR":       {sameKind, notErrors, "each server has its own text"},
	"LATENCY DOCTOR":      {sameKind, notErrors, "each server has its own text"},
	"MEMORY MALLOC-STATS": {sameKind, notErrors, "each server has its own allocator"},

	// Unordered results.
	"KEYS": {sameElements, notErrors, "the order of the hash table"},
	"HGETALL": {
		fieldOrder, notErrors,
		"the order of the hash table; ours is that of insertion, as in a listpack",
	},
	"HKEYS": {
		fieldOrder, notErrors,
		"the order of the hash table; ours is that of insertion, as in a listpack",
	},
	"HVALS": {
		fieldOrder, notErrors,
		"the order of the hash table; ours is that of insertion, as in a listpack",
	},
	"SORT":     {sortOrder, notErrors, "the order of the hash table, if the compared values are equal"},
	"SORT_RO":  {sortOrder, notErrors, "the order of the hash table, if the compared values are equal"},
	"SMEMBERS": {memberOrder, notErrors, "the order of the hash table; an intset is in order"},
	"SINTER":   {sameElements, notErrors, "the order of the hash table"},
	"SUNION":   {sameElements, notErrors, "the order of the hash table"},
	"SDIFF":    {sameElements, notErrors, "the order of the hash table"},

	// Cursors: of one page only the shape is compared; steps that iterate compare the union over all pages.
	"SCAN":  {scanPage, notErrors, "cursors and the contents of a page depend on the hash table"},
	"HSCAN": {scanPage, notErrors, "cursors and the contents of a page depend on the hash table"},
	"SSCAN": {scanPage, notErrors, "cursors and the contents of a page depend on the hash table"},
	"ZSCAN": {scanPage, notErrors, "cursors and the contents of a page depend on the hash table"},

	// Random choices: the right number, from the elements that exist.
	"RANDOMKEY":   {pickOne, notErrors, "random"},
	"HRANDFIELD":  {pickMembers, notErrors, "random"},
	"SPOP":        {pickFromSet, notErrors, "random"},
	"SRANDMEMBER": {pickFromSet, notErrors, "random"},
	"ZRANDMEMBER": {pickMembers, notErrors, "random"},

	// zlimit answers, Redis 7.0.15 refuses.
	"CLIENT NO-TOUCH": {newerRedis, alsoErrors, "added in Redis 7.2; clients send it and must not fail"},
	"CLIENT SETINFO":  {newerRedis, alsoErrors, "added in Redis 7.2; clients send it and must not fail"},
	"CLUSTER KEYSLOT": {
		keySlot, alsoErrors,
		"Redis refuses outside cluster mode; ours returns the slot, which is computed here",
	},

	// Replies that depend on the time of day. With both clocks held, these too are compared byte for byte.
	"TIME":        {sameShape, runningClock, "the clocks run"},
	"TTL":         {nearSeconds, runningClock, "the clocks run"},
	"PTTL":        {nearMilliseconds, runningClock, "the clocks run"},
	"EXPIRETIME":  {nearSeconds, runningClock, "the clocks run"},
	"PEXPIRETIME": {nearMilliseconds, runningClock, "the clocks run"},
}

// interpreterWords matches what Lua 5.1 itself writes about a script that does not compile or fails while it
// runs. Another interpreter uses other words; what Redis puts around them (code, line, SHA1) is compared. The
// texts that Redis writes itself (nonexistent global, wrong arguments of redis.call, any command's error) are
// not included.
var interpreterWords = regexp.MustCompile(`attempt to |bad argument #|unexpected symbol|unfinished |` +
	`malformed number|expected|near '|invalid option|invalid value|stack overflow|string length overflow|` +
	`invalid escape|wrong number of arguments to|'for' `)
