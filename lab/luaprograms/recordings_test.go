package luaprograms

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

var record = flag.Bool("record", false, "record the results of scripting/lua/testdata with lua5.1")

func casePaths(t testing.TB) []string {
	paths, err := filepath.Glob("../../scripting/lua/testdata/*.cases")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	return paths
}

// TestRecordings compares the results that scripting/lua's tests know with lua5.1, or records them.
func TestRecordings(t *testing.T) {
	r := reference(t)
	for _, path := range casePaths(t) {
		cases, err := luatest.ReadCases(path)
		require.NoError(t, err)
		for i := range cases {
			c := &cases[i]
			result, err := r.Run(c.Source)
			require.NoError(t, err, "%s", c.Source)
			if !*record {
				require.Equal(t, c.Result, result, "%s", c.Source)
			}
			c.Result = result
		}
		if *record {
			require.NoError(t, luatest.WriteCases(path, cases))
		}
	}
}
