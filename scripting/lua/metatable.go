package lua

// An event is an operation that a metatable can define.
type event uint8

const (
	eventIndex event = iota
	eventNewIndex
	eventEq
	eventAdd
	eventSub
	eventMul
	eventDiv
	eventMod
	eventPow
	eventUnm
	eventLen
	eventLt
	eventLe
	eventConcat
	eventCall
	eventToString
	eventMetatable
	events
)

// eventNames are the fields of metatables.
var eventNames = func() (names [events]Value) {
	for i, name := range [events]string{
		"__index", "__newindex", "__eq", "__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm",
		"__len", "__lt", "__le", "__concat", "__call", "__tostring", "__metatable",
	} {
		names[i] = String(name)
		names[i].stringHash()
	}
	return names
}()

// field returns a field of a metatable, which may be nil.
func (t *Table) field(e event) Value {
	if t == nil || t.absent&(1<<e) != 0 {
		return Nil
	}
	if v := t.findString(&eventNames[e]); v != nil && v.kind != KindNil {
		return *v
	}
	t.absent |= 1 << e
	return Nil
}

func (L *Thread) metatable(v *Value) *Table {
	switch v.kind {
	case KindTable:
		return v.Table().meta
	case KindString:
		return L.state.stringMeta
	case KindUserdata:
		if u := v.Userdata(); u != nil {
			return u.Metatable
		}
	}
	return nil
}

func (L *Thread) metafield(v *Value, e event) Value { return L.metatable(v).field(e) }

// maxMetaLoop is how many values a chain of __index may have.
const maxMetaLoop = 100

// Index returns v[key] as Lua code does.
func (L *Thread) Index(v, key Value) Value { return L.index(&v, &key, anonymous) }

// index is Index for an operand of an instruction, which an error names.
func (L *Thread) index(v, key *Value, from operand) Value {
	object := *v
	for range maxMetaLoop {
		var handler Value
		if object.kind == KindTable {
			t := object.Table()
			if found := t.find(key); found != nil && found.kind != KindNil {
				return *found
			}
			if handler = t.meta.field(eventIndex); handler.kind == KindNil {
				return Nil
			}
		} else if handler = L.metafield(&object, eventIndex); handler.kind == KindNil {
			L.typeError("index", &object, from)
		}
		if handler.kind == KindFunction {
			return L.callMeta(handler, object, *key)
		}
		object, from = handler, anonymous
	}
	L.runtimeError("loop in gettable")
	return Nil
}

// setIndex does v[key] = value as Lua code does.
func (L *Thread) setIndex(v, key, value *Value, from operand) {
	object := *v
	for range maxMetaLoop {
		var handler Value
		if object.kind == KindTable {
			t := object.Table()
			if t.meta == nil {
				L.RawSet(t, *key, *value)
				return
			}
			if found := t.find(key); found != nil && found.kind != KindNil {
				L.RawSet(t, *key, *value)
				return
			}
			if handler = t.meta.field(eventNewIndex); handler.kind == KindNil {
				L.RawSet(t, *key, *value)
				return
			}
		} else if handler = L.metafield(&object, eventNewIndex); handler.kind == KindNil {
			L.typeError("index", &object, from)
		}
		if handler.kind == KindFunction {
			L.callMeta3(handler, object, *key, *value)
			return
		}
		object, from = handler, anonymous
	}
	L.runtimeError("loop in settable")
}

// inherited returns a field of a table, or of the table that is its __index, and nil if neither has it.
func (t *Table) inherited(name *Value) *Value {
	for range maxMetaLoop {
		if v := t.findString(name); v != nil && v.kind != KindNil {
			return v
		}
		next := t.meta.field(eventIndex)
		if next.kind != KindTable {
			return nil
		}
		t = next.Table()
	}
	return nil
}

const errReadOnlyTable = "Attempt to modify a readonly table"

// RawSet does t[key] = value without metamethods.
func (L *Thread) RawSet(t *Table, key, value Value) {
	L.stepText(&key, &key)
	if t.readOnly {
		L.runtimeError(errReadOnlyTable)
	}
	if key.kind == KindNil {
		L.runtimeError("table index is nil")
	} else if key.kind == KindNumber && key.Num() != key.Num() {
		L.runtimeError("table index is NaN")
	}
	*t.slot(L, &key) = value
}

// RawSetInt is RawSet with an integer.
func (L *Thread) RawSetInt(t *Table, n int, value Value) {
	if i := uint(n) - 1; i < uint(len(t.array)) && !t.readOnly {
		t.array[i] = value
		return
	}
	L.RawSet(t, Number(float64(n)), value)
}

// callMeta calls a metamethod for one result.
func (L *Thread) callMeta(fn, a, b Value) Value {
	L.top = L.liveTop()
	L.Push(fn)
	L.Push(a)
	L.Push(b)
	L.Call(2, 1)
	L.top--
	return L.stack[L.top]
}

func (L *Thread) callMeta3(fn, a, b, c Value) {
	L.top = L.liveTop()
	L.Push(fn)
	L.Push(a)
	L.Push(b)
	L.Push(c)
	L.Call(3, 0)
}

// ToString returns what tostring returns.
func (L *Thread) ToString(v Value) Value {
	if handler := L.metafield(&v, eventToString); handler.kind != KindNil {
		top := L.top
		L.Push(handler)
		L.Push(v)
		L.Call(1, 1)
		result := L.stack[L.top-1]
		L.top = top
		return result
	}
	switch v.kind {
	case KindNil:
		return String("nil")
	case KindBool:
		if v.bits != 0 {
			return String("true")
		}
		return String("false")
	case KindNumber:
		return L.NumberText(v.Num())
	case KindString:
		return v
	}
	return L.addressText(v)
}
