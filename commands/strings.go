package commands

import (
	"math"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// Strings are the commands on string values, and counters among them.
var Strings = append([]Command{
	{
		Name: "append", Event: "append", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW insert")},
		Group: "string", Since: "2.0.0", Complexity: "O(1)", Syntax: "key value", Handler: appendValue,
		Summary: "Appends to a string.",
	},
	{
		Name: "decr", Event: "incrby", Arity: 2, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: decr,
		Summary: "Subtracts one from the number in a key.",
	},
	{
		Name: "decrby", Event: "incrby", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key decrement", Handler: decrBy,
		Summary: "Subtracts from the number in a key.",
	},
	{
		Name: "get", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO access")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: get,
		Summary: "Returns the value of a string key.",
	},
	{
		Name: "getdel", Event: "del", Arity: 2, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Group: "string", Since: "6.2.0", Complexity: "O(1)", Syntax: "key", Handler: getDel,
		Summary: "Returns the value of a string key and removes the key.",
	},
	{
		Name: "getex", Event: "expire", Arity: -2, Flags: Write | Fast,
		Keys:  []KeySpec{{Flags: "RW access update", First: 1, Step: 1, Notes: "the deadline may change"}},
		Group: "string", Since: "6.2.0", Complexity: "O(1)", Handler: getEx,
		Syntax: "key " +
			"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
		Summary: "Returns the value of a string key and sets or removes its deadline.",
	},
	{
		Name: "getrange", Arity: 4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "string", Since: "2.4.0", Complexity: "O(N)", Syntax: "key start end", Handler: getRange,
		Summary: "Returns part of a string.",
	},
	{
		Name: "getset", Event: "set", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key value", Handler: getSet,
		Summary: "Sets a string key and returns its old value.",
	},
	{
		Name: "incr", Event: "incrby", Arity: 2, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: incr,
		Summary: "Adds one to the number in a key.",
	},
	{
		Name: "incrby", Event: "incrby", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key increment", Handler: incrBy,
		Summary: "Adds to the number in a key.",
	},
	{
		Name: "incrbyfloat", Event: "incrbyfloat", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW access update")},
		Group: "string", Since: "2.6.0", Complexity: "O(1)", Syntax: "key increment", Handler: incrByFloat,
		Summary: "Adds a fraction to the number in a key.",
	},
	{
		Name: "lcs", Arity: -3, Flags: ReadOnly,
		Keys:  []KeySpec{{Flags: "RO access", First: 1, Last: 1, Step: 1}},
		Group: "string", Since: "7.0.0", Complexity: "O(N*M)", Handler: lcs,
		Syntax: "key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]",
		Summary: "Returns the longest common subsequence of two strings, its length, " +
			"or its positions in both.",
	},
	{
		Name: "mget", Arity: -2, Flags: ReadOnly | Fast, Keys: []KeySpec{keys(1, "RO access")},
		Tips:  []string{"request_policy:multi_shard"},
		Group: "string", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [key ...]", Handler: mget,
		Summary: "Returns the values of several string keys.",
	},
	{
		Name: "mset", Event: "set", Arity: -3, Flags: Write | DenyOOM, Keys: []KeySpec{keys(2, "OW update")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:all_succeeded"},
		Group: "string", Since: "1.0.1", Complexity: "O(N)",
		Syntax: "key value [key value ...]", Handler: mset,
		Summary: "Sets several string keys.",
	},
	{
		Name: "msetnx", Event: "set", Arity: -3, Flags: Write | DenyOOM,
		Keys:  []KeySpec{keys(2, "OW insert")},
		Tips:  []string{"request_policy:multi_shard", "response_policy:agg_min"},
		Group: "string", Since: "1.0.1", Complexity: "O(N)",
		Syntax: "key value [key value ...]", Handler: msetNX,
		Summary: "Sets several string keys if none of them exists.",
	},
	{
		Name: "psetex", Event: "set", Arity: 4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update")},
		Group: "string", Since: "2.6.0", Complexity: "O(1)",
		Syntax: "key milliseconds value", Handler: psetEx,
		Summary: "Sets a string key with a time to live in milliseconds.",
	},
	{
		Name: "set", Event: "set", Arity: -3, Flags: Write | DenyOOM,
		Keys: []KeySpec{{
			Flags: "RW access update variable_flags", First: 1, Step: 1,
			Notes: "GET reads what was there before", FlagsIn: setKeyFlags,
		}},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Handler: setString,
		Syntax: "key value [NX | XX] [GET] " +
			"[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
		Summary: "Sets a string key.",
	},
	{
		Name: "setex", Event: "set", Arity: 4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "OW update")},
		Group: "string", Since: "2.0.0", Complexity: "O(1)", Syntax: "key seconds value", Handler: setEx,
		Summary: "Sets a string key with a time to live in seconds.",
	},
	{
		Name: "setnx", Event: "set", Arity: 3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "OW insert")},
		Group: "string", Since: "1.0.0", Complexity: "O(1)", Syntax: "key value", Handler: setNX,
		Summary: "Sets a string key that does not exist.",
	},
	{
		Name: "setrange", Event: "setrange", Arity: 4, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "RW update")},
		Group: "string", Since: "2.2.0", Complexity: "O(1)", Syntax: "key offset value", Handler: setRange,
		Summary: "Overwrites part of a string.",
	},
	{
		Name: "strlen", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "string", Since: "2.2.0", Complexity: "O(1)", Syntax: "key", Handler: strLen,
		Summary: "Returns the length of a string in bytes.",
	},
	{
		Name: "substr", Arity: 4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "string", Since: "1.0.0", Complexity: "O(N)", Syntax: "key start end", Handler: getRange,
		Summary: "Returns part of a string: GETRANGE by its first name.",
	},
}, increxRow)

