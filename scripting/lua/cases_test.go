package lua_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

var record = flag.Bool("record", false, "record the results in testdata with lua5.1")

func casePaths(t testing.TB) []string {
	paths, err := filepath.Glob("testdata/*.cases")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// TestCases runs the cases of testdata and compares with what lua5.1 has answered.
func TestCases(t *testing.T) {
	for _, path := range casePaths(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cases, err := luatest.ReadCases(path)
			require.NoError(t, err)
			for _, c := range cases {
				if got := run(c.Source); got != c.Result {
					t.Errorf("%s\n got %q\nwant %q", c.Source, got, c.Result)
				}
			}
		})
	}
}

// TestRecordings compares the recorded results with lua5.1, or records them.
func TestRecordings(t *testing.T) {
	r, err := luatest.FindReference()
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	for _, path := range casePaths(t) {
		if *record {
			require.NoError(t, luatest.Record(path, r))
			continue
		}
		cases, err := luatest.ReadCases(path)
		require.NoError(t, err)
		for _, c := range cases {
			result, err := r.Run(c.Source)
			require.NoError(t, err)
			require.Equal(t, c.Result, result, "%s", c.Source)
		}
	}
}
