package commands

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/effects"
)

// restoreSyntax is the syntax of RESTORE and of RESTORE-ASKING, which in a cluster is
// allowed while the slot is being imported.
const restoreSyntax = "key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]"

const newerPayloads = "payloads of Redis 7.2 are taken, too"

// Dumps are the rows of the commands that move single values between servers.
var Dumps = []Command{
	{
		Name: "dump", Arity: 2, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Tips:  []string{"nondeterministic_output"},
		Group: "generic", Since: "2.6.0", Complexity: "O(N)", Syntax: "key", Handler: dumpKey,
		Summary: "Returns a serialized value for RESTORE.",
	},
	{
		Name: "restore", Event: "restore", Arity: -4,
		Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update")},
		Categories: []string{"dangerous"},
		Group:      "generic", Since: "2.6.0", Complexity: "O(N*log(N))", Syntax: restoreSyntax,
		Handler:   restore,
		Summary:   "Creates a key from what DUMP returned.",
		Deviation: newerPayloads,
	},
	{
		Name: "restore-asking", Event: "restore", Arity: -4,
		Flags: Write | DenyOOM | Asking, Keys: []KeySpec{key(1, "OW update")},
		Categories: []string{"keyspace", "dangerous"},
		Group:      "server", Since: "3.0.0", Complexity: "O(N*log(N))", Syntax: restoreSyntax,
		Handler:   restore,
		Summary:   "Restores a key as RESTORE does, for tools that move keys within a cluster.",
		Deviation: newerPayloads,
	},
}

// dumped returns DUMP's payload of a value. A small one is valid until the next call.
func (c *Ctx) dumped(value store.Value) []byte {
	if c.scratch.dumper == nil {
		c.scratch.dumper = &rdb.Dumper{}
	}
	return c.scratch.dumper.Dump(value, c.Settings.RDBCompression)
}

// SerializedLen returns how many bytes a key's value takes in a snapshot.
func (c *Ctx) SerializedLen(n *store.Node) int {
	const typeAndFooter = 1 + 10
	return len(c.dumped(store.DataOf(n))) - typeAndFooter
}

// DUMP key
func dumpKey(c *Ctx) resp.Value {
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	if n == nil {
		return resp.Null
	}
	value := store.DataOf(n)
	if !rdb.Large(value) {
		return c.Copy(c.dumped(value))
	}
	if c.Mode.Is(MayStream) && !store.TypeOf(value).FreezesInSteps() {
		frozen, _ := store.Freeze(value)
		return resp.Streamed(&dumpStream{frozen, c.Settings.RDBCompression})
	}
	return c.own(c.dumped(value))
}

// A dumpStream is DUMP's reply of a frozen value. It is encoded in pieces while it is
// sent, when the key's shard is no longer locked.
type dumpStream struct {
	value    store.Value
	compress bool
}

func (d *dumpStream) WriteTo(w io.Writer) (int64, error) {
	payload := rdb.NewPayload(d.compress)
	size := payload.Size(d.value)
	head, err := fmt.Fprintf(w, "$%d\r\n", size)
	if err != nil {
		return int64(head), err
	}
	if err := payload.Write(w, d.value); err != nil {
		return int64(head), err
	}
	_, err = io.WriteString(w, "\r\n")
	return int64(head + size + 2), err
}

// restoreOptions are RESTORE's options.
type restoreOptions struct {
	replace, absTTL bool
	idleS           int64 // -1: used now
	freq            int64 // -1: that of a new key
}

func parseRestore(args [][]byte) (out restoreOptions, refusal resp.Value) {
	idle, freq := false, false
	out.idleS, out.freq = -1, -1
	for o := (options{args}); o.more(); {
		switch {
		case o.word("replace"):
			out.replace = true
		case o.word("absttl"):
			out.absTTL = true
		case !freq && o.wordWith("idletime", 1):
			idle = true
			var refusal resp.Value
			if out.idleS, refusal = toInt(o.value()); refusal.IsError() {
				return out, refusal
			}
			if out.idleS < 0 {
				return out, errRestoreIdle
			}
		case !idle && o.wordWith("freq", 1):
			freq = true
			var refusal resp.Value
			if out.freq, refusal = toInt(o.value()); refusal.IsError() {
				return out, refusal
			}
			if out.freq < 0 || out.freq > math.MaxUint8 {
				return out, errRestoreFreq
			}
		default:
			return out, ErrSyntax
		}
	}
	return out, resp.None
}

// RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds]
// [FREQ frequency]
func restore(c *Ctx) resp.Value {
	key, payload := c.Args[1], c.Args[3]
	o, refusal := parseRestore(c.Args[4:])
	if refusal.IsError() {
		return refusal
	}
	old := c.DB.Find(key, c.NowMs)
	if old != nil && !o.replace {
		return errBusyKey
	}
	ttl, refusal := toInt(c.Args[2])
	switch {
	case refusal.IsError():
		return refusal
	case ttl < 0:
		return errRestoreTTL
	}
	value, err := rdb.Restore(payload, c.Settings.encodings())
	switch {
	case errors.Is(err, rdb.ErrFooter):
		return errDumpFooter
	case err != nil:
		return errDumpFormat
	}
	if old != nil {
		c.DB.DeleteForReplace(old)
	}
	atMs := ttl
	if ttl != 0 && !o.absTTL {
		atMs += c.NowMs // it may overflow into the past, as in Redis
	}
	if ttl != 0 && atMs <= c.NowMs {
		if old != nil && c.Group() != nil {
			c.note(effects.Del, key)
			c.Group().Begin(c.DBIndex, 2)
			c.Group().Text("DEL")
			c.Group().Bytes(key)
		}
		return resp.OK
	}
	made := c.DB.Put(key, value)
	if ttl != 0 {
		c.DB.ExpireAt(made, atMs)
	}
	if o.idleS >= 0 {
		c.DB.SetIdle(made, o.idleS, c.NowMs)
	}
	if o.freq >= 0 {
		c.DB.SetFrequency(made, uint8(o.freq), c.NowMs)
	}
	c.recordRestore(value, atMs, o.absTTL)
	return resp.OK
}

// recordRestore records a RESTORE with its deadline as an instant and with a payload
// that Redis 7.0 can read.
func (c *Ctx) recordRestore(value store.Value, atMs int64, absTTL bool) {
	if c.Group() == nil {
		return
	}
	n := len(c.Args)
	add := atMs != 0 && !absTTL
	if add {
		n++
	}
	c.Group().Begin(c.DBIndex, n)
	for i, arg := range c.Args {
		switch {
		case i == 2:
			c.Group().Int(atMs)
		case i == 3 && !rdb.Common(arg):
			c.Group().Bytes(c.dumped(value))
		default:
			c.Group().Bytes(arg)
		}
	}
	if add {
		c.Group().Text("ABSTTL")
	}
}

// encodings returns the limits of packed encodings.
func (s *Settings) encodings() rdb.Limits {
	return rdb.Limits{
		HashEntries: s.HashMaxListpackCount, HashValue: s.HashMaxListpackValue,
		SetInts:     s.SetMaxIntsetCount,
		ZSetEntries: s.ZSetMaxListpackCount, ZSetValue: s.ZSetMaxListpackValue,
	}
}
