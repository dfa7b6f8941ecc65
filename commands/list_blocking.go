package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// bpop runs BLPOP key [key ...] timeout, and BRPOP.
func bpop(c *Ctx, end listEnd) resp.Value {
	return takeOrWait(c, isList, func(c *Ctx, n *store.Node) resp.Value {
		l := store.ListOf(n)
		c.didPopAt(n, end.popName())
		out := append(c.Values(2), resp.Bulk(n.Key()), resp.Bulk(popAt(l, end)))
		c.DB.Modified(n)
		return resp.Array(out...)
	})
}

func (e listEnd) popName() string {
	if e == left {
		return "LPOP"
	}
	return "RPOP"
}

func isList(n *store.Node) bool { return store.ListOf(n) != nil }

// takeOrWait runs the commands of the form key [key ...] timeout: it takes from
// the first key that is there, or waits for one.
func takeOrWait(c *Ctx, wants func(*store.Node) bool, take func(*Ctx, *store.Node) resp.Value) resp.Value {
	last := len(c.Args) - 1
	timeoutMs, refusal := parseTimeout(c.Args[last])
	if refusal.IsError() {
		return refusal
	}
	for _, k := range c.Args[1:last] {
		n := c.DB.Find(k, c.NowMs)
		if n == nil {
			continue
		}
		if !wants(n) {
			return ErrWrongType
		}
		return take(c, n)
	}
	return c.wait(&Wait{
		Keys: ownKeys(c.Args[1:last]), TimeoutMs: timeoutMs, TimedOut: resp.NullArray, Wants: wants, Take: take,
	}, resp.NullArray)
}

// BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout
func blmove(c *Ctx) resp.Value {
	from, ok1 := parseEnd(c.Args[3])
	to, ok2 := parseEnd(c.Args[4])
	if !ok1 || !ok2 {
		return ErrSyntax
	}
	timeoutMs, refusal := parseTimeout(c.Args[5])
	if refusal.IsError() {
		return refusal
	}
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l != nil {
		return blmoved(c, n, c.Args[2], from, to, c.Args[3], c.Args[4])
	}
	keys := ownKeys(c.Args[1:3])
	target := keys[1]
	return c.wait(&Wait{
		Keys: keys[:1], Target: target, TimeoutMs: timeoutMs,
		TimedOut: resp.NullArray, // and not the null that LMOVE answers
		Wants:    isList,
		Take: func(c *Ctx, n *store.Node) resp.Value {
			return blmoved(c, n, target, from, to, from.word(), to.word())
		},
	}, resp.Null)
}

// word is what Redis calls an end that it has not been told in words.
func (e listEnd) word() []byte {
	if e == left {
		return []byte("left")
	}
	return []byte("right")
}

// blmoved is moveTo, recorded as LMOVE.
func blmoved(c *Ctx, n *store.Node, destination []byte, from, to listEnd, fromWord, toWord []byte) resp.Value {
	source := n.Key()
	reply := moveTo(c, n, destination, from, to)
	if c.Group != nil && !reply.IsError() {
		c.didCall("LMOVE", []byte(source), destination, fromWord, toWord)
	}
	return reply
}
