package introspection

import (
	"math/bits"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// flagNames are the names of the flags by bit, up to the last one that Redis
// knows; the flags above are ours and are not shown.
var flagNames = [...]string{
	"write", "readonly", "denyoom", "module", "admin", "pubsub", "noscript",
	"blocking", "loading", "stale", "skip_monitor", "skip_slowlog", "asking",
	"fast", "no_auth", "no_mandatory_keys", "no_async_loading",
	"no_multi", "movablekeys", "allow_busy",
}

// COMMAND INFO [command-name [command-name ...]]
func (in *introspection) commandInfo(c *commands.Ctx) resp.Value {
	names := c.Args[2:]
	if len(names) == 0 {
		return in.all(c)
	}
	out := make([]resp.Value, len(names))
	infos := make(perRow)
	for i, name := range names {
		out[i] = resp.Null
		if cmd := in.table().Find(name); cmd != nil {
			out[i] = infos.of(cmd, infoOf)
		}
	}
	return resp.Array(out...)
}

func infoOfAll(rows []*commands.Command) resp.Value {
	out := make([]resp.Value, len(rows))
	for i, cmd := range rows {
		out[i] = infoOf(cmd)
	}
	return resp.Array(out...)
}

// infoOf returns a command's entry in COMMAND INFO.
func infoOf(c *commands.Command) resp.Value {
	first, last, step, movable := legacyKeys(c.Keys)
	flags := c.Flags
	if movable {
		flags |= commands.MovableKeys
	}
	specs := make([]resp.Value, len(c.Keys))
	for i := range c.Keys {
		specs[i] = specInfo(&c.Keys[i], c.Reads != nil, c.Is(commands.ByPolicy))
	}
	subs := resp.Set() // in Redis an empty one is a set, others are arrays
	if len(c.Subs) > 0 {
		entries := make([]resp.Value, len(c.Subs))
		for i := range c.Subs {
			entries[i] = infoOf(&c.Subs[i])
		}
		subs = resp.Array(entries...)
	}
	return resp.Array(
		resp.Bulk(c.FullName()),
		resp.Int(int64(c.Arity)),
		statusSet(namesOf(flags)),
		resp.Int(int64(first)), resp.Int(int64(last)), resp.Int(int64(step)),
		statusSet(prefixed("@", c.ACLCategories().Names())),
		resp.Set(resp.Bulks(c.Tips)...),
		resp.Set(specs...),
		subs,
	)
}

// namesOf returns the names of Redis' flags, in Redis' order.
func namesOf(f commands.Flags) []string {
	var out []string
	for rest := uint32(f) & (1<<len(flagNames) - 1); rest != 0; rest &= rest - 1 {
		out = append(out, flagNames[bits.TrailingZeros32(rest)])
	}
	return out
}

// specInfo returns a key specification's entry in COMMAND INFO. varies says that the command has
// calls that only read, unknown that only the server can find its keys.
func specInfo(k *commands.KeySpec, varies, unknown bool) resp.Value {
	var pairs []resp.Value
	if k.Notes != "" {
		pairs = append(pairs, resp.Bulk("notes"), resp.Bulk(k.Notes))
	}
	find := specMap("range", "lastkey", k.Last, "keystep", k.Step, "limit", 0)
	if k.KeyNum {
		find = specMap("keynum", "keynumidx", 0, "firstkey", 1, "keystep", k.Step)
	}
	flags := strings.Fields(k.Flags)
	if varies {
		flags = append(flags, "variable_flags")
	}
	begin := specMap("index", "index", k.First)
	if k.StepIn != nil {
		find = specMap("unknown")
	}
	if unknown || k.IsUnknown() {
		begin, find = specMap("unknown"), specMap("unknown")
	}
	return resp.Map(append(pairs,
		resp.Bulk("flags"), statusSet(flags),
		resp.Bulk("begin_search"), begin,
		resp.Bulk("find_keys"), find,
	)...)
}

// specMap returns one half of a key specification: its type, and its numbers as
// alternating names and ints.
func specMap(kind string, numbers ...any) resp.Value {
	spec := make([]resp.Value, 0, len(numbers))
	for i := 0; i < len(numbers); i += 2 {
		spec = append(spec, resp.Bulk(numbers[i].(string)), resp.Int(int64(numbers[i+1].(int))))
	}
	return resp.Map(resp.Bulk("type"), resp.Bulk(kind), resp.Bulk("spec"), resp.Map(spec...))
}

// legacyKeys returns the first key, last key and step that COMMAND INFO had before key
// specifications; 0 if no key has a known position. movable reports that they are
// incomplete and clients must call COMMAND GETKEYS: a count decides where keys are, a
// key is no argument, or specifications do not form one range.
func legacyKeys(specs []commands.KeySpec) (first, last, step int, movable bool) {
	if len(specs) == 1 && !specs[0].KeyNum {
		k := &specs[0]
		return k.First, lastPosition(k), k.Step, false
	}
	for i := range specs {
		k := &specs[i]
		if k.KeyNum || k.IsUnknown() || k.Step != 1 || first != 0 && last != k.First-1 {
			movable = true
			continue
		}
		if first == 0 {
			first, step = k.First, 1
		}
		last = lastPosition(k)
	}
	return first, last, step, movable
}

// lastPosition returns the position of the last key: from the command's name, or, if
// negative, from the end of the arguments.
func lastPosition(k *commands.KeySpec) int {
	if k.Last < 0 {
		return k.Last
	}
	return k.First + k.Last
}

func statusSet(words []string) resp.Value {
	out := make([]resp.Value, len(words))
	for i, w := range words {
		out[i] = resp.Status(w)
	}
	return resp.Set(out...)
}

func prefixed(prefix string, words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = prefix + w
	}
	return out
}
