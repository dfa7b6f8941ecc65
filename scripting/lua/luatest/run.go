// Package luatest runs Lua sources of tests and describes what they return, in one text, as the reference in
// lab/luaprograms does. For tests only.
//
// This package is internal to zlimit: it may change in any release.
package luatest

import (
	"regexp"
	"strings"

	"github.com/zlimit/zlimit/scripting/lua"
)

// maxSteps ends a source that does not end by itself.
const maxSteps = 20_000_000

// NewState returns a state with the standard library and bounds.
func NewState() *lua.State {
	s := lua.NewState()
	s.OpenLibraries()
	s.Steps, s.Room = maxSteps, 500<<20
	s.Poll = func() string { return "timeout" }
	s.Measure = func(int64) string { return "not enough memory" }
	return s
}

// Run runs a source in a new state and returns "ok" and the results, or "error" and the error, as lua5.1's.
// There is no math.random and no math.randomseed, which no reference repeats.
func Run(source string) string {
	s := NewState()
	math := s.Globals.GetString("math")
	math.Table().SetString("random", lua.Nil)
	math.Table().SetString("randomseed", lua.Nil)
	return RunIn(s, source)
}

var named = regexp.MustCompile(`(local|upvalue|global|field|method) '[^']*' \(([a-z ]*)\)`)

// Anonymous removes variable names from errors. Whether Lua knows a name depends on how its compiler lays
// out `and` and `or`.
func Anonymous(result string) string { return named.ReplaceAllString(result, "$2") }

var address = regexp.MustCompile(`0x[0-9a-fA-F]{6,}`)

// RunIn is Run in a state that exists.
func RunIn(s *lua.State, source string) (result string) {
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
		return "error " + Describe(err.Value)
	}
	parts := []string{"ok"}
	for n := 1; n <= L.Top(); n++ {
		parts = append(parts, Describe(L.Get(n)))
	}
	return strings.Join(parts, " ")
}

// Describe shows a value: its type if it is no string, number, boolean or nil.
func Describe(v lua.Value) string {
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
