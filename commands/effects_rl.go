package commands

import (
	"bytes"
	"strconv"

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
func (c *Ctx) AddRun() bool {
	if len(c.Args) != 6 || len(c.Args[1]) != len(runScript) || !bytes.Equal(c.Args[1], runScript) ||
		string(c.Args[2]) != "1" {
		return false
	}
	first, ok1 := parseInt(c.Args[4])
	units, ok2 := parseInt(c.Args[5])
	if !ok1 || !ok2 || first < limiter.MinScore || units < 1 || units > limiter.MaxCost ||
		first >= limiter.MaxScore-units {
		return false
	}
	var k logKey
	refusal := c.findLog(&k, c.Args[3])
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
		c.didUnits(k.name, first, units)
	}
	return true
}

// didUnits records that a run of units was added to a log.
func (c *Ctx) didUnits(key []byte, first, n int64) {
	if n > pairs {
		g := c.Group()
		if g.LacksEvent() {
			g.Note(c.DB.ID(), loggedEvents["ZADD"], key)
		}
		g.Begin(c.DB.ID(), 6)
		g.Text("EVAL")
		g.Bytes(runScript)
		g.Text("1")
		g.Bytes(key)
		g.Int(first)
		g.Int(n)
		return
	}
	if n == 1 {
		c.start(&loggedZAdd1, key).Ints(first)
		return
	}
	g := c.did(2+2*int(n), "ZADD", key)
	for unit := first; unit < first+n; unit++ {
		g.Ints(unit)
	}
}

// didDrop records that the units with scores from first to last were removed.
func (c *Ctx) didDrop(key []byte, first, last int64) {
	if first == last {
		if g := c.start(&loggedDrop1, key); g != nil {
			g.Int(first)
		}
		return
	}
	if g := c.start(&loggedDrop, key); g != nil {
		g.Int(first)
		g.Int(last)
	}
}

// didValueAt records a string and its deadline, 0 for none. The old deadline was oldMs.
func (c *Ctx) didValueAt(key, text []byte, atMs, oldMs int64) {
	if atMs != 0 && atMs == oldMs {
		c.didCall("SET", key, text, keepTTL)
	} else {
		c.didSet(key, text, atMs)
	}
}

// didCount is didValueAt for a number.
func (c *Ctx) didCount(key []byte, n, atMs, oldMs int64) {
	var digits [20]byte
	c.didValueAt(key, strconv.AppendInt(digits[:0], n, 10), atMs, oldMs)
}

// bucketsBefore is the state that setBuckets compares with; zero for no key.
type bucketsBefore struct{ newestMs, atMs int64 }

func bucketsAt(n *store.Node, h *hash.Hash) (b bucketsBefore) {
	text, _ := h.Get(fieldNewest)
	b.newestMs, _ = parseInt(text)
	b.atMs, _ = n.Value.ExpireAtMs()
	return b
}

// didBuckets records the state of BUCKETS.
func (c *Ctx) didBuckets(key []byte, n *store.Node, h *hash.Hash, before bucketsBefore) {
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
	g := c.did(2+2*len(changed), "HSET", key)
	for _, f := range changed {
		g.Bytes(f)
		value, _ := h.Get(f)
		g.Bytes(value)
	}
	if after.atMs != 0 && after.atMs != before.atMs {
		c.didExpire(key, after.atMs)
	}
}
