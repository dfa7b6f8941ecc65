package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// TestNamesAreCounted runs random commands that register and forget names, and checks after each that what
// every session counts for is what its structures take, that the engine's figure is the sum, and that nothing
// is left of sessions that have no names.
func TestNamesAreCounted(t *testing.T) {
	race.OneGoroutine(t)
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, seed))
	v := newEvictions(t)
	watcher := v.open()
	sessions := make([]*engine.Session, 5)
	open := func(i int) {
		sessions[i] = v.open()
		do(sessions[i], "HELLO 3")
		sessions[i].Publish(engine.Buffers{Memory: rnd.IntN(1000)})
	}
	for i := range sessions {
		open(i)
	}
	names := func() string {
		var b strings.Builder
		for range 1 + rnd.IntN(8) {
			n := rnd.IntN(30)
			fmt.Fprintf(&b, " %d%s", 10+n, strings.Repeat("n", n*n))
		}
		return b.String()
	}
	commands := []func() string{
		func() string { return "WATCH" + names() },
		func() string { return "UNWATCH" },
		func() string { return "MULTI" },
		func() string { return "EXEC" },
		func() string { return "DISCARD" },
		func() string { return "SET " + strings.Fields(names())[0] + " v" },
		func() string { return "SELECT " + fmt.Sprint(rnd.IntN(3)) },
		func() string { return "SUBSCRIBE" + names() },
		func() string { return "PSUBSCRIBE" + names() },
		func() string { return "SSUBSCRIBE" + names() },
		func() string { return "UNSUBSCRIBE" + names() },
		func() string { return "PUNSUBSCRIBE" + names() },
		func() string { return "SUNSUBSCRIBE" + names() },
		func() string { return "UNSUBSCRIBE" },
		func() string { return "PUNSUBSCRIBE" },
		func() string { return "SUNSUBSCRIBE" },
		func() string { return "CLIENT TRACKING ON BCAST PREFIX " + fmt.Sprint(100+rnd.IntN(900)) },
		func() string { return "CLIENT TRACKING ON BCAST PREFIX x" + fmt.Sprint(rnd.IntN(5)) + " PREFIX y" },
		func() string { return "CLIENT TRACKING OFF" },
		func() string { return "RESET" },
	}
	counted, empty := 0, 0
	for range 6000 {
		i := rnd.IntN(len(sessions))
		s := sessions[i]
		switch rnd.IntN(60) {
		case 0:
			s.Close()
			require.Equal(t, engine.NameBytes{}, s.NameBytes())
			open(i)
		case 1:
			do(watcher, fmt.Sprintf("CLIENT KILL ID %d", s.ID()))
			s.Close()
			require.Equal(t, engine.NameBytes{}, s.NameBytes())
			open(i)
		default:
			line := commands[rnd.IntN(len(commands))]()
			run(s, args(line))
			if line == "RESET" {
				require.Equal(t, engine.NameBytes{}, s.NameBytes())
				do(s, "HELLO 3")
			}
		}
		sum := int64(0)
		for _, s := range sessions {
			n := s.NameBytes()
			require.Equal(t, n.Found, n.Counted)
			require.Equal(t, n.Names > 0, n.Counted > 0)
			require.Less(t, n.Counted, int64(2000*(n.Names+1)))
			if n.Names > 0 {
				counted++
			} else {
				empty++
			}
			sum += int64(v.field(watcher, s, "tot-mem"))
		}
		sum += int64(v.field(watcher, watcher, "tot-mem"))
		require.Equal(t, sum, v.engine.MemoryUse().Clients)
	}
	require.Greater(t, counted, 1000)
	require.Greater(t, empty, 1000)
	for _, s := range sessions {
		s.Close()
	}
	require.Equal(t, int64(v.field(watcher, watcher, "tot-mem")), v.engine.MemoryUse().Clients)
}
