package luaprograms

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramsCompile runs generated programs in lua5.1: each must compile and end.
func TestProgramsCompile(t *testing.T) {
	r, err := FindReference()
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	const programs = 400
	failed := 0
	for seed := range uint64(programs) {
		source := Program(seed)
		require.Equal(t, source, Program(seed))
		result, err := r.Run(source)
		require.NoError(t, err, "seed %d\n%s", seed, source)
		if strings.HasPrefix(result, "error") {
			failed++
			require.NotContains(t, result, "near", "seed %d\n%s", seed, source)
			require.NotContains(t, result, "expected near", "seed %d\n%s", seed, source)
		}
	}
	t.Logf("%d of %d programs fail", failed, programs)
	require.Greater(t, failed, programs/20)
	require.Less(t, failed, programs/2)
}

// TestReference checks what the driver reports, and that no program changes the next one's environment.
func TestReference(t *testing.T) {
	r, err := FindReference()
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	for _, c := range []struct{ source, result string }{
		{"return 1, 'a', nil, {}, 0/0", "ok 1 a nil table nan"},
		{"string.rep = nil leaked = 1 setmetatable(_G, {__index = error})", "ok"},
		{"return leaked, string.rep('x', 2), ('y'):rep(2)", "ok nil xx yy"},
		{"local t = nil\nreturn t.x", "error user_script:2: attempt to index local 't' (a nil value)"},
		{"return io, os, debug, print, string.len('\\0')", "ok nil nil nil nil 1"},
		{"x =", "error user_script:1: unexpected symbol near '<eof>'"},
		{"\x1bLua", "binary"},
	} {
		result, err := r.Run(c.source)
		require.NoError(t, err)
		require.Equal(t, c.result, result, "%s", c.source)
	}
	_, err = r.Run("while true do end")
	require.ErrorIs(t, err, ErrTimeout)
	result, err := r.Run("return 'again'")
	require.NoError(t, err)
	require.Equal(t, "ok again", result)
}
