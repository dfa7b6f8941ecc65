package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// infoNumber returns a field of INFO memory.
func infoNumber(t *testing.T, s *engine.Session, field string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(infoOf(s, field), 10, 64)
	require.NoError(t, err, field)
	return n
}

// memoryStats returns the fields of MEMORY STATS.
func memoryStats(t *testing.T, s *engine.Session) map[string]resp.Value {
	t.Helper()
	reply := s.Do(args("MEMORY STATS"))
	require.Equal(t, resp.KindMap, reply.Kind())
	values := make(map[string]resp.Value)
	for i, pairs := 0, reply.Elems(); i < len(pairs); i += 2 {
		values[pairs[i].Str()] = pairs[i+1]
	}
	return values
}

// TestMemoryUsageAddsUp: what MEMORY USAGE says of all keys, and the tables' own
// memory, is what the keyspace adds to used_memory.
func TestMemoryUsageAddsUp(t *testing.T) {
	race.OneGoroutine(t)
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	for _, kind := range slices.Sorted(maps.Keys(memoryKinds)) {
		t.Run(kind, func(t *testing.T) {
			e, _, s := newServer(t)
			keys := map[string]bool{}
			for i := range 200 + random.IntN(200) {
				for _, call := range memoryKind(memoryKinds[kind], i) {
					require.NotContains(t, show(s.Do(call)), "ERR")
				}
			}
			for _, name := range s.Do(args("KEYS *")).Elems() {
				keys[name.Str()] = true
			}
			sum := int64(0)
			for name := range keys {
				sum += s.Do(args("MEMORY USAGE " + name + " SAMPLES 0")).Int()
			}
			stats := memoryStats(t, s)
			used := e.MemoryUse().Keyspace.Used
			require.InEpsilon(t, float64(used), float64(sum), 0.35, "tables are as much as half empty")
			require.Equal(t, stats["keys.count"].Int(), int64(len(keys)))
		})
	}
}

// TestMemoryUsageIsWhatTheKeyAdds compares with used_memory before and after.
func TestMemoryUsageIsWhatTheKeyAdds(t *testing.T) {
	e, _, s := newServer(t)
	for i := range 2000 { // so that no table grows in between
		do(s, fmt.Sprint("SET other:", i, " v"))
	}
	do(s, "SET k v") // and none because of it
	do(s, "DEL k")
	for _, size := range []int{1, 100, 1000, 100_000} {
		before := e.MemoryUse().Keyspace.Used
		do(s, "SET k "+strings.Repeat("x", size))
		added := e.MemoryUse().Keyspace.Used - before
		require.InDelta(t, float64(added), float64(s.Do(args("MEMORY USAGE k")).Int()),
			64+float64(size)/200, size)
		do(s, "DEL k")
	}
}

// TestMemoryStatsIsInfo compares MEMORY STATS with INFO memory.
func TestMemoryStatsIsInfo(t *testing.T) {
	e, _, s := newServer(t)
	do(s, "SET k v")
	do(s, "SET e v EX 100")
	do(s, "EVAL return(1) 0")
	do(s, "SELECT 3")
	do(s, "SET k v")
	stats := memoryStats(t, s)
	for field, same := range map[string]string{
		"peak.allocated": "used_memory_peak", "total.allocated": "used_memory",
		"startup.allocated": "used_memory_startup", "overhead.total": "used_memory_overhead",
		"dataset.bytes": "used_memory_dataset", "clients.normal": "mem_clients_normal",
		"clients.slaves": "mem_clients_slaves", "aof.buffer": "mem_aof_buffer",
		"lua.caches": "used_memory_scripts_eval", "functions.caches": "used_memory_functions",
		"replication.backlog": "mem_replication_backlog", "cluster.links": "mem_cluster_links",
	} {
		require.Equal(t, infoNumber(t, s, same), stats[field].Int(), field)
	}
	require.InEpsilon(t, float64(infoNumber(t, s, "allocator_resident")),
		float64(stats["allocator.resident"].Int()), 0.5)
	require.EqualValues(t, 3, stats["keys.count"].Int())
	keyspace := e.MemoryUse().Keyspace
	overhead := int64(0)
	for _, db := range []string{"db.0", "db.3"} {
		fields := stats[db].Elems()
		require.Len(t, fields, 6)
		overhead += fields[1].Int() + fields[3].Int()
	}
	require.Positive(t, stats["db.0"].Elems()[3].Int(), "a key has a deadline")
	require.Zero(t, stats["db.3"].Elems()[3].Int())
	require.LessOrEqual(t, overhead, keyspace.Overhead)
	require.Positive(t, overhead)
}

