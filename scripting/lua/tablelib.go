package lua

var tableLibrary = []Entry{
	{"concat", tableConcat},
	{"foreach", tableForeach},
	{"foreachi", tableForeachI},
	{"getn", tableGetN},
	{"insert", tableInsert},
	{"maxn", tableMaxN},
	{"remove", tableRemove},
	{"setn", tableSetN},
	{"sort", tableSort},
}

func tableConcat(L *Thread) int {
	t := L.CheckTable(1)
	separator := L.OptString(2, "")
	from := L.OptInt(3, 1)
	to := L.OptInt(4, t.Len())
	b := L.Buffer()
	for i := from; i <= to; i++ {
		v := t.GetInt(i)
		switch v.kind {
		case KindString:
			b = append(L.GrowBuffer(b, int(v.bits)+len(separator)), v.Str()...)
		case KindNumber:
			b = AppendNumber(L.GrowBuffer(b, maxNumberText+len(separator)), v.Num())
		default:
			L.Errorf("invalid value (%s) at index %d in table for 'concat'", v.TypeName(), i)
		}
		if i < to {
			b = append(b, separator...)
		}
		L.Step(1)
	}
	return L.Return(L.FinishBuffer(b))
}

func tableForeach(L *Thread) int {
	t := L.CheckTable(1)
	fn := FunctionValue(L.CheckFunction(2))
	key, value, ok := t.Next(Nil)
	for ok && key.kind != KindNil {
		L.Step(1)
		if L.visit(fn, key, value) {
			return 1
		}
		key, value, ok = t.Next(key)
	}
	if !ok {
		L.runtimeError("invalid key to 'next'")
	}
	return 0
}

func tableForeachI(L *Thread) int {
	t := L.CheckTable(1)
	fn := FunctionValue(L.CheckFunction(2))
	n := t.Len()
	for i := 1; i <= n; i++ {
		if L.visit(fn, Number(float64(i)), t.GetInt(i)) {
			return 1
		}
	}
	return 0
}

// visit calls fn and reports whether it returned a value, which stays on the stack.
func (L *Thread) visit(fn, key, value Value) bool {
	L.Push(fn)
	L.Push(key)
	L.Push(value)
	L.Call(2, 1)
	if v := L.Get(-1); v.kind != KindNil {
		return true
	}
	L.Pop(1)
	return false
}

func tableGetN(L *Thread) int {
	return L.Return(Number(float64(L.CheckTable(1).Len())))
}

func tableSetN(L *Thread) int {
	L.CheckTable(1)
	L.Error("'setn' is obsolete")
	return 0
}

func tableMaxN(L *Thread) int {
	t := L.CheckTable(1)
	most := 0.0
	key, _, _ := t.Next(Nil)
	for key.kind != KindNil {
		L.Step(1)
		if key.kind == KindNumber && key.Num() > most {
			most = key.Num()
		}
		key, _, _ = t.Next(key)
	}
	return L.Return(Number(most))
}

func tableInsert(L *Thread) int {
	t := L.CheckTable(1)
	last := t.Len() + 1
	pos := last
	switch L.Top() {
	case 2:
	case 3:
		pos = L.CheckInt(2)
	default:
		L.Error("wrong number of arguments to 'insert'")
	}
	L.Step(max(last-pos, 0))
	for i := max(last, pos); i > pos; i-- {
		L.RawSetInt(t, i, t.GetInt(i-1))
	}
	L.RawSetInt(t, pos, L.Get(L.Top()))
	return 0
}

func tableRemove(L *Thread) int {
	t := L.CheckTable(1)
	last := t.Len()
	pos := L.OptInt(2, last)
	if pos < 1 || pos > last {
		return 0
	}
	value := t.GetInt(pos)
	L.Step(last - pos)
	for i := pos; i < last; i++ {
		L.RawSetInt(t, i, t.GetInt(i+1))
	}
	L.RawSetInt(t, last, Nil)
	return L.Return(value)
}

func tableSort(L *Thread) int {
	t := L.CheckTable(1)
	s := sorter{L: L, t: t}
	if v := L.Get(2); v.kind != KindNil {
		s.fn = FunctionValue(L.CheckFunction(2))
	}
	if t.readOnly {
		L.runtimeError(errReadOnlyTable)
	}
	s.sort(1, t.Len())
	return 0
}

// A sorter is Lua 5.1's quicksort. With the median of three as pivot and the smaller part first, it makes
// the same comparisons and leaves equal elements in the same order.
type sorter struct {
	L  *Thread
	t  *Table
	fn Value // nil for the operator <
}

func (s *sorter) less(a, b Value) bool {
	L := s.L
	if s.fn.kind != KindNil {
		L.Push(s.fn)
		L.Push(a)
		L.Push(b)
		L.Call(2, 1)
		result := L.Get(-1)
		L.Pop(1)
		return result.Truthy()
	}
	L.Step(1)
	return L.less(&a, &b)
}

func (s *sorter) swapIfLess(i, j int) {
	if a, b := s.t.GetInt(i), s.t.GetInt(j); s.less(b, a) {
		s.swap(i, j, a, b)
	}
}

// swap stores b at i and a at j.
func (s *sorter) swap(i, j int, a, b Value) {
	s.L.RawSetInt(s.t, i, b)
	s.L.RawSetInt(s.t, j, a)
}

func (s *sorter) sort(lo, hi int) {
	for lo < hi {
		s.swapIfLess(lo, hi)
		if hi-lo == 1 {
			return
		}
		middle := (lo + hi) / 2
		if a, b := s.t.GetInt(middle), s.t.GetInt(lo); s.less(a, b) {
			s.swap(middle, lo, a, b)
		} else if b := s.t.GetInt(hi); s.less(b, a) {
			s.swap(middle, hi, a, b)
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

// partition moves the pivot before the last element and returns its final place. lo and hi are already on
// the right sides.
func (s *sorter) partition(lo, hi, middle int) int {
	t := s.t
	pivot := t.GetInt(middle)
	s.swap(middle, hi-1, pivot, t.GetInt(hi-1))
	i, j := lo, hi-1
	for {
		for i++; s.less(t.GetInt(i), pivot); i++ {
			if i > hi {
				s.L.Error("invalid order function for sorting")
			}
		}
		for j--; s.less(pivot, t.GetInt(j)); j-- {
			if j < lo {
				s.L.Error("invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		s.swap(i, j, t.GetInt(i), t.GetInt(j))
	}
	s.swap(hi-1, i, t.GetInt(hi-1), t.GetInt(i))
	return i
}
