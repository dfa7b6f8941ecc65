package bitmap

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// text returns the bits of b as digits, for comparison.
func text(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		for i := 7; i >= 0; i-- {
			out.WriteByte('0' + c>>i&1)
		}
	}
	return out.String()
}

// random returns n bytes, often uniform ones, so that searches go far.
func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	kind := r.IntN(3)
	for i := range b {
		switch {
		case kind == 0 || r.IntN(20) == 0:
			b[i] = byte(r.Uint32())
		case kind == 1:
			b[i] = 0xff
		}
	}
	return b
}

func TestAgainstDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := random(r, 1+r.IntN(40))
		digits := text(b)
		bits := int64(len(digits))
		first := r.Int64N(bits)
		last := first + r.Int64N(bits-first)
		part := digits[first : last+1]
		ones := int64(strings.Count(part, "1"))
		require.Equal(t, ones, Count(b, first, last), "%s %d %d", digits, first, last)
		for wanted, digit := range []string{"0", "1"} {
			want := int64(strings.Index(part, digit))
			if want >= 0 {
				want += first
			}
			got := Find(b, int64(wanted), first, last)
			require.Equal(t, want, got, "%s %s %d %d", digits, digit, first, last)
		}
		require.Equal(t, int64(digits[first]-'0'), Bit(b, first))
	}
	require.Zero(t, Count([]byte{0xff}, 1, 0))
	require.EqualValues(t, -1, Find([]byte{0xff}, 1, 1, 0))
	require.Zero(t, Bit(nil, 1<<40))
	require.Equal(t, 1, Size(7))
	require.Equal(t, 2, Size(8))
	require.Equal(t, 512<<20, Size(1<<32-1))
}

func TestFieldsAgainstDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		b := random(r, 1+r.IntN(20))
		width, at := 1+r.IntN(64), r.Int64N(int64(8*len(b))+70)
		digits := text(b) + strings.Repeat("0", 200)
		want, ok := new(big.Int).SetString(digits[at:at+int64(width)], 2)
		require.True(t, ok)
		require.Equal(t, want.Uint64(), Uint(b, at, width), "%s %d %d", digits, at, width)

		if at+int64(width) > int64(8*len(b)) {
			continue
		}
		v := r.Uint64()
		PutUint(b, at, width, v)
		v &= math.MaxUint64 >> (64 - width)
		require.Equal(t, v, Uint(b, at, width))
		after := text(b)
		require.Equal(t, digits[:at], after[:at], "before the field")
		require.Equal(t, digits[at+int64(width):len(after)], after[at+int64(width):], "after the field")
	}
}

// Fields are compared with unbounded integers.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	number := func() int64 {
		edges := []int64{
			0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1,
			127, 128, -128, -129, 255, 256,
		}
		if r.IntN(2) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return int64(r.Uint64()) >> r.IntN(64)
	}
	for range 50_000 {
		f := Field{Signed: r.IntN(2) == 0}
		if f.Width = 1 + r.IntN(63); f.Signed {
			f.Width = 1 + r.IntN(64)
		}
		low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(f.Width))
		if f.Signed {
			high.Rsh(high, 1)
			low.Neg(high)
		}
		high.Sub(high, big.NewInt(1))
		check := func(exact *big.Int, far bool, o Overflow, got int64, ok bool) {
			want := new(big.Int).Set(exact)
			outside := want.Cmp(low) < 0 || want.Cmp(high) > 0
			require.Equal(t, !outside || o != Fail, ok, "%+v %s", f, exact)
			if !ok {
				return
			}
			if outside {
				switch {
				case o == Wrap:
					span := new(big.Int).Lsh(big.NewInt(1), uint(f.Width))
					want.Mod(want, span)
					if want.Cmp(high) > 0 {
						want.Sub(want, span)
					}
				case far || want.Cmp(high) > 0:
					want = high
				default:
					want = low
				}
			}
			require.Equal(t, want.String(), big.NewInt(got).String(), "%+v %s %d", f, exact, o)
		}
		o := Overflow(r.IntN(3))
		old, by := f.wrap(number()), number()
		sum, ok := f.Add(old, by, o)
		check(new(big.Int).Add(big.NewInt(old), big.NewInt(by)), false, o, sum, ok)

		exact := big.NewInt(by)
		if !f.Signed && by < 0 {
			exact = new(big.Int).SetUint64(uint64(by))
		}
		fitted, ok := f.Fit(by, o)
		far := f.Signed && f.Width < 64 && !new(big.Int).Sub(high, exact).IsInt64()
		check(exact, far, o, fitted, ok)

		b := make([]byte, 20)
		f.Put(b, 13, old)
		require.Equal(t, old, f.Get(b, 13), "%+v", f)
	}
}

func TestCombinations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		name  string
		run   func(dst, src []byte)
		digit func(a, b byte) byte
	}{
		{"and", And, func(a, b byte) byte { return a & b }},
		{"or", Or, func(a, b byte) byte { return a | b }},
		{"xor", Xor, func(a, b byte) byte { return a ^ b }},
		{"not", func(dst, _ []byte) { Not(dst) }, func(a, _ byte) byte { return ^a }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 500 {
				dst := random(r, r.IntN(40))
				src := random(r, r.IntN(len(dst)+1))
				want := make([]byte, len(dst))
				for i := range dst {
					other := byte(0)
					if i < len(src) {
						other = src[i]
					}
					want[i] = c.digit(dst[i], other)
				}
				c.run(dst, src)
				require.Equal(t, want, dst)
			}
		})
	}
}
