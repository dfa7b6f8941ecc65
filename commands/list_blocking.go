package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// bpop runs BLPOP key [key ...] timeout, and BRPOP.
func bpop(c *Ctx, end listEnd) resp.Value {
	last := len(c.Args) - 1
	return popOrBlock(c, c.Args[1:last], c.Args[last], popper{isList, func(c *Ctx, n *store.Node) resp.Value {
		c.didPopAt(n, end.popName())
		return c.popped(n, resp.Bulk(popAt(store.ListOf(n), end)))
	}})
}

func (e listEnd) popName() string {
	if e == left {
		return "LPOP"
	}
	return "RPOP"
}

func isList(n *store.Node) bool { return store.ListOf(n) != nil }

// A blockingMove is BLMOVE or BRPOPLPUSH.
type blockingMove struct {
	from, to listEnd
	logged   string   // the name that is logged if it does not block
	words    [][]byte // that are logged after the keys
	served   [][]byte // the same if it has blocked: Redis no longer has the original words
}

// BLMOVE source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout
func blmove(c *Ctx) resp.Value {
	from, ok1 := parseEnd(c.Args[3])
	to, ok2 := parseEnd(c.Args[4])
	if !ok1 || !ok2 {
		return ErrSyntax
	}
	return blockingMove{from, to, "LMOVE", c.Args[3:5], [][]byte{from.word(), to.word()}}.run(c, c.Args[5])
}

// BRPOPLPUSH source destination timeout
func brpoplpush(c *Ctx) resp.Value {
	return blockingMove{from: right, to: left, logged: "RPOPLPUSH"}.run(c, c.Args[3])
}

func (m blockingMove) run(c *Ctx, timeout []byte) resp.Value {
	timeoutMs, refusal := parseTimeout(timeout)
	if refusal.IsError() {
		return refusal
	}
	n, l, refusal := writtenList(c)
	if refusal.IsError() {
		return refusal
	}
	if l != nil {
		return m.move(c, n, c.Args[2])
	}
	keys := ownKeys(c.Args[1:3])
	target := keys[1]
	m.words = m.served
	return c.wait(&Wait{
		Keys: keys[:1], Target: target, TimeoutMs: timeoutMs,
		TimedOut: resp.NullArray, // unlike LMOVE's null
		Wants:    isList,
		Take:     func(c *Ctx, n *store.Node) resp.Value { return m.move(c, n, target) },
	}, resp.Null)
}

// move is moveTo, recorded as the command that does not block.
func (m blockingMove) move(c *Ctx, n *store.Node, destination []byte) resp.Value {
	source := n.Key()
	reply := moveTo(c, n, destination, m.from, m.to)
	if c.Group() != nil && !reply.IsError() {
		c.DidCall(m.logged, []byte(source), append([][]byte{destination}, m.words...)...)
	}
	return reply
}

// word returns the word for an end that is logged if the call has none.
func (e listEnd) word() []byte {
	if e == left {
		return []byte("left")
	}
	return []byte("right")
}
