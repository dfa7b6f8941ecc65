package scripting

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

func (f *plainFrame) command(i *plainInst, call *plainCall) bool {
	reply := f.reply(call)
	switch {
	case f.locks.violated: // the rest of the script has no effect
		f.fail(i.pc, errNotLocked)
	case f.meter.stopped():
		f.fail(i.pc, "ERR "+f.meter.errText)
	case !reply.IsError():
		if call.results == 0 {
			return true
		}
		f.store(i.a, call.results, f.fromReply(&reply))
	case call.protected:
		v := f.errorObject(reply.Str())
		if reachedCommand(reply.Str()) {
			v.table().set(plainString(errorStatsField), plainBool(true))
		}
		f.store(i.a, call.results, v)
	default:
		f.errCounted = reachedCommand(reply.Str())
		f.fail(i.pc, codedError(reply.Str()))
	}
	return !f.failed
}

func (f *plainFrame) store(a int32, wanted int, v plainValue) {
	switch {
	case wanted == 1:
		f.values[a] = v
	case wanted < 0:
		f.values[a], f.top = v, a+1
	case wanted > 1:
		clear(f.values[a : int(a)+wanted])
		f.values[a] = v
	}
}

func (f *plainFrame) reply(call *plainCall) resp.Value {
	args := f.commandArgs[:0]
	f.argText = f.argText[:0]
	ok := true
	for n, fixed := range call.fixed {
		if fixed != nil {
			args = append(args, fixed)
			continue
		}
		var arg []byte
		if arg, ok = f.argument(&f.values[call.operands[n]]); !ok {
			break
		}
		args = append(args, arg)
	}
	if call.open >= 0 && ok {
		for o := call.open; o < f.top && ok; o++ {
			var arg []byte
			if arg, ok = f.argument(&f.values[o]); ok {
				args = append(args, arg)
			}
		}
	}
	f.commandArgs = args
	switch {
	case !ok:
		return resp.Error(errArgumentType)
	case len(args) == 0:
		return resp.Error(errNoArguments)
	}
	var cmd *commands.Command
	if cmd = call.cmd; !call.resolved {
		cmd = f.engine.lookupCommand(args)
	}
	return f.call(cmd, args)
}

// argument formats a value as redis.call does. It does not copy strings:
// commands copy what they store.
func (f *plainFrame) argument(v *plainValue) ([]byte, bool) {
	switch v.kind {
	case lua.LTString:
		return v.bytes(), true
	case lua.LTNumber:
		start := len(f.argText)
		f.argText = appendArgument(f.argText, v.number())
		return f.argText[start:len(f.argText):len(f.argText)], true
	}
	return nil, false
}

// fromReply converts a reply by the rules of RESP2, the only protocol of plain
// scripts.
func (f *plainFrame) fromReply(v *resp.Value) plainValue {
	switch v.Kind() {
	case resp.KindInteger, resp.KindBool:
		return plainNumber(float64(v.Int()))
	case resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		return f.copyString(v.Str())
	case resp.KindBulkInt:
		var space [maxNumberText]byte
		return f.copyBytes(strconv.AppendInt(space[:0], v.Int(), 10))
	case resp.KindDouble:
		var space [maxNumberText]byte
		return f.copyBytes(resp.AppendFloat(space[:0], v.Float()))
	case resp.KindStatus:
		return f.singleField("ok", f.copyString(v.Str()))
	case resp.KindError:
		return f.errorObject(v.Str())
	case resp.KindNull, resp.KindNullArray, resp.KindNone:
		return plainBool(false)
	}
	elems := v.Elems()
	t := f.newTable()
	if f.reserveArray(t, len(elems)); f.failed {
		return plainNil
	}
	for n := range elems {
		t.put(n+1, f.fromReply(&elems[n]))
	}
	return plainTableValue(t)
}

func (f *plainFrame) callFunction(i *plainInst, call *plainCall) bool {
	args := f.funcArgs[:0]
	for _, o := range call.operands {
		args = append(args, f.values[o])
	}
	if call.open >= 0 {
		args = append(args, f.values[call.open:max(f.top, call.open)]...)
	}
	f.funcArgs, f.results = args, f.results[:0]
	call.fn.call(f, int(i.pc), args)
	if f.failed {
		return false
	}
	if call.results < 0 {
		f.top = i.a + int32(len(f.results))
		if missing := int(f.top) - len(f.values); missing > 0 {
			f.values = append(f.values, make([]plainValue, missing)...)
		}
		copy(f.values[i.a:], f.results)
		return true
	}
	wanted := f.values[i.a : int(i.a)+call.results]
	clear(wanted[copy(wanted, f.results):])
	return true
}

func (f *plainFrame) toReply(c *commands.Ctx, v *plainValue, depth int) resp.Value {
	switch v.kind {
	case lua.LTNumber:
		return resp.Int(toInteger(v.number()))
	case lua.LTString:
		return c.Copy(v.bytes())
	case lua.LTBool:
		if v.bits != 0 {
			return resp.Int(1)
		}
	case lua.LTTable:
		if depth > replyStack {
			return resp.Error(errStackLimit)
		}
		if t := v.table(); len(t.entries) == 0 {
			return f.arrayReply(c, t, depth)
		}
		exported := f.export(v, make(map[*plainTable]*lua.LTable)).(*lua.LTable)
		return f.tableToReply(c, exported, depth)
	}
	return resp.Null
}

func (f *plainFrame) arrayReply(c *commands.Ctx, t *plainTable, depth int) resp.Value {
	n := 0
	for n < len(t.array) && t.array[n].kind != lua.LTNil {
		n++
	}
	if !f.growReply(n) {
		return resp.Null
	}
	elems := c.Values(n)
	for k := range n {
		if f.meter.errText != "" {
			break
		}
		elems = append(elems, f.toReply(c, &t.array[k], depth+1))
	}
	return resp.Array(elems...)
}

// export converts a value to the interpreter's form, for the few replies whose
// fields select their type.
func (f *plainFrame) export(v *plainValue, seen map[*plainTable]*lua.LTable) lua.LValue {
	switch v.kind {
	case lua.LTBool:
		return lua.LBool(v.bits != 0)
	case lua.LTNumber:
		return lua.LNumber(v.number())
	case lua.LTString:
		return lua.LString(append([]byte{}, v.bytes()...))
	case lua.LTTable:
		t := v.table()
		if known := seen[t]; known != nil {
			return known
		}
		out := &lua.LTable{Metatable: lua.LNil}
		seen[t] = out
		for n := range t.array {
			out.RawSetInt(n+1, f.export(&t.array[n], seen))
		}
		for n := range t.entries {
			out.RawSet(f.export(&t.entries[n].key, seen), f.export(&t.entries[n].value, seen))
		}
		return out
	}
	return lua.LNil
}
