package rl

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
	"github.com/zlimit/zlimit/store/zset"
)

var rlAdoptRows = []commands.Command{{
	Name: "rl.adopt", Arity: -2, Flags: commands.Write | commands.DenyOOM, Keys: key("RW access update"),
	Group: "rate-limit", Since: "0.1.0", Complexity: "O(N*log(N)) with N members", Handler: rlAdopt,
	Syntax: "key [BACK <s | ms | us | ns>]",
	Summary: "Makes RL.ALLOW's log of a sorted set of times that another limiter wrote, " +
		"or the set of the log.",
	Example: "user:42",
}}

// RL.ADOPT key [BACK unit]
//
// The reply is the number of units converted: 0 if the key does not exist or already has
// the form asked for. The deadline stays. A hit counts at least as long as before: a whole second
// becomes its last millisecond, a fraction is rounded up, and so is a unit of the log that
// becomes a time in seconds.
func rlAdopt(c *commands.Ctx) resp.Value {
	back, refusal := parseAdopt(c.Args)
	if refusal.IsError() {
		return refusal
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Int(0)
	}
	set, refusal := adopted(c, n, back)
	if set == nil {
		return refusal
	}
	set.NoteEncoding(int(c.Settings.ZSetMaxListpackCount), int(c.Settings.ZSetMaxListpackValue))
	atMs, expires := n.Value.ExpireAtMs()
	converted := int64(set.Len())
	if set.IsLog() {
		converted = set.Units()
	}
	c.DidCall("DEL", c.Args[1])
	didMembers(c, c.Args[1], set)
	n = c.DB.Put(c.Args[1], set)
	if expires {
		c.DB.ExpireAt(n, atMs)
		c.DidExpire(c.Args[1], atMs)
	}
	return resp.Int(converted)
}

// adopted converts the sorted set in n to a log, or to times in the unit back if that is not
// nil. If it converts nothing, it returns a nil set and the reply.
func adopted(c *commands.Ctx, n *store.Node, back *scoreUnit) (to *zset.Set, reply resp.Value) {
	from := store.ZSetOf(n)
	if from == nil || isLeaseSet(n, from) {
		return nil, logAlgorithm.wrongState(c, n)
	}
	isLog, unit := isUnitLog(from), scoreUnitOf(from)
	to = &zset.Set{}
	switch {
	case isLog && back == nil, !isLog && back != nil && unit == back:
		return nil, resp.Int(0)
	case from.Len() > MaxAdopted, isLog && from.Units() > MaxAdopted:
		return nil, ErrAdoptLarge
	case isLog:
		back.fill(to, from)
	case back != nil:
		return nil, errForeignSet
	case unit == nil:
		return nil, ErrAdoptScores
	case !fillLog(to, foreignLog{from, unit}):
		return nil, rlError(limiter.ErrInstant)
	}
	return to, resp.None
}

// MaxAdopted is the most members that RL.ADOPT converts, or units that it makes members of.
const MaxAdopted = 1_000_000

// parseAdopt returns the unit behind BACK, or nil.
func parseAdopt(args [][]byte) (back *scoreUnit, refusal resp.Value) {
	switch {
	case len(args) == 2:
		return nil, resp.None
	case !commands.EqualFold(args[2], "back"):
		return nil, commands.SyntaxError(commands.Quote(args[2]) + " is not BACK")
	case len(args) != 4:
		return nil, errAdoptUnit
	}
	i := slices.IndexFunc(scoreUnits, func(u scoreUnit) bool {
		return strings.EqualFold(u.name, string(args[3]))
	})
	if i < 0 {
		return nil, errAdoptUnit
	}
	return &scoreUnits[i], resp.None
}

// fillLog appends the hits of another limiter to an empty log. It reports whether the
// scores are those of a log.
func fillLog(to *zset.Set, from foreignLog) (made bool) {
	from.set.Ascend(0, func(e zset.Entry) bool {
		change, err := limiter.Record(to, from.time.lastMs(e.Score), 0, limiter.MaxWindowMs, 1)
		if made = err == nil; made {
			to.AddUnits(change.Score, 1)
		}
		return made
	})
	return made
}

// lastMs returns the millisecond at which a hit has come, at the latest: limiters stamp the
// hits of a second with its beginning.
func (u *scoreUnit) lastMs(score float64) int64 {
	ms := u.unit(score) / 1000
	if u == &scoreUnits[0] && score == math.Trunc(score) {
		ms += 999
	}
	return ms
}

// fill adds a member for each unit of a log to an empty set, scored with its millisecond in
// the unit of time u. No limiter makes members of this form, so none is overwritten.
func (u *scoreUnit) fill(to, from *zset.Set) {
	var member []byte
	from.Ascend(0, func(e zset.Entry) bool {
		member = strconv.AppendInt(append(member[:0], "zlimit:"...), e.Number(), 10)
		score := math.Ceil(math.Floor(e.Score/1000) * 1000 * u.divided / u.toUs)
		if score > 1<<53 { // which may be rounded down
			score = math.Nextafter(score, math.Inf(1))
		}
		to.Add(member, score)
		for unit, stem := int64(2), len(member); unit <= e.Units(); unit++ {
			member = strconv.AppendInt(append(member[:stem], '-'), unit, 10)
			to.Add(member, score)
		}
		return true
	})
}

// didMembers records that all members of a set were added.
func didMembers(c *commands.Ctx, key []byte, set *zset.Set) {
	if c.Group() == nil {
		return
	}
	var g *effects.Group
	var member []byte
	rank, size := 0, set.Len()
	set.Ascend(0, func(e zset.Entry) bool {
		if rank%pairs == 0 {
			g = c.Did(2+2*min(pairs, size-rank), "ZADD", key)
		}
		g.Int(int64(e.Score)) // a whole number
		member = e.AppendMember(member[:0])
		g.Bytes(member)
		rank++
		return true
	})
}

// ParseAdopt parses RL.ADOPT.
func (l *LimitCall) ParseAdopt(c *commands.Ctx) resp.Value {
	back, refusal := parseAdopt(c.Args)
	if back != nil {
		l.Unit = back.name
	}
	l.Algorithm = logAlgorithm.name
	return refusal
}
