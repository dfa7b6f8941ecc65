package luaprograms

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// undefined matches sources and results that depend on more than the language: addresses, the collector,
// the size of C's stack, the memory there is, the last bit of C's mathematical functions, and bytecode.
var undefined = regexp.MustCompile(`collectgarbage|gcinfo|__gc|__mode|newproxy|dump|tostring|tonumber|` +
	`address|0x|stack overflow|C stack|not enough memory|error in error handling|too complex|in assignment|` +
	`syntax levels|math\.|%[aAeEfgG]|nan|inf|[0-9]{15}|\.[0-9]{9}|\^|e[0-9-]|E[0-9-]|pairs|next|foreach|` +
	`arg|` +
	`_G|select|timeout|table overflow`)

// FuzzSource compares the results of arbitrary sources with those of lua5.1.
func FuzzSource(f *testing.F) {
	r := reference(f)
	for _, path := range casePaths(f) {
		cases, err := luatest.ReadCases(path)
		require.NoError(f, err)
		for _, c := range cases {
			f.Add(c.Source)
		}
	}
	for seed := range uint64(20) {
		f.Add(Program(seed))
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<14 || strings.HasPrefix(source, "\x1b") {
			return
		}
		got := luatest.Run(source)
		if undefined.MatchString(source) || undefined.MatchString(got) {
			return
		}
		want, err := r.Run(source)
		if errors.Is(err, ErrTimeout) {
			return
		}
		require.NoError(t, err)
		if undefined.MatchString(want) {
			return
		}
		require.Equal(t, luatest.Anonymous(want), luatest.Anonymous(got))
	})
}
