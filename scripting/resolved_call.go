package scripting

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// A resolvedCall is what is known about a redis.call when its script is loaded: the command,
// which takes so many arguments, and the constant arguments as commands get them.
type resolvedCall struct {
	cmd      *commands.Command
	fixed    [][]byte // nil where the argument is not a constant
	variable []variableArg
}

// A variableArg is an argument that is in a register.
type variableArg struct{ arg, register uint8 }

// resolveCall prepares a call whose command is a constant. What is wrong with another one is
// said when it is made.
func (e *Engine) resolveCall(site *lua.CallSite) {
	call := &resolvedCall{fixed: make([][]byte, len(site.Args))}
	names := 0 // leading constants
	for i := range site.Args {
		arg := &site.Args[i]
		switch arg.Constant.Kind() {
		case lua.KindString:
			call.fixed[i] = []byte(arg.Constant.Str())
		case lua.KindNumber:
			call.fixed[i] = appendArgument(nil, arg.Constant.Num())
		default:
			call.variable = append(call.variable, variableArg{uint8(i), arg.Register})
			continue
		}
		if names == i {
			names++
		}
	}
	if names == 0 {
		return
	}
	call.cmd = e.table.Lookup(call.fixed[0])
	if call.cmd != nil && call.cmd.Subs != nil && len(site.Args) > 1 {
		if names == 1 {
			return
		}
		call.cmd = call.cmd.Sub(call.fixed[1])
	}
	if call.cmd != nil && call.cmd.ArityOK(len(site.Args)) && callable(call.cmd) {
		site.Data = call
	}
}

// redisCallAtSite is redisCall for a resolved call.
func redisCallAtSite(L *lua.Thread, site *lua.CallSite, r *lua.Registers, wanted int) (lua.Value, bool) {
	in := hostOf(L)
	reply := in.resolvedCommand(L, site, r)
	if reply.IsError() {
		return in.callError(L, reply.Str()), true
	}
	if wanted == 0 {
		return lua.Nil, false
	}
	if reply.Kind() == resp.KindInteger {
		return lua.Number(float64(reply.Int())), false
	}
	return in.toLua(L, &reply), false
}

// redisPcallAtSite is redisPcall for a resolved call.
func redisPcallAtSite(L *lua.Thread, site *lua.CallSite, r *lua.Registers, wanted int) (lua.Value, bool) {
	in := hostOf(L)
	reply := in.resolvedCommand(L, site, r)
	switch {
	case reply.IsError():
		return in.callError(L, reply.Str()), false
	case wanted == 0:
		return lua.Nil, false
	}
	return in.toLua(L, &reply), false
}

func (in *interp) resolvedCommand(L *lua.Thread, site *lua.CallSite, r *lua.Registers) resp.Value {
	call := site.Data.(*resolvedCall)
	n := len(call.fixed)
	if cap(in.args) < n {
		in.args = make([][]byte, n)
	}
	args := in.args[:n]
	for i := range args { // faster than to append so few
		args[i] = call.fixed[i]
	}
	in.args = args
	in.argText = in.argText[:0]
	for _, v := range call.variable {
		switch arg := &r[v.register]; arg.Kind() {
		case lua.KindString:
			args[v.arg] = arg.Bytes()
		case lua.KindNumber:
			if text, ok := L.KnownText(arg.Num()); ok {
				args[v.arg] = text.Bytes()
				continue
			}
			start := len(in.argText)
			in.argText = appendArgument(in.argText, arg.Num())
			args[v.arg] = in.argText[start:len(in.argText):len(in.argText)]
		default:
			return resp.Error(errArgumentType)
		}
	}
	reply := in.callResolved(call.cmd, args)
	in.checkEnd(L)
	return reply
}
