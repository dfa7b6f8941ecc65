package luaprograms

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

var (
	programs = flag.Int("programs", 400, "how many generated programs to compare with lua5.1")
	seed     = flag.Uint64("seed", 1, "where the generated programs begin")
)

func reference(t testing.TB) *Reference {
	r, err := FindReference()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(r.Close)
	return r
}

// TestPrograms compares generated programs with lua5.1.
func TestPrograms(t *testing.T) {
	r := reference(t)
	n := *programs
	if testing.Short() || race.Enabled {
		n = min(n, 50)
	}
	failed, misnamed, bad := 0, 0, 0
	for i := range n {
		source := Program(*seed + uint64(i))
		want, err := r.Run(source)
		require.NoError(t, err, "seed %d\n%s", *seed+uint64(i), source)
		if strings.HasPrefix(want, "error") {
			failed++
		}
		got := luatest.Run(source)
		require.Equal(t, got, runBound(source), "names that are found by number\n%s", source)
		switch {
		case got == want:
		case luatest.Anonymous(got) == luatest.Anonymous(want):
			misnamed++
		default:
			at := firstDifference(got, want)
			t.Errorf("seed %d\n%s\nfrom byte %d\n got %.200q\nwant %.200q", *seed+uint64(i), source, at,
				got[at:],
				want[at:])
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d programs from seed %d: %d fail, %d name another variable", n, *seed, failed, misnamed)
	require.Greater(t, failed, n/20)
	require.LessOrEqual(t, misnamed, n/100)
}

// firstDifference returns a place a little before the first byte in which two results differ.
func firstDifference(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return max(i-50, 0)
}

// runBound is luatest.Run with the library's functions found by number, as a server runs scripts.
func runBound(source string) string {
	s := luatest.NewState()
	library := s.Globals.GetString("math")
	library.Table().SetString("random", lua.Nil)
	library.Table().SetString("randomseed", lua.Nil)
	for key, v, _ := s.Globals.Next(lua.Nil); !key.IsNil(); key, v, _ = s.Globals.Next(key) {
		if v.IsTable() && v.Table() != s.Globals {
			v.Table().SetReadOnly(true)
		}
	}
	s.Bind(lua.NewBindings(s))
	return luatest.RunIn(s, source)
}

// TestComparisonSeesDifferences breaks the machine's library in one place: the comparison must notice it.
func TestComparisonSeesDifferences(t *testing.T) {
	r := reference(t)
	noticed := 0
	for i := range 40 {
		source := Program(*seed + uint64(i))
		want, err := r.Run(source)
		require.NoError(t, err)
		s := luatest.NewState()
		fn, err := s.Load("return (string.gsub(..., '1', '2'))", "fault")
		require.NoError(t, err)
		s.Globals.SetString("tostring", lua.FunctionValue(fn))
		if luatest.Anonymous(luatest.RunIn(s, source)) != luatest.Anonymous(want) {
			noticed++
		}
	}
	require.Greater(t, noticed, 10)
	require.NotEqual(t, luatest.Anonymous("attempt to index local 'x' (a nil value)"),
		luatest.Anonymous("attempt to index a number value"))
}
