package scripting

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (in *interp) tableLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"concat": in.tableConcat, "foreach": in.tableForeach, "foreachi": in.tableForeachI,
		"getn": in.tableGetN, "insert": in.tableInsert, "maxn": in.tableMaxN, "remove": in.tableRemove,
		"setn": in.tableSetN, "sort": in.tableSort,
	}
}

func rawGetInt(t *lua.LTable, i int) lua.LValue { return t.RawGet(lua.LNumber(i)) }

func rawSetInt(t *lua.LTable, i int, v lua.LValue) { t.RawSet(lua.LNumber(i), v) }

func (in *interp) tableConcat(L *lua.LState) int {
	t := in.readable(L)
	separator := in.optString(L, 2, "")
	from := in.optInt(L, 3, 1)
	to := in.optInt(L, 4, border(t))
	size := 0
	for i := from; i <= to; i++ {
		switch v := rawGetInt(t, i).(type) {
		case lua.LString:
			size += len(v) + len(separator)
		case lua.LNumber:
			size += 24 + len(separator)
		default:
			in.failf(L, "invalid value (%s) at index %d in table for 'concat'", typeName(v), i)
		}
		in.steps(L, 1)
	}
	in.grow(L, size)
	var b strings.Builder
	b.Grow(size)
	for i := from; i <= to; i++ {
		s, _ := asString(rawGetInt(t, i))
		b.WriteString(s)
		if i < to {
			b.WriteString(separator)
		}
	}
	L.Push(lua.LString(b.String()))
	return 1
}

func (in *interp) tableForeach(L *lua.LState) int {
	t := in.readable(L)
	fn := in.checkFunction(L, 2)
	key, value := t.Next(lua.LNil)
	for key != lua.LNil {
		in.steps(L, 1)
		if in.visit(L, fn, key, value) {
			return 1
		}
		key, value = t.Next(key)
	}
	return 0
}

func (in *interp) tableForeachI(L *lua.LState) int {
	t := in.readable(L)
	fn := in.checkFunction(L, 2)
	n := border(t)
	for i := 1; i <= n; i++ {
		if in.visit(L, fn, lua.LNumber(i), rawGetInt(t, i)) {
			return 1
		}
	}
	return 0
}

// visit calls fn and reports whether it returned a value, which stays on the
// stack.
func (in *interp) visit(L *lua.LState, fn *lua.LFunction, key, value lua.LValue) bool {
	L.Push(fn)
	L.Push(key)
	L.Push(value)
	in.call(L, 2)
	if L.Get(-1) != lua.LNil {
		return true
	}
	L.Pop(1)
	return false
}

func (in *interp) tableGetN(L *lua.LState) int {
	L.Push(lua.LNumber(border(in.readable(L))))
	return 1
}

func (in *interp) tableSetN(L *lua.LState) int {
	in.checkTable(L)
	in.fail(L, "'setn' is obsolete")
	return 0
}

func (in *interp) tableMaxN(L *lua.LState) int {
	t := in.readable(L)
	most := lua.LNumber(0)
	key, _ := t.Next(lua.LNil)
	for key != lua.LNil {
		in.steps(L, 1)
		if n, ok := key.(lua.LNumber); ok && n > most {
			most = n
		}
		key, _ = t.Next(key)
	}
	L.Push(most)
	return 1
}

func (in *interp) tableInsert(L *lua.LState) int {
	t := in.checkTable(L)
	last := border(t) + 1
	pos := last
	switch L.GetTop() {
	case 2:
	case 3:
		pos = in.checkInt(L, 2)
	default:
		in.fail(L, "wrong number of arguments to 'insert'")
	}
	in.writable(L)
	value := L.Get(L.GetTop())
	in.steps(L, max(last-pos, 0))
	in.reserveArray(L, t, pos)
	for i := max(last, pos); i > pos; i-- {
		rawSetInt(t, i, rawGetInt(t, i-1))
	}
	rawSetInt(t, pos, value)
	return 0
}

