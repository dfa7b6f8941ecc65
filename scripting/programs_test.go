package scripting

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua/luatest"
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
	client := dialRedis(t, redis.Addr())
	e, c := newTestEngine(t)
	programs := max(*generate, 200)
	if testing.Short() || race.Enabled {
		programs = 30
	}
	failed, misnamed, noticed, bad := 0, 0, 0, 0
	for i := range programs {
		source := luatest.Program(*seed + uint64(i))
		want := client.call(t, evalArgs(source))
		if strings.HasPrefix(want, "-") {
			failed++
		}
		got := evaluate(e, c, resp.RESP2, evalArgs(source))
		switch {
		case got == want:
		case anonymous(got) == anonymous(want):
			misnamed++
		default:
			t.Errorf("seed %d\n%s\n got %.300q\nwant %.300q", *seed+uint64(i), source, got, want)
			if bad++; bad == 5 {
				t.FailNow()
			}
		}
		changed := strings.Replace(source, "out[#out + 1] = k", "out[#out + 1] = k .. '.'", 1)
		if evaluate(e, c, resp.RESP2, evalArgs(changed)) != want {
			noticed++
		}
		e.scripts.flush()
	}
	t.Logf("%d programs from seed %d: %d fail, %d name another variable", programs, *seed, failed, misnamed)
	require.Greater(t, failed, programs/20)
	require.LessOrEqual(t, misnamed, programs/100)
	require.Greater(t, noticed, programs/2)
}
