package luaprograms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
	"github.com/zlimit/zlimit/zlimittest"
)

// TestProgramsInEVAL compares generated programs with EVAL of a redis-server, and sees to it that a changed
// program is noticed.
func TestProgramsInEVAL(t *testing.T) {
	if err := oracle.FindRealTime(); err != nil {
		t.Skip(err)
	}
	redis, err := oracle.Start(oracle.Options{RealTime: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, redis.Close()) }()
	dial := func(addr string) (eval func(source string) string) {
		c, err := abuse.Dial(addr, "")
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return func(source string) string {
			reply, err := c.Do("EVAL", source, "0")
			return fmt.Sprintf("%#v %v", reply, err)
		}
	}
	theirs, ours := dial(redis.Addr()), dial(zlimittest.RunT(t).Addr())
	n := 200
	if testing.Short() || race.Enabled {
		n = 30
	}
	failed, misnamed, noticed, bad := 0, 0, 0, 0
	for i := range n {
		source := Program(*seed + uint64(i))
		want := theirs(source)
		if strings.HasPrefix(want, "<nil> ") {
			failed++
		}
		got := ours(source)
		switch {
		case got == want:
		case luatest.Anonymous(got) == luatest.Anonymous(want):
			misnamed++
		default:
			t.Errorf("seed %d\n%s\n got %.300q\nwant %.300q", *seed+uint64(i), source, got, want)
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
		if ours(strings.Replace(source, "out[#out + 1] = k", "out[#out + 1] = k .. '.'", 1)) != want {
			noticed++
		}
	}
	t.Logf("%d programs from seed %d: %d fail, %d name another variable", n, *seed, failed, misnamed)
	require.Greater(t, failed, n/20)
	require.LessOrEqual(t, misnamed, n/100)
	require.Greater(t, noticed, n/2)
}
