package scripting

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// The fields of tables that stand for replies.
var (
	fieldErr       = lua.String("err")
	fieldOK        = lua.String("ok")
	fieldDouble    = lua.String("double")
	fieldMap       = lua.String("map")
	fieldSet       = lua.String("set")
	fieldBigNumber = lua.String("big_number")
	fieldVerbatim  = lua.String("verbatim_string")
	fieldString    = lua.String("string")
	fieldFormat    = lua.String("format")
)

// toLua converts a reply by the script's protocol (redis.setresp).
func (in *interp) toLua(L *lua.Thread, v *resp.Value) lua.Value {
	resp3 := in.child.Proto == resp.RESP3
	switch v.Kind() {
	case resp.KindInteger:
		return lua.Number(float64(v.Int()))
	case resp.KindBulk:
		return L.CopyString(v.Str())
	case resp.KindBulkInt:
		var space [24]byte
		return L.NewString(strconv.AppendInt(space[:0], v.Int(), 10))
	case resp.KindStatus:
		return singleField(L, fieldOK, L.CopyString(v.Str()))
	case resp.KindError:
		return errorTable(L, v.Str(), false)
	case resp.KindNull, resp.KindNullArray, resp.KindNone:
		if resp3 {
			return lua.Nil
		}
		return lua.False
	case resp.KindBool:
		if resp3 {
			return lua.Bool(v.Int() != 0)
		}
		return lua.Number(float64(v.Int()))
	case resp.KindDouble:
		if resp3 {
			return singleField(L, fieldDouble, lua.Number(v.Float()))
		}
		var space [32]byte
		return L.NewString(resp.AppendFloat(space[:0], v.Float()))
	case resp.KindBigNumber:
		if resp3 {
			return singleField(L, fieldBigNumber, L.CopyString(v.Str()))
		}
		return L.CopyString(v.Str())
	case resp.KindVerbatim:
		text := L.CopyString(v.Str())
		if resp3 {
			t := singleField(L, fieldString, text)
			t.Table().Set(fieldFormat, lua.String("txt"))
			return singleField(L, fieldVerbatim, t)
		}
		return text
	}
	return in.aggregateToLua(L, v, resp3)
}

func (in *interp) aggregateToLua(L *lua.Thread, v *resp.Value, resp3 bool) lua.Value {
	elems := v.Elems()
	switch kind := v.Kind(); {
	case resp3 && kind == resp.KindMap:
		t := L.NewTable(0, 0)
		for i := 0; i+1 < len(elems); i += 2 {
			if key := in.toLua(L, &elems[i]); !key.IsNil() {
				L.RawSet(t, key, in.toLua(L, &elems[i+1]))
			}
		}
		return singleField(L, fieldMap, lua.TableValue(t))
	case resp3 && kind == resp.KindSet:
		t := L.NewTable(0, 0)
		for i := range elems {
			if key := in.toLua(L, &elems[i]); !key.IsNil() {
				L.RawSet(t, key, lua.True)
			}
		}
		return singleField(L, fieldSet, lua.TableValue(t))
	}
	t := L.NewTable(0, 0)
	for i := range elems {
		L.RawSetInt(t, i+1, in.toLua(L, &elems[i]))
	}
	return lua.TableValue(t)
}

func singleField(L *lua.Thread, key, v lua.Value) lua.Value {
	t := L.NewTable(0, 1)
	t.Set(key, v)
	return lua.TableValue(t)
}

// replyStack is the height of Lua's stack, in slots, that Redis has for nested
// replies. An array takes one slot per level, a map or set three.
const replyStack = 7994

