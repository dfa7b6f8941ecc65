package main

import "regexp"

// sight is what a comparator may look at: the command as it was run, both replies parsed, and, where the generator put
// a reading command right before (step.glue), what Redis answered to that.
type sight struct {
	args      []string
	ref, ours value
	before    *value
}

// comparator returns "" where the replies agree as far as they can, else what does not.
type comparator func(sight) string

// exception is one row of the list below.
type exception struct {
	how    comparator
	when   occasion
	reason string
}

// occasion says when a row is asked.
type occasion int

const (
	replies    occasion = iota // not where one of the replies is an error: error texts are compared byte for byte
	evenErrors                 // where Redis refuses and ours may answer
	looseClock                 // only where the servers' clocks cannot be held
)

// exceptions is the one list of commands whose replies are not compared byte for byte; everything that is not in it is.
// A row is asked only where the bytes differ, so it can only forgive. The one other thing that is forgiven stands below
// it: the words of the Lua interpreter.
var exceptions = map[string]exception{
	// The servers' own facts: versions, ids, counters, addresses, ages.
	"CLIENT ID":     {sameShape, replies, "ids are handed out in each server's own order of accepting"},
	"CLIENT INFO":   {sameKind, replies, "ids, addresses, ages and buffer sizes"},
	"CLIENT LIST":   {sameKind, replies, "ids, addresses, ages and buffer sizes"},
	"COMMAND":       {sameKind, replies, "the command tables differ; rows are compared through COMMAND INFO"},
	"COMMAND COUNT": {sameKind, replies, "the command tables differ in size"},
	"COMMAND DOCS":  {sameKind, replies, "summaries are each server's own words"},
	"COMMAND LIST":  {sameKind, replies, "the command tables differ"},
	"COMMAND INFO":  {commandRows, replies, "flags and categories are sets; tips and key specifications are notes to clients"},
	"HELLO":         {helloFacts, replies, "version and connection id"},
	"INFO":          {sameKind, replies, "version, memory, counters, process facts"},
	"CONFIG GET":    {samePairs, replies, "Redis walks a hash table: the order of the pairs is random"},

	// Unordered results.
	"KEYS":     {sameElements, replies, "the order of the hash table"},
	"HGETALL":  {fieldOrder, replies, "the order of the hash table; ours is that of insertion, as in a listpack"},
	"HKEYS":    {fieldOrder, replies, "the order of the hash table; ours is that of insertion, as in a listpack"},
	"HVALS":    {fieldOrder, replies, "the order of the hash table; ours is that of insertion, as in a listpack"},
	"SORT":     {sortedByChance, replies, "the order of the hash table, where what is compared is equal"},
	"SORT_RO":  {sortedByChance, replies, "the order of the hash table, where what is compared is equal"},
	"SMEMBERS": {memberOrder, replies, "the order of the hash table; an intset is in order"},
	"SINTER":   {sameElements, replies, "the order of the hash table"},
	"SUNION":   {sameElements, replies, "the order of the hash table"},
	"SDIFF":    {sameElements, replies, "the order of the hash table"},

	// Cursors: one page is shape only, the union over all pages is compared by steps that iterate.
	"SCAN":  {scanPage, replies, "cursors and what one page holds depend on the hash table"},
	"HSCAN": {scanPage, replies, "cursors and what one page holds depend on the hash table"},
	"SSCAN": {scanPage, replies, "cursors and what one page holds depend on the hash table"},
	"ZSCAN": {scanPage, replies, "cursors and what one page holds depend on the hash table"},

	// Random picks: right in number, and taken from what is there.
	"RANDOMKEY":   {pickOne, replies, "random"},
	"HRANDFIELD":  {pickMembers, replies, "random"},
	"SPOP":        {pickFromSet, replies, "random"},
	"SRANDMEMBER": {pickFromSet, replies, "random"},
	"ZRANDMEMBER": {pickMembers, replies, "random"},

	// Where the product is to answer and Redis 7.0.15 refuses.
	"CLIENT NO-TOUCH": {laterRedis, evenErrors, "added in Redis 7.2; clients send it and must not fail"},
	"CLIENT SETINFO":  {laterRedis, evenErrors, "added in Redis 7.2; clients send it and must not fail"},
	"CLUSTER KEYSLOT": {keySlot, evenErrors, "Redis refuses outside cluster mode; ours answers the slot, computed here a second time"},

	// What the time of day decides. With both clocks held, these too are compared byte for byte.
	"TIME":        {sameShape, looseClock, "the clocks run"},
	"TTL":         {nearSeconds, looseClock, "the clocks run"},
	"PTTL":        {nearMilliseconds, looseClock, "the clocks run"},
	"EXPIRETIME":  {nearSeconds, looseClock, "the clocks run"},
	"PEXPIRETIME": {nearMilliseconds, looseClock, "the clocks run"},
}

// interpreterWords are what Lua 5.1 itself says of a script that does not compile or fails while it runs. Another
// interpreter has its own words; what Redis puts around them (code, line, SHA1) is compared. The texts that Redis
// writes itself (nonexistent global, wrong arguments of redis.call, any command's error) are not in here.
var interpreterWords = regexp.MustCompile(`attempt to |bad argument #|unexpected symbol|unfinished |malformed number|` +
	`expected|near '|invalid option|invalid value|stack overflow|string length overflow|invalid escape|wrong number of arguments to|'for' `)
