package lua

// Bindings are the globals of a sandbox whose tables are read-only, and the
// fields of those tables, by number. Code compiled with them finds a library
// function without a look into two tables.
//
// States that share code must have the same sandbox. Where one of them lacks a
// value, its code looks it up by name. See Partial.
type Bindings struct {
	index map[boundName]int
	names []boundName
	kinds []boundKind
	// partial says that code also runs in states without some of the values; see Partial.
	partial bool
}

// Partial returns bindings for code that also runs while its state lacks values. A function that is
// missing is an error before its arguments are evaluated, as in ordinary code.
func (b *Bindings) Partial() *Bindings {
	partial := *b
	partial.partial = true
	return &partial
}

// A boundKind tells which instructions there are for a binding.
type boundKind uint8

const (
	boundOther  boundKind = iota
	boundTable            // it is a table
	boundSingle           // a function of one result
	boundDirect           // one with a directFunction
	boundSite             // one with a SiteFunction
)

func kindOfBound(v *Value) boundKind {
	switch {
	case v.kind == KindTable:
		return boundTable
	case v.kind != KindFunction:
	case v.Function().host.direct != nil:
		return boundDirect
	case v.Function().host.atSite != nil:
		return boundSite
	case v.Function().host.single:
		return boundSingle
	}
	return boundOther
}

// A boundName is a global, or a field of a global table.
type boundName struct{ global, field string }

// Limits of the operand of opBound.
const (
	boundBits = 12
	boundMask = 1<<boundBits - 1
)

// NewBindings returns the bindings of a state's globals.
func NewBindings(s *State) *Bindings {
	b := &Bindings{index: make(map[boundName]int)}
	g := s.Globals
	for key, value, _ := g.Next(Nil); key.kind != KindNil; key, value, _ = g.Next(key) {
		b.add(key, Nil, value)
		if value.kind != KindTable || value.Table() == g {
			continue
		}
		if t := value.Table(); t.readOnly {
			for field, v, _ := t.Next(Nil); field.kind != KindNil; field, v, _ = t.Next(field) {
				b.add(key, field, v)
			}
		}
	}
	return b
}

func (b *Bindings) add(global, field, v Value) {
	name := boundName{global: global.Str()}
	if field.kind == KindString {
		name.field = field.Str()
	}
	if len(b.names) <= boundMask {
		b.index[name] = len(b.names)
		b.names = append(b.names, name)
		b.kinds = append(b.kinds, kindOfBound(&v))
	}
}

// Bind gives a state the values for code that was compiled with b. They must
// not change afterwards.
func (s *State) Bind(b *Bindings) {
	s.bindings, s.bound = b, make([]Value, len(b.names))
	for i, name := range b.names {
		v := s.Globals.GetString(name.global)
		if name.field != "" && v.kind == KindTable {
			v = v.Table().GetString(name.field)
		}
		s.bound[i] = v
	}
}

// Unbind makes code look everything up by name until Bind is called again.
func (s *State) Unbind() { clear(s.bound) }

// boundValue returns the value of binding i.
func (L *Thread) boundValue(env *Table, i int) Value {
	if v := L.state.bound[i]; v.kind != KindNil {
		return v
	}
	return L.lookupBound(env, i)
}

// lookupBound finds the value of a name that has no binding in this state.
func (L *Thread) lookupBound(env *Table, i int) Value {
	name := L.state.bindings.names[i]
	v, key := TableValue(env), String(name.global)
	v = L.index(&v, &key, anonymous)
	if name.field != "" {
		key = String(name.field)
		v = L.index(&v, &key, anonymous)
	}
	return v
}

// bound returns the description of a name that is bound, if it is.
func (g *generator) bound(global, field string, line int) (desc, bool) {
	if g.bindings == nil {
		return desc{}, false
	}
	i, ok := g.bindings.index[boundName{global, field}]
	if !ok {
		return desc{}, false
	}
	last, isField := global, 0
	if field != "" {
		last, isField = field, 1
	}
	c := g.constant(String(last))
	if c >= 1<<(31-boundBits) {
		return desc{}, false
	}
	d := desc{kind: dBound, info: c<<boundBits | i, key: isField, line: line}
	return d.noJumps(), true
}