// TestInterpretersInInfo: interpreters are beside used_memory, and add up as in redis-server.
func TestInterpretersInInfo(t *testing.T) {
	_, _, s := newServer(t)
	require.Zero(t, infoNumber(t, s, "used_memory_vm_total"))
	used := infoNumber(t, s, "used_memory")
	do(s, "EVAL return(1) 0")
	const source = "#!lua name=l\nlocal t={} for i=1,1e5 do t[i]=i end " +
		"redis.register_function('f',function() return #t end)"
	reply := s.Do([][]byte{[]byte("FUNCTION"), []byte("LOAD"), []byte(source)})
	require.False(t, reply.IsError(), reply.Str())
	eval, functions := infoNumber(t, s, "used_memory_vm_eval"), infoNumber(t, s, "used_memory_vm_functions")
	require.Positive(t, eval)
	require.Equal(t, eval, infoNumber(t, s, "used_memory_lua"))
	require.Greater(t, functions, int64(1_000_000))
	require.Equal(t, eval+functions, infoNumber(t, s, "used_memory_vm_total"))
	require.Less(t, infoNumber(t, s, "used_memory")-used, int64(100_000))
}

// TestMemoryPurge: the collection is beside the session, except where a command cannot wait.
func TestMemoryPurge(t *testing.T) {
	var calls atomic.Int64
	entered, release := make(chan struct{}), make(chan struct{})
	e, _ := newEngineWith(t, engine.Options{
		FreeMemory: func() {
			calls.Add(1)
			entered <- struct{}{}
			<-release
		},
	})
	first, second := newClient(e, engine.Peer{}), newSession(t, e)
	defer first.Close()
	require.Equal(t, "(nothing)", do(first.Session, "MEMORY PURGE"))
	require.NotNil(t, first.Blocked())
	<-entered
	require.Equal(t, "OK", do(second, "MEMORY PURGE"), "one is under way")
	require.False(t, first.Ready())
	release <- struct{}{}
	<-first.woken
	require.True(t, first.Ready())
	require.Equal(t, "OK", show(first.Resume()))
	require.EqualValues(t, 1, calls.Load())

	for i, line := range []string{"EXEC", "EVAL return(redis.call('memory','purge').ok) 0"} {
		if i == 0 {
			do(second, "MULTI")
			do(second, "MEMORY PURGE")
		}
		done := make(chan string)
		go func() { done <- do(second, line) }()
		<-entered
		release <- struct{}{}
		require.Contains(t, <-done, "OK")
	}
	require.EqualValues(t, 3, calls.Load())

	bare, _ := newEngine(t)
	require.Equal(t, "OK", do(newSession(t, bare), "MEMORY PURGE"), "nobody to ask")
}

// TestMemoryPurgeOutlivesItsClient: the next call collects once the first has.
func TestMemoryPurgeOutlivesItsClient(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	e, _ := newEngineWith(t, engine.Options{FreeMemory: func() {
		entered <- struct{}{}
		<-release
	}})
	gone, next := newClient(e, engine.Peer{}), newClient(e, engine.Peer{})
	defer next.Close()
	require.Equal(t, "(nothing)", do(gone.Session, "MEMORY PURGE"))
	<-entered
	gone.Close()
	require.Equal(t, "OK", next.do("MEMORY PURGE"), "the first is still under way")
	release <- struct{}{}
	done := make(chan string)
	go func() {
		for next.Blocked() == nil {
			do(next.Session, "MEMORY PURGE")
		}
		<-next.woken
		done <- show(next.Resume())
	}()
	<-entered
	release <- struct{}{}
	require.Equal(t, "OK", <-done)
}
