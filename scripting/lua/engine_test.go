package lua

import (
	"strings"
	"testing"
)

// runSource runs a chunk and returns its results, or its error, as text.
func runSource(t *testing.T, source string) string {
	t.Helper()
	s := NewState()
	fn, err := s.Load(source, "@test")
	if err != nil {
		return err.Error()
	}
	L := s.Main()
	L.Push(FunctionValue(fn))
	if err := L.PCall(0, Nil); err != nil {
		return err.Error()
	}
	var texts []string
	for n := 1; n <= L.Top(); n++ {
		v := L.ToString(L.Get(n))
		texts = append(texts, v.Str())
	}
	return strings.Join(texts, " ")
}

func TestMachine(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"return 1+2*3, 'a'..1 ..'b', #'abc', not nil", "7 a1b 3 true"},
		{"local t={1,2,3,x=5} t[#t+1]=9 return #t, t.x, t[4], t.y", "4 5 9 nil"},
		{
			"local function fib(n) if n<2 then return n end return fib(n-1)+fib(n-2) end return fib(15)",
			"610",
		},
		{"local s=0 for i=1,10 do if i%2==0 then s=s+i end end return s", "30"},
		{"local s=0 for i=10,1,-3 do s=s*10+i end return s", "10741"},
		{"local function f(...) local a,b=... return b,a,... end return f(1,2,3)", "2 1 1 2 3"},
		{"local function f(...) return arg.n, arg[2] end return f(7,8)", "2 8"},
		{
			"local a={} for i=1,3 do a[i]=function() i=i+1 return i end end return a[1](),a[1](),a[2]()",
			"2 3 3",
		},
		{"local x,y=1,2 x,y=y,x return x,y", "2 1"},
		{"local i=1 while true do i=i*2 if i>100 then break end end return i", "128"},
		{"local i=0 repeat local j=i i=i+1 until j>=5 return i", "6"},
		{"local t={} function t:m(x) return self==t, x end return t:m(4)", "true 4"},
		{
			"local function loop(i) if i==0 then return 'done' end return loop(i-1) end return loop(100000)",
			"done",
		},
		{"local x = nil; return x.y", "test:1: attempt to index local 'x' (a nil value)"},
		{"return foo.bar", "test:1: attempt to index global 'foo' (a nil value)"},
		{"local t={} \n return t.a.b", "test:2: attempt to index field 'a' (a nil value)"},
		{"local t={} t:nope()", "test:1: attempt to call method 'nope' (a nil value)"},
		{"local t=1 return function() return t() end", ""},
		{"return 1 + {}", "test:1: attempt to perform arithmetic on a table value"},
		{"local a = {} return a .. 'x'", "test:1: attempt to concatenate local 'a' (a table value)"},
		{"return 1 < 'x'", "test:1: attempt to compare number with string"},
		{"local function f() return f() + 1 end return f()", "test:1: stack overflow"},
		{"return nil and 1 or 2, false or nil, 1 and 2, (nil == false)", "2 nil 2 false"},
		{"local a; local b = a or 5; local c = not (a and b) return b, c", "5 true"},
		{"for i='a',2 do end", "test:1: 'for' initial value must be a number"},
		{"goto x", "test:1: '=' expected near 'x'"},
	} {
		if got := runSource(t, c.source); got != c.want && c.want != "" {
			t.Errorf("%s\n got %s\nwant %s", c.source, got, c.want)
		}
	}
}
