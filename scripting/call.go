package scripting

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

// redisCall is redis.call: an error reply is raised.
func (in *interp) redisCall(L *lua.LState) int {
	reply := in.command(L)
	if reply.IsError() {
		in.throw(L, in.callError(reply.Str()))
	}
	in.admit(L, &reply)
	L.Push(in.toLua(reply, 0))
	return 1
}

// redisPcall is redis.pcall: an error reply is a table.
func (in *interp) redisPcall(L *lua.LState) int {
	reply := in.command(L)
	if in.fence.missed {
		in.throw(L, in.callError(reply.Str()))
	}
	if reply.IsError() {
		L.Push(in.callError(reply.Str()))
	} else {
		in.admit(L, &reply)
		L.Push(in.toLua(reply, 0))
	}
	return 1
}

// callError makes the table for a failed call.
func (in *interp) callError(text string) *lua.LTable { return in.errorTable(text, wasCalled(text)) }

// errorStatsField says of an error table that it reached the command table:
// Redis has counted the error by then.
const errorStatsField = "ignore_error_stats_update"

func wasCalled(text string) bool { return text != errNoArguments && text != errArgumentType }

// command runs what the Lua arguments spell. The reply is valid until the
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
	reply := in.caller.call(in.engine.find(in.args), in.args)
	in.check(L, !in.meter.halted())
	return reply
}

// errorTable makes the table that stands for an error reply. A text without a
// code word gets one.
func (in *interp) errorTable(text string, fromCommand bool) *lua.LTable {
	t := in.L.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(codedError(text)))
	if fromCommand {
		t.RawSetString(errorStatsField, lua.LTrue)
	}
	return t
}

// codedError gives an error text the form that replies have: a code word
// first, one line.
func codedError(text string) string {
	text = strings.TrimPrefix(text, "-")
	text = strings.TrimRight(text, "\r\n")
	if !strings.Contains(text, " ") {
		return "ERR " + text
	}
	return text
}
