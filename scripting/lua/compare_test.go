package lua_test

import (
	"flag"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
)

var (
	programs = flag.Int("programs", 400, "how many generated programs to compare with lua5.1")
	seed     = flag.Uint64("seed", 1, "where the generated programs begin")
)

func reference(t testing.TB) *luatest.Reference {
	r, err := luatest.FindReference()
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
		source := luatest.Program(*seed + uint64(i))
		want, err := r.Run(source)
		require.NoError(t, err, "seed %d\n%s", *seed+uint64(i), source)
		if strings.HasPrefix(want, "error") {
			failed++
		}
		got := run(source)
		switch {
		case got == want:
		case anonymous(got) == anonymous(want):
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

var named = regexp.MustCompile(`(local|upvalue|global|field|method) '[^']*' \(([a-z ]*)\)`)

// anonymous removes variable names from errors. Whether Lua knows a name depends on how its compiler lays
// out `and` and `or`.
func anonymous(result string) string { return named.ReplaceAllString(result, "$2") }

// TestComparisonSeesDifferences breaks the machine's library in one place: the comparison must notice it.
func TestComparisonSeesDifferences(t *testing.T) {
	r := reference(t)
	noticed := 0
	for i := range 40 {
		source := luatest.Program(*seed + uint64(i))
		want, err := r.Run(source)
		require.NoError(t, err)
		s := newState()
		fn, err := s.Load("return (string.gsub(..., '1', '2'))", "fault")
		require.NoError(t, err)
		s.Globals.SetString("tostring", functionValue(fn))
		if anonymous(runIn(s, source)) != anonymous(want) {
			noticed++
		}
	}
	require.Greater(t, noticed, 10)
	require.NotEqual(t, anonymous("attempt to index local 'x' (a nil value)"),
		anonymous("attempt to index a number value"))
}
