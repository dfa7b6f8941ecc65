package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/list"
)

// Lists are the rows of the commands on lists. The handlers at the ends of a list are
// here, those that read by index in list_range.go, those that change the middle in
// list_edit.go, those that block in list_blocking.go.
var Lists = []Command{
	{
		Name: "blmove", Arity: 6, Flags: Write | DenyOOM | NoScript | Blocking,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "RW insert")},
		Group: "list", Since: "6.2.0", Complexity: "O(1)", Handler: blmove,
		Syntax:  "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
		Summary: "Moves an element from one list to another, or blocks until there is one.",
	},
	{
		Name: "blmpop", Arity: -5, Flags: Write | Blocking,
		Keys:  []KeySpec{CountedKeys(2, "RW access delete")},
		Group: "list", Since: "7.0.0", Complexity: "O(N+M)", Handler: blmpop,
		Syntax:  "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
		Summary: "Removes elements from an end of one of several lists, or blocks until there is one.",
	},
	{
		Name: "blpop", Event: "lpop", Arity: -3, Flags: Write | NoScript | Blocking,
		Keys:  []KeySpec{{Flags: "RW access delete", First: 1, Last: -2, Step: 1}},
		Group: "list", Since: "2.0.0", Complexity: "O(N)", Syntax: "key [key ...] timeout",
		Summary: "Removes the first element of one of several lists, or blocks until there is one.",
		Handler: func(c *Ctx) resp.Value { return bpop(c, left) },
	},
	{
		Name: "brpop", Event: "rpop", Arity: -3, Flags: Write | NoScript | Blocking,
		Keys:  []KeySpec{{Flags: "RW access delete", First: 1, Last: -2, Step: 1}},
		Group: "list", Since: "2.0.0", Complexity: "O(N)", Syntax: "key [key ...] timeout",
		Summary: "Removes the last element of one of several lists, or blocks until there is one.",
		Handler: func(c *Ctx) resp.Value { return bpop(c, right) },
	},
	{
		Name: "brpoplpush", Arity: 4, Flags: Write | DenyOOM | NoScript | Blocking,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "RW insert")},
		Group: "list", Since: "2.2.0", Complexity: "O(1)", Syntax: "source destination timeout",
		Handler: brpoplpush,
		Summary: "Moves the last element of one list to the front of another, or blocks until there is one.",
	},
	{
		Name: "lindex", Arity: 3, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key index", Handler: lindex,
		Summary: "Returns the element at an index.",
	},
	{
		Name: "linsert", Event: "linsert", Arity: 5,
		Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "RW insert")},
		Group: "list", Since: "2.2.0", Complexity: "O(N)", Syntax: "key <BEFORE | AFTER> pivot element",
		Handler: linsert,
		Summary: "Inserts an element before or after another one.",
	},
	{
		Name: "llen", Arity: 2, Flags: ReadOnly | Fast, Keys: []KeySpec{key(1, "RO")},
		Group: "list", Since: "1.0.0", Complexity: "O(1)", Syntax: "key", Handler: llen,
		Summary: "Counts the elements.",
	},
	{
		Name: "lmove", Arity: 5, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "RW insert")},
		Group: "list", Since: "6.2.0", Complexity: "O(1)", Handler: lmove,
		Syntax:  "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
		Summary: "Moves an element from one list to another.",
	},
	{
		Name: "lmpop", Arity: -4, Flags: Write, Keys: []KeySpec{CountedKeys(1, "RW access delete")},
		Group: "list", Since: "7.0.0", Complexity: "O(N+M)", Handler: lmpop,
		Syntax:  "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
		Summary: "Removes elements from an end of the first of several lists that has any.",
	},
	{
		Name: "lpop", Event: "lpop", Arity: -2, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [count]",
		Summary: "Removes and returns the first elements.",
		Handler: func(c *Ctx) resp.Value { return pop(c, left) },
	},
	{
		Name: "lpos", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "list", Since: "6.0.6", Complexity: "O(N)", Handler: lpos,
		Syntax:  "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
		Summary: "Returns the indexes of an element.",
	},
	{
		Name: "lpush", Event: "lpush", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW insert")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key element [element ...]",
		Summary: "Prepends elements to a list, one after the other.",
		Handler: func(c *Ctx) resp.Value { return push(c, left, false) },
	},
	{
		Name: "lpushx", Event: "lpush", Arity: -3,
		Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW insert")},
		Group: "list", Since: "2.2.0", Complexity: "O(N)", Syntax: "key element [element ...]",
		Summary: "Prepends elements to a list that exists.",
		Handler: func(c *Ctx) resp.Value { return push(c, left, true) },
	},
	{
		Name: "lrange", Arity: 4, Flags: ReadOnly, Keys: []KeySpec{key(1, "RO access")},
		Group: "list", Since: "1.0.0", Complexity: "O(S+N)", Syntax: "key start stop", Handler: lrange,
		Summary: "Returns the elements of a range of indexes.",
	},
	{
		Name: "lrem", Event: "lrem", Arity: 4, Flags: Write, Keys: []KeySpec{key(1, "RW delete")},
		Group: "list", Since: "1.0.0", Complexity: "O(N+M)", Syntax: "key count element", Handler: lrem,
		Summary: "Removes the elements that equal a given one.",
	},
	{
		Name: "lset", Event: "lset", Arity: 4, Flags: Write | DenyOOM, Keys: []KeySpec{key(1, "RW update")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key index element", Handler: lset,
		Summary: "Replaces the element at an index.",
	},
	{
		Name: "ltrim", Event: "ltrim", Arity: 4, Flags: Write, Keys: []KeySpec{key(1, "RW delete")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key start stop", Handler: ltrim,
		Summary: "Removes everything outside a range of indexes.",
	},
	{
		Name: "rpop", Event: "rpop", Arity: -2, Flags: Write | Fast,
		Keys:  []KeySpec{key(1, "RW access delete")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key [count]",
		Summary: "Removes and returns the last elements.",
		Handler: func(c *Ctx) resp.Value { return pop(c, right) },
	},
	{
		Name: "rpoplpush", Arity: 3, Flags: Write | DenyOOM,
		Keys:  []KeySpec{key(1, "RW access delete"), key(2, "RW insert")},
		Group: "list", Since: "1.2.0", Complexity: "O(1)", Syntax: "source destination",
		Summary: "Moves the last element of one list to the front of another.",
		Handler: func(c *Ctx) resp.Value { return moveElement(c, right, left) },
	},
	{
		Name: "rpush", Event: "rpush", Arity: -3, Flags: Write | DenyOOM | Fast,
		Keys:  []KeySpec{key(1, "RW insert")},
		Group: "list", Since: "1.0.0", Complexity: "O(N)", Syntax: "key element [element ...]",
		Summary: "Appends elements to a list.",
		Handler: func(c *Ctx) resp.Value { return push(c, right, false) },
	},
	{
		Name: "rpushx", Event: "rpush", Arity: -3,
		Flags: Write | DenyOOM | Fast, Keys: []KeySpec{key(1, "RW insert")},
		Group: "list", Since: "2.2.0", Complexity: "O(N)", Syntax: "key element [element ...]",
		Summary: "Appends elements to a list that exists.",
		Handler: func(c *Ctx) resp.Value { return push(c, right, true) },
	},
}

// A listEnd is one of a list's two ends.
type listEnd bool

const (
	left  listEnd = false
	right listEnd = true
)

// parseEnd reads LEFT or RIGHT.
func parseEnd(word []byte) (end listEnd, ok bool) {
	switch {
	case EqualFold(word, "left"):
		return left, true
	case EqualFold(word, "right"):
		return right, true
	}
	return left, false
}

// listOf returns a node's list, nil for no node, or an error reply if the node has
// another type.
func listOf(n *store.Node) (*list.List, resp.Value) {
	if n == nil {
		return nil, resp.None
	}
	l := store.ListOf(n)
	if l == nil {
		return nil, ErrWrongType
	}
	return l, resp.None
}

// readList is listOf for commands that only read their first key.
func readList(c *Ctx) (*list.List, resp.Value) { return listOf(c.DB.Lookup(c.Args[1], c.NowMs)) }

// writtenList is listOf for commands that change their first key.
func writtenList(c *Ctx) (*store.Node, *list.List, resp.Value) {
	n := c.DB.Find(c.Args[1], c.NowMs)
	l, refusal := listOf(n)
	return n, l, refusal
}

func pushAt(l *list.List, end listEnd, elem []byte) {
	if end == left {
		l.PushFront(elem)
	} else {
		l.PushBack(elem)
	}
}

// popAt removes an element. Every list in the keyspace has one.
func popAt(l *list.List, end listEnd) string {
	elem, ok := "", false
	if end == left {
		elem, ok = l.PopFront()
	} else {
		elem, ok = l.PopBack()
	}
	if !ok {
		panic("commands: an empty list in the keyspace")
	}
	return elem
}

// push runs LPUSH key element [element ...], RPUSH, LPUSHX and RPUSHX; mustExist is for
// the latter two.
func push(c *Ctx, end listEnd, mustExist bool) resp.Value {
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		if mustExist {
			return resp.Int(0)
		}
		l = &list.List{}
		n = c.DB.Put(c.Args[1], l)
	}
	for _, elem := range c.Args[2:] {
		pushAt(l, end, elem)
	}
	c.DB.Modified(n)
	return resp.Int(int64(l.Len()))
}

// pop runs LPOP key [count] and RPOP.
func pop(c *Ctx, end listEnd) resp.Value {
	if len(c.Args) > 3 {
		return WrongArity(c.Cmd)
	}
	counted := len(c.Args) == 3
	count := int64(1)
	if counted {
		var ok bool
		if count, ok = parseInt(c.Args[2]); !ok || count < 0 {
			return ErrNotPositive
		}
	}
	n, l, refusal := writtenList(c)
	switch {
	case refusal.IsError():
		return refusal
	case l == nil && counted:
		return resp.NullArray
	case l == nil:
		return resp.Null
	case count == 0:
		return resp.Empty
	}
	if !counted {
		elem := popAt(l, end)
		c.DB.Modified(n)
		return resp.Bulk(elem)
	}
	size := int(min(count, int64(l.Len())))
	out := c.Build(size)
	for range size {
		out.Add(resp.Bulk(popAt(l, end)))
	}
	c.DB.Modified(n)
	return out.Array()
}

// LMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT>
func lmove(c *Ctx) resp.Value {
	from, ok1 := parseEnd(c.Args[3])
	to, ok2 := parseEnd(c.Args[4])
	if !ok1 || !ok2 {
		return ErrSyntax
	}
	return moveElement(c, from, to)
}

// moveElement runs LMOVE and RPOPLPUSH.
func moveElement(c *Ctx, from, to listEnd) resp.Value {
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l == nil {
		return resp.Null
	}
	return moveTo(c, n, c.Args[2], from, to)
}

// moveTo moves an element of a node's list to the list under another or the same key.
func moveTo(c *Ctx, n *store.Node, destination []byte, from, to listEnd) resp.Value {
	l := store.ListOf(n)
	m := c.DB.Find(destination, c.NowMs)
	target, refusal := listOf(m)
	if refusal.IsError() {
		return refusal
	}
	elem := popAt(l, from)
	c.changesAre(to.pushEvent())
	if target == nil {
		target = &list.List{}
		m = c.DB.Put(destination, target)
	}
	pushAt(target, to, []byte(elem))
	c.DB.Modified(m)
	if m == n {
		c.note(from.popEvent(), destination)
	} else {
		c.changesAre(from.popEvent())
		c.DB.Modified(n)
	}
	return resp.Bulk(elem)
}
