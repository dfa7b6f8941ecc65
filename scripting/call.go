package scripting

import (
	"math"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

func hostOf(L *lua.Thread) *interp { return L.State().Host.(*interp) }

// redisCall is redis.call: it raises an error reply.
func redisCall(L *lua.Thread) int {
	in := hostOf(L)
	reply := in.command(L)
	if reply.IsError() {
		L.Throw(in.callError(L, reply.Str()))
	}
	return in.pushReply(L, &reply)
}

// redisPcall is redis.pcall: it returns an error reply as a table.
func redisPcall(L *lua.Thread) int {
	in := hostOf(L)
	reply := in.command(L)
	if reply.IsError() {
		L.Push(in.callError(L, reply.Str()))
		return 1
	}
	return in.pushReply(L, &reply)
}

// pushReply pushes a reply that is used.
func (in *interp) pushReply(L *lua.Thread, reply *resp.Value) int {
	if L.Wanted() == 0 {
		return 0
	}
	L.Push(in.toLua(L, reply))
	return 1
}

func (in *interp) callError(L *lua.Thread, text string) lua.Value {
	return errorTable(L, text, reachedCommand(text))
}

// fieldErrorStats marks an error table whose error Redis has counted already,
// because it came from the command table.
var fieldErrorStats = lua.String("ignore_error_stats_update")

func reachedCommand(text string) bool { return text != errNoArguments && text != errArgumentType }

// command runs the command in the Lua arguments. The reply is valid until the
// next command.
func (in *interp) command(L *lua.Thread) resp.Value {
	n := L.Top()
	if n == 0 {
		return resp.Error(errNoArguments)
	}
	args := in.args[:0]
	in.argText = in.argText[:0]
	for i := 1; i <= n; i++ {
		switch v := L.Get(i); v.Kind() {
		case lua.KindString:
			args = append(args, v.Bytes()) // commands copy what they store
		case lua.KindNumber:
			start := len(in.argText)
			in.argText = appendArgument(in.argText, v.Num())
			args = append(args, in.argText[start:len(in.argText):len(in.argText)])
		default:
			return resp.Error(errArgumentType)
		}
	}
	in.args = args
	reply := in.call(in.resolved.lookup(in.engine, args), args)
	in.checkEnd(L)
	return reply
}

// checkEnd ends the script after a command if it must not go on.
func (in *interp) checkEnd(L *lua.Thread) {
	if in.locks.violated { // the rest of the script has no effect
		L.Fatal(errNotLocked)
	}
	if in.meter.stopped() {
		L.Fatal(in.meter.errText)
	}
	if in.child.Out.Exceeded() {
		L.Throw(lua.String(in.meter.outOfMemory()))
	}
}

// resolvedCommands remembers the commands that a state has called.
type resolvedCommands struct {
	entries [32]struct {
		name string
		cmd  *commands.Command
	}
}

// lookup is Engine.lookupCommand.
func (r *resolvedCommands) lookup(e *Engine, args [][]byte) *commands.Command {
	name := args[0]
	if len(name) == 0 {
		return e.lookupCommand(args)
	}
	entry := &r.entries[(uint(name[0])^uint(name[len(name)-1])<<2^uint(len(name)))%uint(len(r.entries))]
	if entry.name == string(name) {
		return entry.cmd
	}
	cmd := e.lookupCommand(args)
	if cmd != nil && cmd.Subs == nil && cmd.FullName() == strings.ToLower(string(name)) {
		entry.name, entry.cmd = string(name), cmd
	}
	return cmd
}

// appendArgument appends f as redis.call does, with C's %.17g.
func appendArgument(b []byte, f float64) []byte {
	if n := int64(f); float64(n) == f && n > -1e17 && n < 1e17 && (n != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, n, 10)
	}
	return lua.AppendG(b, f, 17)
}

// errorTable returns the table that represents an error reply. It adds a code
// word to a text that has none.
func errorTable(L *lua.Thread, text string, fromCommand bool) lua.Value {
	t := L.NewTable(0, 2)
	t.Set(fieldErr, L.CopyString(codedError(text)))
	if fromCommand {
		t.Set(fieldErrorStats, lua.True)
	}
	return lua.TableValue(t)
}

// codedError gives an error text the form of a reply: a code word first, and no
// line breaks at the end.
func codedError(text string) string {
	text = strings.TrimPrefix(text, "-")
	text = strings.TrimRight(text, "\r\n")
	if !strings.Contains(text, " ") {
		return "ERR " + text
	}
	return text
}

// isCounted reports whether v is an error table that is marked as counted.
func isCounted(v *lua.Value) bool {
	if !v.IsTable() {
		return false
	}
	mark := v.Table().Get(fieldErrorStats)
	return mark.Truthy()
}
