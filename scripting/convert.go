package scripting

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// smallNumbers are boxed once, because most integer replies are small.
var smallNumbers = func() (numbers [1024]lua.LValue) {
	for i := range numbers {
		numbers[i] = lua.LNumber(i)
	}
	return numbers
}()

func number(n int64) lua.LValue {
	if 0 <= n && n < int64(len(smallNumbers)) {
		return smallNumbers[n]
	}
	return lua.LNumber(n)
}

// growForReply charges the memory that a reply takes as a Lua value.
func (in *interp) growForReply(L *lua.LState, reply *resp.Value) {
	if n := in.sizeInLua(reply); n > 0 {
		in.grow(L, n)
	}
}

func (in *interp) sizeInLua(v *resp.Value) (n int) {
	switch v.Kind() {
	case resp.KindInteger, resp.KindBulkInt, resp.KindBool, resp.KindDouble,
		resp.KindNull, resp.KindNullArray, resp.KindNone:
		return 0
	case resp.KindArray, resp.KindMap, resp.KindSet, resp.KindPush:
		perElement := elementSize
		if in.child.Proto == resp.RESP3 && v.Kind() != resp.KindArray {
			perElement = hashSize
		}
		elems := v.Elems()
		n = tableSize + len(elems)*(perElement+stringSize)
		for i := range elems {
			n += in.sizeInLua(&elems[i])
		}
		return n
	}
	return len(v.Str())
}

// toLua converts a reply by the script's protocol (redis.setresp).
func (in *interp) toLua(v resp.Value, depth int) lua.LValue {
	resp3 := in.child.Proto == resp.RESP3
	switch v.Kind() {
	case resp.KindInteger:
		return number(v.Int())
	case resp.KindBulk:
		return lua.LString(strings.Clone(v.Str()))
	case resp.KindBulkInt:
		return lua.LString(strconv.FormatInt(v.Int(), 10))
	case resp.KindStatus:
		return in.singleField("ok", lua.LString(strings.Clone(v.Str())))
	case resp.KindError:
		return in.errorTable(v.Str(), false)
	case resp.KindNull, resp.KindNullArray, resp.KindNone:
		if resp3 {
			return lua.LNil
		}
		return lua.LFalse
	case resp.KindBool:
		if resp3 {
			return lua.LBool(v.Int() != 0)
		}
		return number(v.Int())
	case resp.KindDouble:
		if resp3 {
			return in.singleField("double", lua.LNumber(v.Float()))
		}
		return lua.LString(resp.AppendFloat(nil, v.Float()))
	case resp.KindBigNumber:
		if resp3 {
			return in.singleField("big_number", lua.LString(strings.Clone(v.Str())))
		}
		return lua.LString(strings.Clone(v.Str()))
	case resp.KindVerbatim:
		text := lua.LString(strings.Clone(v.Str()))
		if resp3 {
			t := in.singleField("string", text)
			t.RawSetString("format", lua.LString("txt"))
			return in.singleField("verbatim_string", t)
		}
		return text
	}
	return in.aggregateToLua(v, resp3, depth)
}

func (in *interp) aggregateToLua(v resp.Value, resp3 bool, depth int) lua.LValue {
	elems := v.Elems()
	switch kind := v.Kind(); {
	case resp3 && kind == resp.KindMap:
		t := in.L.CreateTable(0, len(elems)/2)
		for i := 0; i+1 < len(elems); i += 2 {
			if key := in.toLua(elems[i], depth+1); key != lua.LNil {
				t.RawSet(key, in.toLua(elems[i+1], depth+1))
			}
		}
		return in.singleField("map", t)
	case resp3 && kind == resp.KindSet:
		t := in.L.CreateTable(0, len(elems))
		for i := range elems {
			if key := in.toLua(elems[i], depth+1); key != lua.LNil {
				t.RawSet(key, lua.LTrue)
			}
		}
		return in.singleField("set", t)
	}
	t := in.L.CreateTable(len(elems), 0)
	for i := range elems {
		t.RawSetInt(i+1, in.toLua(elems[i], depth+1))
	}
	return t
}

func (in *interp) singleField(key string, v lua.LValue) *lua.LTable {
	t := in.L.CreateTable(0, 1)
	t.RawSetString(key, v)
	return t
}

// replyStack is the height of Lua's stack, in slots, that Redis has for nested
// replies. An array takes one slot per level, a map or set three.
const replyStack = 7994

// toReply converts a script's result. It reads the fields that select a type
// without metatables, as Redis does.
func (r *caller) toReply(c *commands.Ctx, v lua.LValue, depth int) resp.Value {
	switch v := v.(type) {
	case lua.LString:
		return resp.Bulk(string(v))
	case lua.LNumber:
		return resp.Int(toInteger(float64(v)))
	case lua.LBool:
		switch {
		case r.child.Proto == resp.RESP3:
			return resp.Bool(bool(v))
		case bool(v):
			return resp.Int(1)
		}
		return resp.Null
	case *lua.LTable:
		if depth > replyStack {
			return resp.Error(errStackLimit)
		}
		return r.tableToReply(c, v, depth)
	}
	return resp.Null
}

func (r *caller) tableToReply(c *commands.Ctx, t *lua.LTable, depth int) resp.Value {
	if s, ok := t.RawGetString("err").(lua.LString); ok {
		text := strings.TrimRight(resp.CString(string(s)), "\r\n")
		r.countError(isCounted(t), text)
		return resp.Error(text)
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		return resp.Status(resp.OneLine(resp.CString(string(s))))
	}
	if f, ok := t.RawGetString("double").(lua.LNumber); ok {
		return doubleReply(float64(f))
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		var entries []resp.Value
		for key, value := m.Next(lua.LNil); key != lua.LNil && r.growReply(2); key, value = m.Next(key) {
			entries = append(entries, r.toReply(c, key, depth+3), r.toReply(c, value, depth+3))
		}
		return resp.Map(entries...)
	}
	if m, ok := t.RawGetString("set").(*lua.LTable); ok {
		var elems []resp.Value
		for key, _ := m.Next(lua.LNil); key != lua.LNil && r.growReply(1); key, _ = m.Next(key) {
			elems = append(elems, r.toReply(c, key, depth+3))
		}
		return resp.Set(elems...)
	}
	if s, ok := t.RawGetString("big_number").(lua.LString); ok {
		return resp.BigNumber(resp.OneLine(string(s)))
	}
	if m, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		text, ok1 := m.RawGetString("string").(lua.LString)
		_, ok2 := m.RawGetString("format").(lua.LString)
		if ok1 && ok2 {
			return resp.Verbatim(string(text))
		}
	}
	n := 0
	for t.RawGet(lua.LNumber(n+1)) != lua.LNil {
		n++
	}
	if !r.growReply(n) {
		return resp.Null
	}
	elems := c.Values(n)
	for i := 1; i <= n && r.growReply(0); i++ {
		elems = append(elems, r.toReply(c, t.RawGet(lua.LNumber(i)), depth+1))
	}
	return resp.Array(elems...)
}

// growReply charges n values of a reply and reports whether the script may go
// on: a small table that contains itself many times makes an endless reply.
func (r *caller) growReply(n int) bool {
	m := r.meter
	return m == nil || m.errText == "" && m.growScratch(n*int(unsafe.Sizeof(resp.Value{}))) && m.steps(n+1)
}

// doubleReply returns f as a double, or as text if resp.Double cannot hold it.
func doubleReply(f float64) resp.Value {
	if math.IsNaN(f) {
		return resp.Bulk(nanText(f))
	}
	return resp.Double(f)
}