func (in *interp) tableRemove(L *lua.LState) int {
	t := in.checkTable(L)
	last := border(t)
	pos := in.optInt(L, 2, last)
	if pos < 1 || pos > last {
		return 0
	}
	in.writable(L)
	value := rawGetInt(t, pos)
	in.steps(L, last-pos)
	for i := pos; i < last; i++ {
		rawSetInt(t, i, rawGetInt(t, i+1))
	}
	rawSetInt(t, last, lua.LNil)
	L.Push(value)
	return 1
}

func (in *interp) tableSort(L *lua.LState) int {
	t := in.checkTable(L)
	var less *lua.LFunction
	if L.Get(2) != lua.LNil {
		less = in.checkFunction(L, 2)
	}
	in.writable(L)
	s := sorter{in: in, L: L, t: t, fn: less}
	s.sort(1, border(t))
	return 0
}

// A sorter is Lua 5.1's quicksort. With the median of three as pivot and the
// smaller part first, it makes the same comparisons and leaves equal elements
// in the same order.
type sorter struct {
	in *interp
	L  *lua.LState
	t  *lua.LTable
	fn *lua.LFunction
}

func (s *sorter) less(a, b lua.LValue) bool {
	if s.fn != nil {
		s.L.Push(s.fn)
		s.L.Push(a)
		s.L.Push(b)
		s.in.call(s.L, 2)
		result := lua.LVAsBool(s.L.Get(-1))
		s.L.Pop(1)
		return result
	}
	s.in.steps(s.L, 1)
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			return x < y
		}
	}
	meta := s.L.GetMetaField(a, "__lt")
	if a.Type() != b.Type() || meta == lua.LNil || meta != s.L.GetMetaField(b, "__lt") {
		s.in.throw(s.L, lua.LString(compareError(a, b)))
	}
	return s.L.LessThan(a, b)
}

func (s *sorter) swapIfLess(i, j int) {
	if a, b := rawGetInt(s.t, i), rawGetInt(s.t, j); s.less(b, a) {
		rawSetInt(s.t, i, b)
		rawSetInt(s.t, j, a)
	}
}

func (s *sorter) sort(lo, hi int) {
	for lo < hi {
		s.swapIfLess(lo, hi)
		if hi-lo == 1 {
			return
		}
		middle := (lo + hi) / 2
		if a, b := rawGetInt(s.t, middle), rawGetInt(s.t, lo); s.less(a, b) {
			rawSetInt(s.t, middle, b)
			rawSetInt(s.t, lo, a)
		} else if b := rawGetInt(s.t, hi); s.less(b, a) {
			rawSetInt(s.t, middle, b)
			rawSetInt(s.t, hi, a)
		}
		if hi-lo == 2 {
			return
		}
		i := s.partition(lo, hi, middle)
		if i-lo < hi-i {
			s.sort(lo, i-1)
			lo = i + 1
		} else {
			s.sort(i+1, hi)
			hi = i - 1
		}
	}
}

// partition moves the pivot before the last element and returns its final
// place. lo and hi are already on the right sides.
func (s *sorter) partition(lo, hi, middle int) int {
	pivot := rawGetInt(s.t, middle)
	rawSetInt(s.t, middle, rawGetInt(s.t, hi-1))
	rawSetInt(s.t, hi-1, pivot)
	i, j := lo, hi-1
	for {
		for i++; s.less(rawGetInt(s.t, i), pivot); i++ {
			if i > hi {
				s.in.fail(s.L, "invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, rawGetInt(s.t, j)); j-- {
			if j < lo {
				s.in.fail(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		a, b := rawGetInt(s.t, i), rawGetInt(s.t, j)
		rawSetInt(s.t, i, b)
		rawSetInt(s.t, j, a)
	}
	a, b := rawGetInt(s.t, hi-1), rawGetInt(s.t, i)
	rawSetInt(s.t, hi-1, b)
	rawSetInt(s.t, i, a)
	return i
}