// toReply converts a script's result. It reads the fields that select a type
// without metatables, as Redis does.
func (in *interp) toReply(c *commands.Ctx, v *lua.Value, depth int) resp.Value {
	switch v.Kind() {
	case lua.KindString:
		return c.Copy(in.replyText(v, depth))
	case lua.KindNumber:
		return resp.Int(lua.ToInteger(v.Num()))
	case lua.KindBool:
		switch {
		case in.child.Proto == resp.RESP3:
			return resp.Bool(v.Truthy())
		case v.Truthy():
			return resp.Int(1)
		}
		return resp.Null
	case lua.KindTable:
		if depth > replyStack {
			return resp.Error(errStackLimit)
		}
		t := v.Table()
		if t.HasFields() {
			if reply, ok := in.typedReply(c, t, depth); ok {
				return reply
			}
		}
		return in.arrayReply(c, t, depth)
	}
	return resp.Null
}

func (in *interp) arrayReply(c *commands.Ctx, t *lua.Table, depth int) resp.Value {
	n := 0
	for {
		if v := t.GetInt(n + 1); v.IsNil() {
			break
		}
		n++
	}
	in.growReply(n)
	elems := c.Build(n)
	for i := 1; i <= n; i++ {
		v := t.GetInt(i)
		if !elems.Add(in.toReply(c, &v, depth+1)) {
			break
		}
	}
	return elems.Array()
}

// typedReply returns the reply for a table whose field selects its type.
func (in *interp) typedReply(c *commands.Ctx, t *lua.Table, depth int) (reply resp.Value, ok bool) {
	if v := t.Get(fieldErr); v.IsString() {
		text := strings.TrimRight(resp.CString(string(in.replyText(&v, depth))), "\r\n")
		table := lua.TableValue(t)
		in.countError(isCounted(&table), text)
		return resp.Error(text), true
	}
	if v := t.Get(fieldOK); v.IsString() {
		return resp.Status(resp.OneLine(resp.CString(string(in.replyText(&v, depth))))), true
	}
	if v := t.Get(fieldDouble); v.IsNumber() {
		return doubleReply(v.Num()), true
	}
	if v := t.Get(fieldMap); v.IsTable() {
		entries := c.Build(0)
		m := v.Table()
		for key, value, _ := m.Next(lua.Nil); !key.IsNil(); key, value, _ = m.Next(key) {
			in.growReply(2)
			if !entries.Add(in.toReply(c, &key, depth+3)) || !entries.Add(in.toReply(c, &value, depth+3)) {
				break
			}
		}
		return entries.Map(), true
	}
	if v := t.Get(fieldSet); v.IsTable() {
		elems := c.Build(0)
		m := v.Table()
		for key, _, _ := m.Next(lua.Nil); !key.IsNil(); key, _, _ = m.Next(key) {
			in.growReply(1)
			if !elems.Add(in.toReply(c, &key, depth+3)) {
				break
			}
		}
		return elems.Set(), true
	}
	if v := t.Get(fieldBigNumber); v.IsString() {
		return resp.BigNumber(resp.OneLine(string(in.replyText(&v, depth)))), true
	}
	if v := t.Get(fieldVerbatim); v.IsTable() {
		text, format := v.Table().Get(fieldString), v.Table().Get(fieldFormat)
		if text.IsString() && format.IsString() {
			return resp.Verbatim(string(in.replyText(&text, depth))), true
		}
	}
	return resp.None, false
}

// growReply charges n values of a reply: a small table that contains itself many
// times makes an endless reply.
func (in *interp) growReply(n int) {
	L := in.state.Main()
	L.GrowScratch(n * int(unsafe.Sizeof(resp.Value{})))
	L.Step(n + 1)
}

// replyText returns the bytes of a string, of which the reply gets a copy. Those of elements are charged: a
// table may have one string many times.
func (in *interp) replyText(v *lua.Value, depth int) []byte {
	b := v.Bytes()
	if depth > 0 {
		in.state.Main().GrowScratch(len(b))
	}
	return b
}

// doubleReply returns f as a double, or as text if resp.Double cannot hold it.
func doubleReply(f float64) resp.Value {
	if math.IsNaN(f) {
		return resp.Bulk(lua.FormatNumber(f))
	}
	return resp.Double(f)
}
