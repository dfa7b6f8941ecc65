package engine_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// evictions is an engine whose sessions record that their connections were closed.
type evictions struct {
	*testing.T
	engine *engine.Engine
	killed map[int64]bool
}

func newEvictions(t *testing.T) *evictions {
	v := &evictions{T: t, killed: make(map[int64]bool)}
	v.engine, _ = newEngine(t)
	return v
}

func (v *evictions) open() *engine.Session {
	var s *engine.Session
	s = v.engine.NewSession(engine.Peer{
		Addr: "127.0.0.1:1001", LocalAddr: "127.0.0.1:6379",
		Kill: func() { v.killed[s.ID()] = true },
	})
	return s
}

// field returns a number of a session's line in CLIENT LIST.
func (v *evictions) field(by, s *engine.Session, name string) int {
	line := do(by, fmt.Sprintf("CLIENT LIST ID %d", s.ID()))
	match := regexp.MustCompile(" " + name + `=(\d+)`).FindStringSubmatch(line)
	require.NotNil(v, match, line)
	n, err := strconv.Atoi(match[1])
	require.NoError(v, err)
	return n
}

const mb = 1 << 20

// TestMaxMemoryClientsValues checks the values that the directive accepts, with a limit
// that is too small to connect.
func TestMaxMemoryClientsValues(t *testing.T) {
	for _, c := range []struct {
		directive, maxmemory, want int64
	}{
		{0, 0, 0},
		{1, 0, 128 << 10},
		{128 << 10, 0, 128 << 10},
		{mb, 0, mb},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{-5, 0, 0},
		{-5, 100 * mb, 5 * mb},
		{-100, mb, mb},
		{-1, mb, 128 << 10},
	} {
		require.Equal(t, c.want, engine.ClientLimit(c.directive, c.maxmemory), "%+v", c)
	}
	require.Positive(t, engine.ClientLimit(-100, math.MaxInt64), "it does not overflow")
}

// TestMultiMemory checks that a queue takes little more memory than its commands, and
// counts for what it takes.
func TestMultiMemory(t *testing.T) {
	const commands, size = 3000, 10_000
	v := newEvictions(t)
	s := v.open()
	do(s, "MULTI")
	value := strings.Repeat("x", size)
	set := args("SET k " + value)
	before := heapNow()
	for range commands {
		s.Do(set)
	}
	took := heapNow() - before
	s.Publish(engine.Buffers{})
	counted := int64(v.field(v.open(), s, "multi-mem"))
	require.Less(t, took, int64(commands*size*12/10))
	require.InEpsilon(t, took, counted, 0.1)
	require.Equal(t, "["+strings.TrimSuffix(strings.Repeat("OK ", commands), " ")+"]", do(s, "EXEC"))
	s.Publish(engine.Buffers{})
	require.Zero(t, v.field(v.open(), s, "multi-mem"), "a large queue is not kept")
}

// TestClientLinesKeepAccounts: a session that shows its own line counts in used memory as before, however
// often it does, and no longer once it has ended.
func TestClientLinesKeepAccounts(t *testing.T) {
	v := newEvictions(t)
	before := v.engine.MemoryUse().Clients
	buffers := engine.Buffers{Memory: 100}
	running := func() engine.Buffers { return engine.Buffers{Memory: 4000} }
	s := v.engine.NewSession(engine.Peer{Buffers: running})
	s.Publish(buffers)
	open := v.engine.MemoryUse().Clients
	for range 3 {
		for _, line := range []string{"CLIENT LIST", "CLIENT INFO"} {
			do(s, line)
			require.Equal(t, open+4000-100, v.engine.MemoryUse().Clients, line)
			s.Publish(buffers)
			require.Equal(t, open, v.engine.MemoryUse().Clients, line)
		}
	}
	do(s, "CLIENT LIST")
	s.Close()
	require.Equal(t, before, v.engine.MemoryUse().Clients)
}