// stringOf returns n's string, or nil if n is nil. It fails if n holds another type.
func stringOf(n *store.Node) (*store.String, resp.Value) {
	if n == nil {
		return nil, resp.None
	}
	s := store.StringOf(n)
	if s == nil {
		return nil, ErrWrongType
	}
	return s, resp.None
}

// stringReply returns the text of s as a reply, or null if s is nil.
func stringReply(c *Ctx, s *store.String) resp.Value {
	if s == nil {
		return resp.Null
	}
	if n, ok := s.Int(); ok {
		return resp.BulkInt(n)
	}
	return c.Copy(s.Bytes(nil))
}

// GET key
func get(c *Ctx) resp.Value {
	s, refusal := stringOf(c.DB.Lookup(c.Args[1], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	return stringReply(c, s)
}

// MGET key [key ...]
func mget(c *Ctx) resp.Value {
	out := c.Build(len(c.Args) - 1)
	for _, k := range c.Args[1:] {
		s, _ := stringOf(c.DB.Lookup(k, c.NowMs))
		if !out.Add(stringReply(c, s)) { // null for a key of another type
			break
		}
	}
	return out.Array()
}

// GETDEL key
func getDel(c *Ctx) resp.Value {
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	reply := stringReply(c, s)
	if n != nil {
		c.DB.Delete(n)
		c.DidCall("DEL", c.Args[1])
	}
	return reply
}

// GETSET key value
func getSet(c *Ctx) resp.Value {
	n := c.DB.Lookup(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	reply := stringReply(c, s)
	putString(c, n, c.Args[1], c.Args[2], false)
	c.DidSet(c.Args[1], c.Args[2], 0)
	return reply
}

// putString sets key, whose node is n or nil, to text. It removes the deadline unless
// keepTTL.
func putString(c *Ctx, n *store.Node, key, text []byte, keepTTL bool) *store.Node {
	if n == nil {
		return c.DB.Put(key, store.NewString(text))
	}
	if s := store.StringOf(n); s != nil {
		s.Set(text)
	} else {
		store.Replace(n, store.NewString(text))
	}
	if !keepTTL {
		c.DB.Persist(n)
	}
	c.DB.Modified(n)
	return n
}

// SETNX key value
func setNX(c *Ctx) resp.Value {
	if c.DB.Find(c.Args[1], c.NowMs) != nil {
		return resp.Int(0)
	}
	putString(c, nil, c.Args[1], c.Args[2], false)
	return resp.Int(1)
}

// MSET key value [key value ...]
func mset(c *Ctx) resp.Value {
	if len(c.Args)%2 == 0 {
		return WrongArity(c.Cmd)
	}
	for i := 1; i < len(c.Args); i += 2 {
		putString(c, c.DB.Find(c.Args[i], c.NowMs), c.Args[i], c.Args[i+1], false)
	}
	return resp.OK
}

// MSETNX key value [key value ...]
func msetNX(c *Ctx) resp.Value {
	if len(c.Args)%2 == 0 {
		return WrongArity(c.Cmd)
	}
	for i := 1; i < len(c.Args); i += 2 {
		if c.DB.Find(c.Args[i], c.NowMs) != nil {
			return resp.Int(0)
		}
	}
	mset(c)
	return resp.Int(1)
}

// STRLEN key
func strLen(c *Ctx) resp.Value {
	s, refusal := stringOf(c.DB.Lookup(c.Args[1], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	if s == nil {
		return resp.Int(0)
	}
	return resp.Int(int64(s.Size()))
}

// APPEND key value
func appendValue(c *Ctx) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	if n == nil {
		putString(c, nil, c.Args[1], c.Args[2], false)
		return resp.Int(int64(len(c.Args[2])))
	}
	if int64(s.Size())+int64(len(c.Args[2])) > c.Settings.ProtoMaxBulkLen {
		return errStringTooLong
	}
	length := s.Append(c.Args[2])
	c.DB.Modified(n)
	return resp.Int(int64(length))
}

// SETRANGE key offset value
func setRange(c *Ctx) resp.Value {
	offset, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	if offset < 0 {
		return errOffset
	}
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	text := c.Args[3]
	if len(text) == 0 {
		if s == nil {
			return resp.Int(0)
		}
		return resp.Int(int64(s.Size()))
	}
	if offset > c.Settings.ProtoMaxBulkLen || offset+int64(len(text)) > c.Settings.ProtoMaxBulkLen {
		return errStringTooLong
	}
	if n == nil {
		s = &store.String{}
		s.SetBytes(nil)
		length := s.Overwrite(int(offset), text)
		c.DB.Put(c.Args[1], s)
		return resp.Int(int64(length))
	}
	length := s.Overwrite(int(offset), text)
	c.DB.Modified(n)
	return resp.Int(int64(length))
}

// GETRANGE key start end
func getRange(c *Ctx) resp.Value {
	start, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	end, refusal := toInt(c.Args[3])
	if refusal.IsError() {
		return refusal
	}
	s, refusal := stringOf(c.DB.Lookup(c.Args[1], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	if s == nil || start < 0 && end < 0 && start > end {
		return resp.Bulk("")
	}
	var digits [20]byte
	text := s.Bytes(digits[:])
	if start < 0 {
		start = max(start+int64(len(text)), 0)
	}
	if end < 0 {
		end = max(end+int64(len(text)), 0)
	}
	end = min(end, int64(len(text))-1)
	if start > end {
		return resp.Bulk("")
	}
	return c.Copy(text[start : end+1])
}

// INCR key
func incr(c *Ctx) resp.Value { return addInt(c, 1) }

// DECR key
func decr(c *Ctx) resp.Value { return addInt(c, -1) }

// INCRBY key increment
func incrBy(c *Ctx) resp.Value {
	by, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	return addInt(c, by)
}

// DECRBY key decrement
func decrBy(c *Ctx) resp.Value {
	by, refusal := toInt(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	if by == math.MinInt64 {
		return errDecrOverflow
	}
	return addInt(c, -by)
}

func addInt(c *Ctx, by int64) resp.Value {
	n := c.DB.Find(c.Args[1], c.NowMs)
	s, refusal := stringOf(n)
	if refusal.IsError() {
		return refusal
	}
	if n == nil {
		c.DB.Put(c.Args[1], store.NewInt(by))
		return resp.Int(by)
	}
	old, ok := s.Int()
	if !ok {
		// Text left by an edit may still be a number.
		if old, ok = parseInt(s.Bytes(nil)); !ok {
			return ErrNotInteger
		}
	}
	sum := old + by
	if by > 0 && sum < old || by < 0 && sum > old {
		return errOverflow
	}
	s.SetInt(sum)
	c.DB.Modified(n)
	return resp.Int(sum)
}

// CreateString stores a string under a key that does not exist. It is for commands of other
// packages.
func (c *Ctx) CreateString(key, text []byte) {
	c.DB.Put(key, store.NewString(text))
	c.DidSet(key, text, 0)
}
