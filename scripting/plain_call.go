package scripting

import (
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// command is redis.call and redis.pcall. It reports false where the script
// ends.
func (f *plainFrame) command(i *plainInst, call *plainCall) bool {
	reply := f.reply(call)
	switch {
	case f.fence.missed: // what the script does from here on counts for nothing
		f.fail(i.pc, errNotLocked)
	case f.meter.halted():
		f.fail(i.pc, "ERR "+f.meter.why)
	case !reply.IsError():
		if call.results == 0 {
			return true
		}
		f.store(i.a, call.results, f.fromReply(&reply))
	case call.protected:
		v := f.errorObject(reply.Str())
		if wasCalled(reply.Str()) {
			v.table().set(plainString(errorStatsField), plainBool(true))
		}
		f.store(i.a, call.results, v)
	default:
		f.counted = wasCalled(reply.Str())
		f.fail(i.pc, codedError(reply.Str()))
	}
	return !f.failed
}

// store puts the one result of a call where it is wanted.
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

// reply runs the command that a call spells.
func (f *plainFrame) reply(call *plainCall) resp.Value {
	args := f.call[:0]
	f.spelt = f.spelt[:0]
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
	f.call = args
	switch {
	case !ok:
		return resp.Error(errArgumentType)
	case len(args) == 0:
		return resp.Error(errNoArguments)
	}
	var cmd *commands.Command
	if cmd = call.cmd; !call.resolved {
		cmd = f.engine.find(args)
	}
	return f.caller.call(cmd, args)
}

// argument spells a value as redis.call does. A string is not copied: what a
// command stores it copies.
func (f *plainFrame) argument(v *plainValue) ([]byte, bool) {
	switch v.kind {
	case lua.LTString:
		return v.bytes(), true
	case lua.LTNumber:
		start := len(f.spelt)
		f.spelt = appendArgument(f.spelt, v.number())
		return f.spelt[start:len(f.spelt):len(f.spelt)], true
	}
	return nil, false
}

// fromReply converts a reply as RESP2 has it, which is the only protocol that
// plain scripts know.
func (f *plainFrame) fromReply(v *resp.Value) plainValue {
	switch v.Kind() {
	case resp.KindInteger, resp.KindBool:
		return plainNumber(float64(v.Int()))
	case resp.KindBulk, resp.KindBigNumber, resp.KindVerbatim:
		return f.copied(v.Str())
	case resp.KindBulkInt:
		var space [longestNumber]byte
		return f.fitted(strconv.AppendInt(space[:0], v.Int(), 10))
	case resp.KindDouble:
		var space [longestNumber]byte
		return f.fitted(resp.AppendFloat(space[:0], v.Float()))
	case resp.KindStatus:
		return f.single("ok", f.copied(v.Str()))
	case resp.KindError:
		return f.errorObject(v.Str())
	case resp.KindNull, resp.KindNullArray, resp.KindNone:
		return plainBool(false)
	}
	elems := v.Elems()
	t := f.newTable()
	if f.extend(t, len(elems)); f.failed {
		return plainNil
	}
	for n := range elems {
		t.put(n+1, f.fromReply(&elems[n]))
	}
	return plainTableValue(t)
}

// function calls a library function. It reports false where the script ends.
func (f *plainFrame) function(i *plainInst, call *plainCall) bool {
	args := f.scratch[:0]
	for _, o := range call.operands {
		args = append(args, f.values[o])
	}
	if call.open >= 0 {
		args = append(args, f.values[call.open:max(f.top, call.open)]...)
	}
	f.scratch, f.results = args, f.results[:0]
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

// toReply converts what a script returned, into c's scratch space.
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
		if t := v.table(); len(t.pairs) == 0 {
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
	if !f.asks(n) {
		return resp.Null
	}
	elems := c.Values(n)
	for k := range n {
		if f.meter.why != "" {
			break
		}
		elems = append(elems, f.toReply(c, &t.array[k], depth+1))
	}
	return resp.Array(elems...)
}

// export makes a table what the interpreter has, for the few replies whose
// fields say what they are.
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
		for n := range t.pairs {
			out.RawSet(f.export(&t.pairs[n].key, seen), f.export(&t.pairs[n].value, seen))
		}
		return out
	}
	return lua.LNil
}
