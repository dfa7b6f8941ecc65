package decimal

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, n := range []int64{
		0, 1, -1, 9, 10, -10, 1 << 53, math.MaxInt64, math.MinInt64, math.MinInt64 + 1,
	} {
		got, ok := Parse(strconv.AppendInt(nil, n, 10))
		require.True(t, ok)
		require.Equal(t, n, got)
	}
	for _, text := range []string{
		"", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1.0", "1e3", "0x1", "a", "1\x00", "--1",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "18446744073709551617",
		"99999999999999999999",
	} {
		_, ok := Parse([]byte(text))
		require.False(t, ok, "%q", text)
	}
}

// TestLeading parses numbers that other bytes follow.
func TestLeading(t *testing.T) {
	for text, want := range map[string]struct {
		n    int64
		size int
	}{
		"":                       {0, 0},
		"-":                      {0, 0},
		" 1":                     {0, 0},
		"- 1":                    {0, 0},
		"-0 ":                    {0, 0},
		"-01":                    {0, 0},
		"0 1":                    {0, 1},
		"01 ":                    {0, 1},
		"12 3":                   {12, 2},
		"-12:3":                  {-12, 3},
		"9223372036854775807 ":   {math.MaxInt64, 19},
		"9223372036854775808 ":   {0, 0},
		"-9223372036854775808 ":  {math.MinInt64, 20},
		"-9223372036854775809 ":  {0, 0},
		"99999999999999999999 1": {0, 0},
	} {
		n, size := Leading([]byte(text))
		require.Equal(t, want.n, n, "%q", text)
		require.Equal(t, want.size, size, "%q", text)
	}
}

// Parse must accept exactly what strconv formats.
func FuzzParse(f *testing.F) {
	f.Add([]byte("-9223372036854775808"))
	f.Add([]byte("18446744073709551616"))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, ok := Parse(text)
		want, err := strconv.ParseInt(string(text), 10, 64)
		canonical := err == nil && strconv.FormatInt(want, 10) == string(text)
		require.Equal(t, canonical, ok)
		if ok {
			require.Equal(t, want, n)
		}
	})
}
