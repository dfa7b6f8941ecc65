package lua_test

import (
	"regexp"
	"strings"

	"github.com/zlimit/zlimit/scripting/lua"
)

// maxSteps ends a source that does not end by itself.
const maxSteps = 20_000_000

// newState returns a state with the standard library and bounds.
func newState() *lua.State {
	s := lua.NewState()
	s.OpenLibraries()
	s.Steps, s.Room = maxSteps, 500<<20
	s.Poll = func() string { return "timeout" }
	s.Measure = func(int64) string { return "not enough memory" }
	return s
}

// run runs a source in a new state and returns its result in the form of luatest.Reference.
func run(source string) string {
	s := newState()
	math := s.Globals.GetString("math")
	math.Table().SetString("random", lua.Nil) // the driver removes them
	math.Table().SetString("randomseed", lua.Nil)
	return runIn(s, source)
}

var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

func runIn(s *lua.State, source string) (result string) {
	fn, err := s.Load(source, "@user_script")
	if err != nil {
		return "error " + err.Error()
	}
	fn.Proto().PrepareSites(func(site *lua.CallSite) { site.Data = true })
	L := s.Main()
	defer func() {
		if e, ok := recover().(*lua.Error); ok {
			result = e.Error()
		}
	}()
	L.Push(lua.FunctionValue(fn))
	if err := L.PCall(0, lua.Nil); err != nil {
		return "error " + describe(err.Value)
	}
	parts := []string{"ok"}
	for n := 1; n <= L.Top(); n++ {
		parts = append(parts, describe(L.Get(n)))
	}
	return strings.Join(parts, " ")
}

func describe(v lua.Value) string {
	switch v.Kind() {
	case lua.KindNil:
		return "nil"
	case lua.KindBool:
		if v.Truthy() {
			return "true"
		}
		return "false"
	case lua.KindNumber:
		if v.Num() != v.Num() {
			return "nan"
		}
		return lua.FormatNumber(v.Num())
	case lua.KindString:
		return address.ReplaceAllString(v.Str(), "address")
	}
	return v.TypeName()
}

func functionValue(fn *lua.Function) lua.Value { return lua.FunctionValue(fn) }
