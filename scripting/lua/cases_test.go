package lua_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

// allCases returns the cases of testdata by file.
func allCases(t testing.TB) map[string][]luatest.Case {
	paths, err := filepath.Glob("testdata/*.cases")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]luatest.Case{}
	for _, path := range paths {
		files[filepath.Base(path)], err = luatest.ReadCases(path)
		require.NoError(t, err)
	}
	return files
}

// TestCases runs the cases of testdata and compares with what lua5.1 has answered. It is asked anew with
// `go test -C lab ./luaprograms -record`.
func TestCases(t *testing.T) {
	for name, cases := range allCases(t) {
		t.Run(name, func(t *testing.T) {
			for _, c := range cases {
				if got := luatest.Run(c.Source); got != c.Result {
					t.Errorf("%s\n got %q\nwant %q", c.Source, got, c.Result)
				}
			}
		})
	}
}
