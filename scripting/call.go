package scripting

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

// redisCall is redis.call: it raises an error reply.
func (in *interp) redisCall(L *lua.LState) int {
	reply := in.command(L)
	if reply.IsError() {
		in.throw(L, in.callError(reply.Str()))
	}
	in.growForReply(L, &reply)
	L.Push(in.toLua(reply, 0))
	return 1
}

// redisPcall is redis.pcall: it returns an error reply as a table.
func (in *interp) redisPcall(L *lua.LState) int {
	reply := in.command(L)
	if in.locks.violated {
		in.throw(L, in.callError(reply.Str()))
	}
	if reply.IsError() {
		L.Push(in.callError(reply.Str()))
	} else {
		in.growForReply(L, &reply)
		L.Push(in.toLua(reply, 0))
	}
	return 1
}

func (in *interp) callError(text string) *lua.LTable {
	return in.errorTable(text, reachedCommand(text))
}

// errorStatsField marks an error table whose error Redis has counted already,
// because it came from the command table.
const errorStatsField = "ignore_error_stats_update"

func reachedCommand(text string) bool { return text != errNoArguments && text != errArgumentType }

// command runs the command in the Lua arguments. The reply is valid until the
// next command.
func (in *interp) command(L *lua.LState) resp.Value {
	n := L.GetTop()
	if n == 0 {
		return resp.Error(errNoArguments)
	}
	in.args, in.argText = in.args[:0], in.argText[:0]
	for i := 1; i <= n; i++ {
		start := len(in.argText)
		switch v := L.Get(i).(type) {
		case lua.LString:
			in.grow(L, len(v))
			in.argText = append(in.argText, v...)
		case lua.LNumber:
			in.argText = appendArgument(in.argText, float64(v))
		default:
			return resp.Error(errArgumentType)
		}
		end := len(in.argText)
		in.args = append(in.args, in.argText[start:end:end])
	}
	reply := in.caller.call(in.engine.lookupCommand(in.args), in.args)
	in.check(L, !in.meter.stopped())
	return reply
}

// errorTable returns the table that represents an error reply. It adds a code
// word to a text that has none.
func (in *interp) errorTable(text string, fromCommand bool) *lua.LTable {
	t := in.L.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(codedError(text)))
	if fromCommand {
		t.RawSetString(errorStatsField, lua.LTrue)
	}
	return t
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
