package doctor

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"", ""},
		{"limit", "limit"},
		{"limit:17", "limit:*"},
		{"limit:user17:api", "limit:user*:api"},
		{"limit:api:v2", "limit:api:v*"},
		{"limit:10.20.30.40", "limit:*"},
		{"limit:10.20.30.40:/api/login", "limit:*:/api/login"},
		{"limit:2001:db8::8a2e:370:7334", "limit:*"},
		{"limit:7:340000000", "limit:*"},
		{"limit:7:login", "limit:*:login"},
		{"rate_limit:{user_123}:/api", "rate_limit:{user_*}:/api"},
		{"s:550e8400-e29b-41d4-a716-446655440000", "s:*"},
		{"s:550e8400-abcd-41d4-afff-446655440000:x", "s:*:x"},
		{"s:9f86d081884c7d659a2feaa0c55ad015", "s:*"},
		{"s:aVeryLongTokenWith1Digit", "s:*"},
		{"s:用户一", "s:*"},
		{"1", "*"},
		{"k:*", "k:*"},
		{"k:1*", "k:*"},
		{"mail:jane.doe7@example.com", "mail:jane.doe*@example.com"},
		{"a\x00b\xff", "a\x00*"},
		{strings.Repeat("x", 100), strings.Repeat("x", 64) + "..."},
		{strings.Repeat("xy:", 30), strings.Repeat("xy:", 30)[:64] + "..."},
	} {
		got := string(appendPattern([]byte("before"), []byte(c.key)))
		require.Equal(t, "before"+c.want, got, c.key)
	}
}

func TestClientNamesAreBounded(t *testing.T) {
	require.Equal(t, "worker", cut("worker"))
	require.Equal(t, strings.Repeat("n", 64)+"...", cut(strings.Repeat("n", 65)))
}

func TestInstants(t *testing.T) {
	const now = 1_700_000_000_000
	for _, c := range []struct {
		text    string
		ms      int64
		seconds bool
	}{
		{"1700000000", now, true},
		{"1699999999", now - 1000, true},
		{"1700000000.5", now + 500, false},
		{"1700000000.1239", now + 123, false},
		{"1700000000000", now, false},
		{"1700000000001", now + 1, false},
		{"1700000000001999", now + 1, false},
		{"1700000000001999999", now + 1, false},
		{"1.7e+12", now, false},
		{"1.7000000000001e+15", now, false},
		{"1668500000000", now - 31_500_000_000, false},
	} {
		got, ok := parseInstant([]byte(c.text), now)
		require.True(t, ok, c.text)
		require.Equal(t, instant{c.ms, c.seconds}, got, c.text)
	}
	for _, text := range []string{
		"", "0", "17", "-1700000000", "+1700000000", "x1700000000", "1700000000x", "1700000000-1",
		"1_700_000_000", "1700000000.5x", "1700000000:1", "3400000000", "850000000", "1660000000000",
		"17000000000", "nan", "inf", "1e400", "9999999999999999999", "99999999999999999999999999",
		"1700000000.", "0x65540a00", "1e12345678",
		strings.Repeat("1", 40), "1700000000.5555555555555555555555555",
	} {
		got, ok := parseInstant([]byte(text), now)
		require.False(t, ok && text != "1700000000.", "%s is %v", text, got)
	}
	_, ok := parseInstant([]byte("170000000"), 170_000_000)
	require.False(t, ok, "with a clock near 1970 every number would be an instant")
	got, ok := parseBound([]byte("(1700000000000"), now)
	require.True(t, ok)
	require.EqualValues(t, now, got.ms)
}

// TestSecondsLast: an instant in whole seconds agrees with every millisecond of its second.
func TestSecondsLast(t *testing.T) {
	const now = 1_700_000_000_000
	at := instant{now, true}
	require.EqualValues(t, 0, at.aheadMs(now))
	require.EqualValues(t, 0, at.aheadMs(now+999))
	require.EqualValues(t, -1, at.aheadMs(now+1000))
	require.EqualValues(t, 1, at.aheadMs(now-1))
	require.EqualValues(t, -1, instant{now, false}.aheadMs(now+1))
}

func TestSlices(t *testing.T) {
	const now = 1_700_000_004_321
	for _, name := range []string{"k:1700000004", "k:340000000", "1700000000:k", "k{1700000000000}x"} {
		require.True(t, hasSlice([]byte(name), now), name)
	}
	for _, name := range []string{
		"", "k", "k:7", "k:28333333", "k:1700000003", "k:340000001", "k:17000000041700000004",
	} {
		require.False(t, hasSlice([]byte(name), now), name)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("limit:10.0.0.1:550e8400-e29b"), int64(1_700_000_000_000))
	f.Add([]byte("1.7000000000001e+15"), int64(1_700_000_000_000))
	f.Fuzz(func(t *testing.T, b []byte, nowMs int64) {
		pattern := appendPattern(nil, b)
		require.LessOrEqual(t, len(pattern), maxPattern+len("..."))
		if utf8.Valid(b) && len(pattern) < maxPattern {
			require.Equal(t, string(pattern), string(appendPattern(nil, pattern)), "a pattern is its own")
		}
		hasSlice(b, nowMs)
		if at, ok := parseInstant(b, nowMs); ok {
			require.Less(t, max(at.ms-nowMs, nowMs-at.ms), int64(plausibleMs), fmt.Sprint(nowMs))
		}
	})
}
