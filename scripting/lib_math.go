package scripting

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// unaryMath and binaryMath are the functions of one and two numbers.
var unaryMath = []struct {
	name string
	fn   func(float64) float64
}{
	{"abs", math.Abs},
	{"acos", math.Acos},
	{"asin", math.Asin},
	{"atan", math.Atan},
	{"ceil", math.Ceil},
	{"cos", math.Cos},
	{"cosh", math.Cosh},
	{"exp", math.Exp},
	{"floor", math.Floor},
	{"log", math.Log},
	{"log10", math.Log10},
	{"sin", math.Sin},
	{"sinh", math.Sinh},
	{"sqrt", math.Sqrt},
	{"tan", math.Tan},
	{"tanh", math.Tanh},
	{"deg", func(x float64) float64 { return x / (math.Pi / 180) }},
	{"rad", func(x float64) float64 { return x * (math.Pi / 180) }},
}

var binaryMath = map[string]func(x, y float64) float64{
	"atan2": math.Atan2, "fmod": math.Mod, "mod": math.Mod, "pow": math.Pow,
}

func (in *interp) mathLibrary() map[string]lua.LGFunction {
	lib := map[string]lua.LGFunction{
		"frexp": in.mathFrexp, "ldexp": in.mathLdexp,
		"max": in.mathMax, "min": in.mathMin, "modf": in.mathModf,
		"random": in.mathRandom, "randomseed": in.mathRandomSeed,
	}
	for _, f := range unaryMath {
		lib[f.name] = in.unary(f.fn)
	}
	for name, fn := range binaryMath {
		lib[name] = in.binary(fn)
	}
	return lib
}

func (in *interp) unary(fn func(float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		L.Push(lua.LNumber(fn(in.checkNumber(L, 1))))
		return 1
	}
}

func (in *interp) binary(fn func(x, y float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		y := in.checkNumber(L, 2) // checked first, as in Redis' build
		L.Push(lua.LNumber(fn(in.checkNumber(L, 1), y)))
		return 1
	}
}

func (in *interp) mathFrexp(L *lua.LState) int {
	fraction, exponent := math.Frexp(in.checkNumber(L, 1))
	L.Push(lua.LNumber(fraction))
	L.Push(lua.LNumber(exponent))
	return 2
}

func (in *interp) mathLdexp(L *lua.LState) int {
	exponent := in.checkInt(L, 2)
	L.Push(lua.LNumber(math.Ldexp(in.checkNumber(L, 1), exponent)))
	return 1
}

func (in *interp) mathMax(L *lua.LState) int {
	most := in.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := in.checkNumber(L, i); x > most {
			most = x
		}
	}
	L.Push(lua.LNumber(most))
	return 1
}

func (in *interp) mathMin(L *lua.LState) int {
	least := in.checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if x := in.checkNumber(L, i); x < least {
			least = x
		}
	}
	L.Push(lua.LNumber(least))
	return 1
}

func (in *interp) mathModf(L *lua.LState) int {
	x := in.checkNumber(L, 1)
	whole, fraction := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		fraction = x - whole
	}
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(math.Copysign(fraction, x)))
	return 2
}

// random is the generator of drand48, which Redis uses instead of C's rand: a
// seed gives the same numbers on every machine.
type random struct{ state uint64 }

func newRandom(seed uint32) random { return random{uint64(seed)<<16 | 0x330E} }

func (r *random) next() int32 {
	r.state = (r.state*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(r.state >> 17)
}

func (in *interp) mathRandom(L *lua.LState) int {
	const most = math.MaxInt32
	r := float64(in.random.next()%most) / most
	switch L.GetTop() {
	case 0:
		L.Push(lua.LNumber(r))
	case 1:
		hi := in.checkInt(L, 1)
		if hi < 1 {
			in.argError(L, 1, "interval is empty")
		}
		L.Push(lua.LNumber(math.Floor(r*float64(hi)) + 1))
	case 2:
		lo, hi := in.checkInt(L, 1), in.checkInt(L, 2)
		if lo > hi {
			in.argError(L, 2, "interval is empty")
		}
		L.Push(lua.LNumber(math.Floor(r*float64(hi-lo+1)) + float64(lo)))
	default:
		in.fail(L, "wrong number of arguments")
	}
	return 1
}

func (in *interp) mathRandomSeed(L *lua.LState) int {
	in.random = newRandom(uint32(in.checkInt(L, 1)))
	return 0
}
