package scripting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// before creates keys of every type for the compared flows, and after reads
// them.
var before = []string{
	"FLUSHALL", "SET s abc", "SET n 10", "ZADD z 1 a 2 b 1795184400123 c", "HSET h f 1 c 5", "RPUSH l x y z",
}

var after = []string{
	"DBSIZE", "GET s", "GET n", "GET c", "GET k", "TYPE k", "ZRANGE z 0 -1 WITHSCORES", "HGETALL h",
	"LRANGE l 0 -1", "TYPE m",
	"TYPE s", "TYPE n", "TYPE z", "TYPE h", "TYPE l", "TTL s", "TTL n", "TTL z", "TTL k", "TTL h",
}

func splitFields(command string) (args [][]byte) {
	for _, w := range strings.Fields(command) {
		args = append(args, []byte(w))
	}
	return args
}

func (f flow) command() [][]byte {
	args := [][]byte{[]byte("EVAL"), []byte(f.source), fmt.Append(nil, len(f.keys))}
	for _, k := range f.keys {
		args = append(args, []byte(k))
	}
	for _, a := range f.args {
		args = append(args, []byte(a))
	}
	return args
}

// compared returns the reply of a flow and the keyspace after it.
func (f flow) compared(send func(args [][]byte) string) string {
	for _, c := range before {
		send(splitFields(c))
	}
	var b strings.Builder
	b.WriteString(send(f.command()))
	b.WriteString("keyspace\n")
	for _, c := range after {
		b.WriteString(send(splitFields(c)))
	}
	return b.String()
}

// A side is an engine with its own keyspace.
type side struct {
	engine *Engine
	ctx    *commands.Ctx
}

func newSide(t testing.TB) (s side) {
	s.engine, s.ctx = newTestEngine(t)
	return s
}

func (s side) send(args [][]byte) string { return evaluate(s.engine, s.ctx, resp.RESP2, args) }

func (s side) flushScripts() { s.engine.scripts.flush() }
