package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/zset"
)

// The effects of the commands that Redis does not have are ordinary commands of Redis,
// whose size depends on what has changed and not on the arguments.

// pairs is the most members that one ZADD adds.
const pairs = 64

// runScript adds a run of plain entries, given the first and their number: 0.1.0 recorded so what a call of a
// cost above 64 had added.
var runScript = []byte("for i=ARGV[1]+0,ARGV[1]+ARGV[2]-1 do redis.call('ZADD',KEYS[1],i,i) end")

// maxRun is the largest cost of 0.1.0.
const maxRun = 1_000_000

// AddRun reports whether a call is one of runScript, and if so does what the script
// does, without a step for each entry: loading a log must not take longer than writing
// it.
func AddRun(c *commands.Ctx) bool {
	if len(c.Args) != 6 || len(c.Args[1]) != len(runScript) || !bytes.Equal(c.Args[1], runScript) ||
		string(c.Args[2]) != "1" {
		return false
	}
	first, ok1 := store.ParseInt(c.Args[4])
	units, ok2 := store.ParseInt(c.Args[5])
	if !ok1 || !ok2 || first < limiter.MinScore || units < 1 || units > maxRun ||
		first >= limiter.MaxScore-units {
		return false
	}
	var k logKey
	refusal := findLog(c, &k, c.Args[3])
	if refusal.IsError() || k.set != nil && (k.set.Newest() >= first || k.set.IsWeighted()) {
		return false
	}
	if k.node == nil {
		k.node, k.set = c.DB.AddZSet(k.name)
	}
	k.set.AppendRun(first, int(units))
	k.set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
	c.DB.Touch(k.node)
	c.DidScript("ZADD", runScript, k.name, first, units)
	return true
}

// The heads of effects that many calls have.
var (
	loggedZAdd1 = commands.NewEffectHead(4, "ZADD")
	loggedDrop  = commands.NewEffectHead(4, "ZREMRANGEBYSCORE")
	loggedDrop1 = commands.NewEffectHead(3, "ZREM")
)

// didEntry records that the entry with this score was added to a log.
func didEntry(c *commands.Ctx, key []byte, set *zset.Set, score int64) {
	g := c.DidHead(&loggedZAdd1, key)
	if g == nil {
		return
	}
	if e := set.EntryOf(score); !e.IsNumber() {
		g.Int(score)
		g.Bytes(appendMember(e))
		return
	}
	g.Ints(score)
}

// didRemoveEntry records that the entry with this score, which the log still has, is removed.
func didRemoveEntry(c *commands.Ctx, key []byte, set *zset.Set, score int64) {
	if g := c.DidHead(&loggedDrop1, key); g != nil {
		g.Bytes(appendMember(set.EntryOf(score)))
	}
}

func appendMember(e zset.Entry) []byte {
	var member [40]byte
	return e.AppendMember(member[:0])
}

// didDrop records that the entries with scores from first to last were removed.
func didDrop(c *commands.Ctx, key []byte, first, last int64) {
	if g := c.DidHead(&loggedDrop, key); g != nil {
		g.Int(first)
		g.Int(last)
	}
}

// didCount records a number and its deadline, which was oldMs.
func didCount(c *commands.Ctx, key []byte, n, atMs, oldMs int64) {
	var digits [20]byte
	c.DidValueAt(key, strconv.AppendInt(digits[:0], n, 10), atMs, oldMs)
}

// bucketsBefore is the state that setBuckets compares with; zero for no key.
type bucketsBefore struct{ newestMs, atMs int64 }

func bucketsAt(n *store.Node, h *hash.Hash) (b bucketsBefore) {
	text, _ := h.Get(fieldNewest)
	b.newestMs, _ = store.ParseInt(text)
	b.atMs, _ = n.Value.ExpireAtMs()
	return b
}

// didBuckets records the state of BUCKETS.
func didBuckets(c *commands.Ctx, key []byte, n *store.Node, h *hash.Hash, before bucketsBefore) {
	after := bucketsAt(n, h)
	fields := [...][]byte{fieldWidth, fieldN, fieldNewest, fieldCounts}
	changed := fields[:]
	switch before.newestMs {
	case 0:
	case after.newestMs:
		changed = changed[3:]
	default:
		changed = changed[2:]
	}
	g := c.Did(2+2*len(changed), "HSET", key)
	for _, f := range changed {
		g.Bytes(f)
		value, _ := h.Get(f)
		g.Bytes(value)
	}
	if after.atMs != 0 && after.atMs != before.atMs {
		c.DidExpire(key, after.atMs)
	}
}
