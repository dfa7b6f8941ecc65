package rl

import (
	"bytes"
	"strconv"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
)

// The effects of the commands that Redis does not have are ordinary commands of Redis,
// whose size depends on what has changed and not on the arguments.

// pairs is the most units that one ZADD adds. A longer run is added by a script, so
// that the size of the log does not depend on the cost of calls.
const pairs = 64

// runScript adds a run of units, given the first and their number.
var runScript = []byte("for i=ARGV[1]+0,ARGV[1]+ARGV[2]-1 do redis.call('ZADD',KEYS[1],i,i) end")

// AddRun reports whether a call is one of runScript, and if so does what the script
// does, without a step for each unit: loading a log must not take longer than writing
// it.
func AddRun(c *commands.Ctx) bool {
	if len(c.Args) != 6 || len(c.Args[1]) != len(runScript) || !bytes.Equal(c.Args[1], runScript) ||
		string(c.Args[2]) != "1" {
		return false
	}
	first, ok1 := store.ParseInt(c.Args[4])
	units, ok2 := store.ParseInt(c.Args[5])
	if !ok1 || !ok2 || first < limiter.MinScore || units < 1 || units > limiter.MaxCost ||
		first >= limiter.MaxScore-units {
		return false
	}
	var k logKey
	refusal := findLog(c, &k, c.Args[3])
	if refusal.IsError() || k.set != nil && k.set.Newest() >= first {
		return false
	}
	if k.node == nil {
		k.node, k.set = c.DB.PutZSet(k.name)
	}
	k.set.AppendRun(first, int(units))
	k.set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
	c.DB.Touch(k.node)
	if c.Group() != nil {
		didUnits(c, k.name, first, units)
	}
	return true
}

// The heads of effects that many calls have.
var (
	loggedZAdd1 = commands.NewEffectHead(4, "ZADD")
	loggedDrop  = commands.NewEffectHead(4, "ZREMRANGEBYSCORE")
	loggedDrop1 = commands.NewEffectHead(3, "ZREM")
)

// didUnits records that a run of units was added to a log.
func didUnits(c *commands.Ctx, key []byte, first, n int64) {
	if n > pairs {
		c.DidScript("ZADD", runScript, key, first, n)
		return
	}
	if n == 1 {
		c.DidHead(&loggedZAdd1, key).Ints(first)
		return
	}
	g := c.Did(2+2*int(n), "ZADD", key)
	for unit := first; unit < first+n; unit++ {
		g.Ints(unit)
	}
}

// didDrop records that the units with scores from first to last were removed.
func didDrop(c *commands.Ctx, key []byte, first, last int64) {
	if first == last {
		if g := c.DidHead(&loggedDrop1, key); g != nil {
			g.Int(first)
		}
		return
	}
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
