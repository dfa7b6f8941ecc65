package engine_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// TestTickYieldsWhileKeysExpire checks that a Tick reclaims some hundreds of keys between
// two yields, however many are due, and stops after a while; later Ticks reclaim the
// rest.
func TestTickYieldsWhileKeysExpire(t *testing.T) {
	race.OneGoroutine(t)
	const (
		keys = 100_000
		most = 512 + 2*64 // between two rests: a step of 64 is begun below 512, a group of keys is not cut
	)
	var seen func()
	pause := func() { seen() }
	e, h := newEngineWith(t, engine.Options{Pause: pause}, "--hz", "100") // the sampler needs not yield
	s := newSession(t, e)
	for i := range keys {
		do(s, fmt.Sprint("SET k", i, " 1 PX 10"))
	}
	do(s, "SET stays 1")
	h.pass(11)
	held := func() int {
		n, err := strconv.Atoi(do(s, "DBSIZE"))
		require.NoError(t, err)
		return n
	}
	before, rests := keys+1, 0
	seen = func() {
		rests++
		now := held() // a client is served meanwhile
		require.LessOrEqual(t, before-now, most)
		before = now
	}
	ticks := 0
	for ; held() > 1; ticks++ {
		require.Less(t, ticks, 10)
		rests = 0
		e.Tick()
		require.LessOrEqual(t, rests, 64)
		require.LessOrEqual(t, before-held(), most)
		before = held()
	}
	require.Greater(t, ticks, 2, "one Tick does not do it all")
	require.Equal(t, "1", do(s, "GET stays"))
	e.Tick()
	require.Equal(t, 1, held())
}
