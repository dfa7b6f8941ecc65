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
	"github.com/zlimit/zlimit/logging"
)

// evictions is an engine whose sessions record that their connections were closed.
type evictions struct {
	*testing.T
	engine *engine.Engine
	killed map[int64]bool
	logged []string
}

func newEvictions(t *testing.T) *evictions {
	v := &evictions{T: t, killed: make(map[int64]bool)}
	v.engine, _ = newEngineWith(t, engine.Options{
		Log: logging.Func(func(text string) { v.logged = append(v.logged, text) }),
	})
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

// TestClientEviction checks that the largest clients are closed until the rest is below
// the limit, and no more.
func TestClientEviction(t *testing.T) {
	v := newEvictions(t)
	small, large, middle := v.open(), v.open(), v.open()
	small.Publish(engine.Buffers{Memory: mb})
	large.CountOutput(3 * mb)
	middle.Publish(engine.Buffers{Memory: 2 * mb})
	require.Empty(t, v.killed, "there is no limit")

	require.Equal(t, "OK", do(small, "CONFIG SET maxmemory-clients 3500000"))
	v.engine.Tick()
	require.Equal(t, map[int64]bool{large.ID(): true}, v.killed, "one suffices")
	require.Equal(t, "1", infoOf(small, "evicted_clients"))
	require.Len(t, v.logged, 1)
	line := fmt.Sprintf("Evicting client: id=%d addr=", large.ID())
	require.True(t, strings.HasPrefix(v.logged[0], line), v.logged[0])
	require.Less(t, v.engine.ClientBytes(), int64(3_500_000), "a client that is closing no longer counts")
	v.engine.Tick()
	require.Len(t, v.killed, 1)

	middle.Publish(engine.Buffers{Memory: 3 * mb})
	require.True(t, v.killed[middle.ID()], "a client that grows past the limit")
	require.Equal(t, "(nothing)", do(middle, "PING"), "it runs no more commands")
	require.True(t, middle.Closing())
	require.Equal(t, "PONG", do(small, "PING"))
	large.CountOutput(-3 * mb)
	require.Equal(t, "OK", do(small, "CONFIG RESETSTAT"))
	require.Equal(t, "0", infoOf(small, "evicted_clients"))
}

// TestNoEvict checks that clients under NO-EVICT count and stay, so that others are
// closed, as in Redis.
func TestNoEvict(t *testing.T) {
	v := newEvictions(t)
	exempt, other := v.open(), v.open()
	require.Equal(t, "OK", do(exempt, "CLIENT NO-EVICT ON"))
	require.Equal(t, "OK", do(exempt, "CONFIG SET maxmemory-clients 1mb"))
	exempt.Publish(engine.Buffers{Memory: 2 * mb})
	require.Equal(t, map[int64]bool{other.ID(): true}, v.killed)
	require.Equal(t, "OK", do(exempt, "CLIENT NO-EVICT OFF"))
	exempt.Publish(engine.Buffers{Memory: 2 * mb})
	require.True(t, v.killed[exempt.ID()])

	inside := v.engine.NewSession(engine.Peer{Owner: true})
	defer inside.Close()
	inside.Publish(engine.Buffers{Memory: 2 * mb})
	require.Equal(t, "PONG", do(inside, "PING"), "a program's own session has no connection to close")
}

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

// TestClientMemoryCounts checks that everything that the server keeps for a client
// counts, until it is gone.
func TestClientMemoryCounts(t *testing.T) {
	v := newEvictions(t)
	watcher := v.open()
	value := strings.Repeat("x", 100_000)
	many := func(s *engine.Session, command string) {
		do(s, "HELLO 3") // SUBSCRIBE is then a command as others
		for i := range 100 {
			do(s, fmt.Sprintf("%s name%d", command, i))
		}
	}
	for _, c := range []struct {
		name        string
		grow        func(s *engine.Session)
		least, most int
	}{
		{"nothing", func(*engine.Session) {}, 0, 0},
		{"MULTI", func(s *engine.Session) { do(s, "MULTI"); do(s, "SET k "+value) }, 100_000, 200_000},
		{"DISCARD", func(s *engine.Session) {
			do(s, "MULTI")
			do(s, "SET k "+value)
			do(s, "DISCARD")
		}, 0, 0},
		{"WATCH", func(s *engine.Session) { many(s, "WATCH") }, 4_000, 10_000},
		{"SUBSCRIBE", func(s *engine.Session) { many(s, "SUBSCRIBE") }, 4_000, 30_000},
		{"PSUBSCRIBE", func(s *engine.Session) { many(s, "PSUBSCRIBE") }, 4_000, 30_000},
		{"unread replies", func(s *engine.Session) { s.CountOutput(5000) }, 5000, 5000},
		{"unread messages", func(s *engine.Session) {
			do(s, "SUBSCRIBE ch")
			do(watcher, "PUBLISH ch "+value)
		}, 100_000, 200_000},
	} {
		before := v.engine.MemoryUse().Clients
		s := v.open()
		empty := v.field(watcher, s, "tot-mem")
		require.Positive(t, empty)
		c.grow(s)
		s.Publish(engine.Buffers{Memory: 7000})
		got := v.field(watcher, s, "tot-mem") - empty - 7000
		require.GreaterOrEqual(t, got, c.least, c.name)
		require.LessOrEqual(t, got, c.most, c.name)
		s.CountOutput(-v.field(watcher, s, "omem")) // as a connection does when it closes
		s.Close()
		require.Equal(t, before, v.engine.MemoryUse().Clients, c.name)
	}
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
