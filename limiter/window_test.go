package limiter

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseWindow(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"1", 1},
		{"60000", 60_000},
		{"500ms", 500},
		{"10s", 10_000},
		{"1m", 60_000},
		{"1h", 3_600_000},
		{"1d", 86_400_000},
		{"36524d", MaxWindowMs - 86_400_000},
		{"3155759999999", MaxWindowMs - 1},
		{"3155759999999ms", MaxWindowMs - 1},
		{"3155759999s", MaxWindowMs - 1000},
	} {
		got, err := ParseWindow([]byte(c.in))
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, got, "%.40q", c.in)
	}
	for want, texts := range map[error][]string{
		ErrWindowLong: {
			"3155760000000", "3155760000s", "36525d", "9223372036854775807", "9223372036854775808",
			"9223372036854775807d", "106751991168d", strings.Repeat("9", 10_000) + "h",
		},
		ErrWindowShort: {
			"0", "0ms", "0d", "-1", "-10s", "-9223372036854775808", "-" + strings.Repeat("9", 100) + "d",
		},
		ErrWindowSyntax: {
			"", "-", "s", "ms", "-s", "+1", "--1", "-0", "01", "010s", "00", "1.5s", "1e3", "0x10", " 1",
			"1 ", "1 s", "10S", "10sec", "1us", "1w", "1y", "1m30s", "1\x00", "1\r\n", "inf", "nan", "١s",
			strings.Repeat("9", 100) + "x",
		},
	} {
		for _, text := range texts {
			got, err := ParseWindow([]byte(text))
			require.ErrorIs(t, err, want, "%.40q", text)
			require.Zero(t, got, "%.40q", text)
		}
	}
}

var windowForm = regexp.MustCompile(`^(-?[1-9][0-9]*|0)(ms|s|m|h|d|)$`)

// parseWindowSlowly implements the grammar as a pattern with arbitrary-precision
// numbers.
func parseWindowSlowly(s string) (int64, error) {
	parts := windowForm.FindStringSubmatch(s)
	if parts == nil {
		return 0, ErrWindowSyntax
	}
	n, _ := new(big.Int).SetString(parts[1], 10)
	n.Mul(n, big.NewInt(map[string]int64{
		"": 1, "ms": 1, "s": 1e3, "m": 6e4, "h": 36e5, "d": 864e5,
	}[parts[2]]))
	switch {
	case n.Sign() <= 0:
		return 0, ErrWindowShort
	case n.Cmp(big.NewInt(MaxWindowMs)) >= 0:
		return 0, ErrWindowLong
	}
	return n.Int64(), nil
}

func FuzzParseWindow(f *testing.F) {
	for _, s := range []string{
		"", "1", "500ms", "10s", "1m", "36525d", "-3h", "007", "99999999999999999999d",
		"1.5s",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		got, err := ParseWindow(s)
		want, wantErr := parseWindowSlowly(string(s))
		require.Equal(t, wantErr, err)
		require.Equal(t, want, got)
	})
}

func TestValidate(t *testing.T) {
	ok := per(10, 1000)
	for _, c := range []struct {
		name   string
		quotas []Quota
		cost   int64
		want   error
	}{
		{"plain", []Quota{ok}, 1, nil},
		{"cost 0", []Quota{ok}, 0, nil},
		{"cost above the limit is a denial, not an error", []Quota{ok}, 11, nil},
		{"the largest cost", []Quota{per(MaxUnits, 60_000)}, MaxUnits, nil},
		{"more, never admitted", []Quota{per(MaxUnits, 60_000)}, math.MaxInt64, nil},
		{"negative cost", []Quota{ok}, -1, ErrCostNegative},
		{"least cost", []Quota{ok}, math.MinInt64, ErrCostNegative},
		{"no quota", nil, 1, ErrNoQuota},
		{"limit 0", []Quota{per(0, 1000)}, 1, nil},
		{"limit below", []Quota{per(math.MinInt64, 1000)}, 1, ErrLimit},
		{"window 0", []Quota{per(1, 0)}, 1, ErrWindowShort},
		{"window below", []Quota{per(1, math.MinInt64)}, 1, ErrWindowShort},
		{"the longest window", []Quota{per(1, MaxWindowMs-1)}, 1, nil},
		{"a hundred years", []Quota{per(1, MaxWindowMs)}, 1, ErrWindowLong},
		{"window without end", []Quota{per(1, math.MaxInt64)}, 1, ErrWindowLong},
		{"the most units", []Quota{per(MaxUnits, 1)}, 1, nil},
		{"more than the most", []Quota{per(MaxUnits+1, 60_000)}, 1, ErrLimitLarge},
		{"limit without end", []Quota{per(math.MaxInt64, 60_000)}, 1, ErrLimitLarge},
		{"the second quota", []Quota{ok, per(MaxUnits+1, 5)}, 1, ErrLimitLarge},
		{"the first fault", []Quota{per(-1, 0), per(MaxUnits+1, 5)}, -1, ErrLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorIs(t, Validate(c.quotas, Call{Cost: c.cost}), c.want)
		})
	}
}
