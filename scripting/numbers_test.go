package scripting

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/syntax"
)

func TestFormatNumber(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 1: "1", -1: "-1", 0.1: "0.1", 1e14: "1e+14", 99999999999999: "99999999999999",
		-1e14: "-1e+14",
		1e15:  "1e+15", 1795184400.123456: "1795184400.1235", 1795184400123: "1795184400123", 1e-5: "1e-05",
		math.Inf(1): "inf", math.Inf(-1): "-inf", math.MaxInt64: "9.2233720368548e+18", 0.1 + 0.2: "0.3",
	} {
		require.Equal(t, want, lua.FormatNumber(f))
	}
	require.Equal(t, "-0", lua.FormatNumber(math.Copysign(0, -1)))
	require.Equal(t, "-nan", lua.FormatNumber(math.NaN()))
	require.Equal(t, "nan", lua.FormatNumber(-math.NaN()))
}

func TestAppendArgument(t *testing.T) {
	for f, want := range map[float64]string{
		0.1: "0.10000000000000001", 1e17: "1e+17", 99999999999999984: "99999999999999984",
		1795184400123456:  "1795184400123456",
		1795184400.123456: "1795184400.123456", 1e20: "1e+20", 1 << 53: "9007199254740992", -5: "-5",
	} {
		require.Equal(t, want, string(appendArgument(nil, f)))
	}
}

func TestToInteger(t *testing.T) {
	for f, want := range map[float64]int64{
		1.9: 1, -1.9: -1, 1 << 62: 1 << 62, 1 << 63: math.MinInt64, -(1 << 63): math.MinInt64,
		math.Inf(1): math.MinInt64,
	} {
		require.Equal(t, want, lua.ToInteger(f))
	}
	require.Equal(t, int64(math.MinInt64), lua.ToInteger(math.NaN()))
}

func TestParseNumber(t *testing.T) {
	for s, want := range map[string]float64{
		"1e3": 1000, " 12 ": 12, "0x1F": 31, "-0x10": -16, "010": 10, "5.": 5, ".5": 0.5, "\t\v7\r": 7,
		"1\x00x": 1,
		"0x1p4":  16, "0x.8": 0.5, "inf": math.Inf(1), "1e400": math.Inf(1),
		"123456789012345678": 123456789012345678,
	} {
		f, ok := syntax.ParseNumber(s)
		require.True(t, ok, "%q", s)
		require.Equal(t, want, f, "%q", s)
	}
	for _, s := range []string{
		"", " ", "0x", "1_0", "0b1", "0o7", "12a", "1e", "1e+", ".", "1 2", "- 1", "--1", "1d", "e5", "+",
		"0x_1", "0x1_p4", "infx", "nan(*)",
	} {
		_, ok := syntax.ParseNumber(s)
		require.False(t, ok, "%q", s)
	}
}

// FuzzNumbers checks that a formatted number parses to the same number.
func FuzzNumbers(f *testing.F) {
	f.Add(0.1)
	f.Add(1e17)
	f.Fuzz(func(t *testing.T, x float64) {
		if x != x {
			return
		}
		back, ok := syntax.ParseNumber(string(appendArgument(nil, x)))
		require.True(t, ok)
		require.Equal(t, x, back)
	})
}
