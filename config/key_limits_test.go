package config

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const keyLimits = "rl-max-keys-per-prefix"

// setKeyLimits returns the arguments of CONFIG SET.
func setKeyLimits(text string) [][]byte { return [][]byte{[]byte(keyLimits), []byte(text)} }

func TestKeyLimits(t *testing.T) {
	for _, tc := range []struct {
		set, text string
		want      []KeyLimit
	}{
		{"", "", nil},
		{`""`, "", nil},
		{"  ", "", nil},
		{"t: 5", "t: 5", []KeyLimit{{"t:", 5}}},
		{" t:  5\t", "t: 5", []KeyLimit{{"t:", 5}}},
		{"t: 0", "t: 0", []KeyLimit{{"t:", 0}}},
		{
			"b 9223372036854775807 a 1", "b 9223372036854775807 a 1",
			[]KeyLimit{{"b", math.MaxInt64}, {"a", 1}},
		},
		{"T: 5 t: 6", "T: 5 t: 6", []KeyLimit{{"T:", 5}, {"t:", 6}}},
		{`"a b" 5`, `"a b" 5`, []KeyLimit{{"a b", 5}}},
		{`'a b' 5`, `"a b" 5`, []KeyLimit{{"a b", 5}}},
		{`"a\x00\r\n\"\\" 5`, `"a\x00\r\n\"\\" 5`, []KeyLimit{{"a\x00\r\n\"\\", 5}}},
		{"\xff\xfe 5", `"\xff\xfe" 5`, []KeyLimit{{"\xff\xfe", 5}}},
		{`"5" 5`, "5 5", []KeyLimit{{"5", 5}}},
	} {
		c := New()
		require.NoError(t, c.Set(setKeyLimits(tc.set)), "%q", tc.set)
		require.Equal(t, tc.want, c.KeyLimits(keyLimits), "%q", tc.set)
		require.Equal(t, tc.text, c.Text(keyLimits), "%q", tc.set)

		again := New()
		require.NoError(t, again.Set(setKeyLimits(c.Text(keyLimits))), "what GET shows")
		require.Equal(t, tc.want, again.KeyLimits(keyLimits))
		again = New()
		require.NoError(t, again.ParseFile("f", strings.NewReader(c.File())), "%q", c.File())
		require.Equal(t, tc.want, again.KeyLimits(keyLimits), "%q", c.File())
		again = New()
		require.NoError(t, again.ParseArgs([]string{"--" + keyLimits, c.Text(keyLimits)}, nil))
		require.Equal(t, tc.want, again.KeyLimits(keyLimits), "one argument of a command line")
	}
}

func TestKeyLimitsRefuse(t *testing.T) {
	const (
		pairs  = "argument must be pairs of a prefix and a number of keys"
		number = "number of keys must be an integer from 0 to 9223372036854775807"
		failed = "CONFIG SET failed (possibly related to argument '" + keyLimits + "') - "
	)
	for _, tc := range []struct{ set, want string }{
		{"t:", pairs},
		{"t: 5 u:", pairs},
		{"5", pairs},
		{"t: -1", number},
		{"t: -9223372036854775808", number},
		{"t: 9223372036854775808", number},
		{"t: 99999999999999999999999", number},
		{"t: 1.5", number},
		{"t: 1k", number},
		{"t: +5", number},
		{"t: 05", number},
		{"t: x", number},
		{`t: ""`, number},
		{`t: "5 "`, number},
		{"5 t:", number},
		{`"" 5`, "prefix must not be empty"},
		{"t: 5 t: 6", `prefix "t:" is given twice`},
		{"t: 5 u: 6 t: 5", `prefix "t:" is given twice`},
		{`"a\x00b" 5 "a\x00b" 5`, `prefix "a\x00b" is given twice`},
		{"t:\x00 5", "argument must not contain a NUL byte"},
		{`"t: 5`, "unbalanced quotes"},
		{`"t:"5 5`, "unbalanced quotes"},
		{`t: 5'`, "unbalanced quotes"},
		{`t: 5 "" 6`, "prefix must not be empty"},
		{strings.Repeat("p", 1<<20), pairs},
	} {
		c := New()
		require.NoError(t, c.Set(setKeyLimits("old 7")))
		require.EqualError(t, c.Set(setKeyLimits(tc.set)), failed+tc.want, "%.60q", tc.set)
		require.Equal(t, []KeyLimit{{"old", 7}}, c.KeyLimits(keyLimits), "%.60q", tc.set)
	}
}

// TestKeyLimitsInFiles tests that lines accumulate and CONFIG SET replaces.
func TestKeyLimitsInFiles(t *testing.T) {
	c := New()
	require.NoError(t, c.ParseFile("f", strings.NewReader(
		keyLimits+" a 1 b 2\n"+keyLimits+" \"c d\" 3\n"+keyLimits+` "e 4"`)))
	require.Equal(t, []KeyLimit{{"a", 1}, {"b", 2}, {"c d", 3}, {"e", 4}}, c.KeyLimits(keyLimits))
	require.Equal(t, keyLimits+" a 1 b 2 \"c d\" 3 e 4\n", c.File())

	require.ErrorContains(t, c.ParseFile("f", strings.NewReader(keyLimits+" z 1\n"+keyLimits+" a 1")),
		"at line 2\n>>> '"+keyLimits+" a 1'\nprefix \"a\" is given twice")
	require.Len(t, c.KeyLimits(keyLimits), 4, "a file with an error sets nothing")

	require.NoError(t, c.ParseFile("f", strings.NewReader(keyLimits+" \"\"\n"+keyLimits+" a 9")))
	require.Equal(t, []KeyLimit{{"a", 9}}, c.KeyLimits(keyLimits), "an empty line removes those before it")
	require.NoError(t, c.Set(setKeyLimits("b 1")))
	require.Equal(t, []KeyLimit{{"b", 1}}, c.KeyLimits(keyLimits))

	require.NoError(t, c.ParseArgs([]string{"--" + keyLimits, "c d", "3", "--" + keyLimits, "e", "4"}, nil))
	require.Equal(t, []KeyLimit{{"b", 1}, {"c d", 3}, {"e", 4}}, c.KeyLimits(keyLimits))
}
