package lua

import "math"

// mathLibrary lists the functions in the order of C Lua, which pairs shows.
var mathLibrary = []Entry{
	{"abs", unary(math.Abs)},
	{"acos", unary(math.Acos)},
	{"asin", unary(math.Asin)},
	{"atan2", binary(math.Atan2)},
	{"atan", unary(math.Atan)},
	{"ceil", unary(math.Ceil)},
	{"cosh", unary(math.Cosh)},
	{"cos", unary(math.Cos)},
	{"deg", unary(func(x float64) float64 { return x / (math.Pi / 180) })},
	{"exp", unary(math.Exp)},
	{"floor", unary(math.Floor)},
	{"fmod", binary(math.Mod)},
	{"frexp", mathFrexp},
	{"ldexp", mathLdexp},
	{"log10", unary(math.Log10)},
	{"log", unary(math.Log)},
	{"max", most(func(x, best float64) bool { return x > best })},
	{"min", most(func(x, best float64) bool { return x < best })},
	{"modf", mathModf},
	{"pow", binary(pow)},
	{"rad", unary(func(x float64) float64 { return x * (math.Pi / 180) })},
	{"random", mathRandom},
	{"randomseed", mathRandomSeed},
	{"sinh", unary(math.Sinh)},
	{"sin", unary(math.Sin)},
	{"sqrt", unary(math.Sqrt)},
	{"tanh", unary(math.Tanh)},
	{"tan", unary(math.Tan)},
}

func unary(fn func(float64) float64) GoFunction {
	return func(L *Thread) int {
		return L.Return(Number(fn(L.CheckNumber(1))))
	}
}

func binary(fn func(x, y float64) float64) GoFunction {
	return func(L *Thread) int {
		y := L.CheckNumber(2) // checked first, as in C
		return L.Return(Number(fn(L.CheckNumber(1), y)))
	}
}

func mathFrexp(L *Thread) int {
	fraction, exponent := math.Frexp(L.CheckNumber(1))
	return L.Return(Number(fraction), Number(float64(exponent)))
}

func mathLdexp(L *Thread) int {
	exponent := L.CheckInt(2)
	return L.Return(Number(math.Ldexp(L.CheckNumber(1), exponent)))
}

// most returns the function that picks a number: a later one where better says so.
func most(better func(x, best float64) bool) GoFunction {
	return func(L *Thread) int {
		best := L.CheckNumber(1)
		for i := 2; i <= L.Top(); i++ {
			if x := L.CheckNumber(i); better(x, best) {
				best = x
			}
		}
		return L.Return(Number(best))
	}
}

func mathModf(L *Thread) int {
	x := L.CheckNumber(1)
	whole, fraction := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		fraction = x - whole
	}
	return L.Return(Number(whole), Number(math.Copysign(fraction, x)))
}

// Random is the generator of drand48, with which a seed gives the same numbers on every machine. The zero
// Random is not seeded.
type Random struct{ state uint64 }

// Seed begins a sequence.
func (r *Random) Seed(seed uint32) { r.state = uint64(seed)<<16 | 0x330E }

// next returns 31 random bits.
func (r *Random) next() int32 {
	r.state = (r.state*0x5DEECE66D + 0xB) & (1<<48 - 1)
	return int32(r.state >> 17)
}

func mathRandom(L *Thread) int {
	const most = math.MaxInt32
	r := float64(L.state.Random.next()%most) / most
	switch L.Top() {
	case 0:
		L.PushNumber(r)
	case 1:
		hi := L.CheckInt(1)
		if hi < 1 {
			L.ArgError(1, "interval is empty")
		}
		L.PushNumber(math.Floor(r*float64(hi)) + 1)
	case 2:
		lo, hi := L.CheckInt(1), L.CheckInt(2)
		if lo > hi {
			L.ArgError(2, "interval is empty")
		}
		L.PushNumber(math.Floor(r*float64(hi-lo+1)) + float64(lo))
	default:
		L.Error("wrong number of arguments")
	}
	return 1
}

func mathRandomSeed(L *Thread) int {
	L.state.Random.Seed(uint32(L.CheckInt(1)))
	return 0
}
