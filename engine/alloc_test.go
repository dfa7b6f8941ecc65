package engine_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/effects"
)

// hotCommands are the usual commands of limiters, on keys that exist. The clock advances
// a millisecond a call.
var hotCommands = []struct{ name, setup, line string }{
	{"RL.ALLOW admitted", "", "RL.ALLOW k 1000000 1h"},
	{"RL.ALLOW denied", "RL.ALLOW k 1 1h", "RL.ALLOW k 1 1h"},
	{"RL.ALLOW three windows admitted", "", "RL.ALLOW k 1000000 1h 900000 1m 800000 10s COST 2 FULL"},
	{"RL.ALLOW three windows denied", "RL.ALLOW k 1 1h", "RL.ALLOW k 10 1m 1 1h 20 10s FULL"},
	{"RL.ALLOW ATMOST", "", "RL.ALLOW k 100000 1s COST 3 ATMOST"},
	{"RL.ALLOW PEEK", "RL.ALLOW k 10 1h", "RL.ALLOW k 10 1h PEEK"},
	{"RL.ALLOW FIXED admitted", "", "RL.ALLOW k 1000000 100ms ALGO FIXED"},
	{"RL.ALLOW FIXED denied", "RL.ALLOW k 1 1d ALGO FIXED", "RL.ALLOW k 1 1d ALGO FIXED FULL"},
	{"RL.ALLOW GCRA admitted", "", "RL.ALLOW k 10000 1s ALGO GCRA 10"},
	{"RL.ALLOW GCRA denied", "RL.ALLOW k 1 1d ALGO GCRA 1", "RL.ALLOW k 1 1d ALGO GCRA 1"},
	{"RL.ALLOW COUNTER admitted", "", "RL.ALLOW k 1000000 1s ALGO COUNTER"},
	{"RL.ALLOW COUNTER denied", "RL.ALLOW k 1 1d ALGO COUNTER", "RL.ALLOW k 1 1d ALGO COUNTER"},
	{"RL.ALLOW BUCKETS admitted", "", "RL.ALLOW k 1000000 1s ALGO BUCKETS 10"},
	{"RL.ALLOW BUCKETS many", "", "RL.ALLOW k 1000000 10s ALGO BUCKETS 1000"},
	{"RL.ALLOW BUCKETS denied", "RL.ALLOW k 1 1d ALGO BUCKETS 60", "RL.ALLOW k 1 1d ALGO BUCKETS 60"},
	{"RL.MALLOW admitted", "", "RL.MALLOW 3 k 1000000 1h l 1000000 1m m 1000000 10s"},
	{"RL.MALLOW denied", "RL.ALLOW l 1 1h", "RL.MALLOW 2 k 1000000 1h l 1 1h"},
	{"RL.REFUND", "RL.ALLOW k 1000000 1d COST 500000", "RL.REFUND k 1"},
	{"CL.THROTTLE admitted", "", "CL.THROTTLE k 10 10000 1"},
	{"CL.THROTTLE denied", "CL.THROTTLE k 0 1 86400", "CL.THROTTLE k 0 1 86400"},
	{"ZADD log", "ZADD k 1 1", "ZADD k 1700000000000 1700000000000"},
	{"ZADD tree", "ZADD k 1 a", "ZADD k 2 a"},
	{"ZCARD", "ZADD k 1 1", "ZCARD k"},
	{"ZSCORE", "ZADD k 1 1", "ZSCORE k 1"},
	{
		"ZREMRANGEBYSCORE nothing due", "ZADD k 1700000000000 1700000000000",
		"ZREMRANGEBYSCORE k 0 1699999940000",
	},
	{"INCR", "SET k 1", "INCR k"},
	{"GET number", "SET k 1", "GET k"},
	{"GET text", "SET k hello", "GET k"},
	{"SET number", "SET k 1", "SET k 2"},
	{"SET text", "SET k hello", "SET k world"},
	{"HGET", "HSET k tokens 10 refilled 1700000000000", "HGET k refilled"},
	{"HSET", "HSET k tokens 10 refilled 1700000000000", "HSET k tokens 9 refilled 1700000000001"},
	{"HMGET", "HSET k tokens 10 refilled 1700000000000", "HMGET k tokens refilled nosuch"},
	{"HGETALL", "HSET k tokens 10 refilled 1700000000000", "HGETALL k"},
	{"HINCRBY", "HSET k n 1", "HINCRBY k n 1"},
	{"SADD number held", "SADD k 1 2 3", "SADD k 2"},
	{"SADD text held", "SADD k a b", "SADD k b"},
	{"SISMEMBER", "SADD k a b", "SISMEMBER k b"},
	{"SMEMBERS", "SADD k 1 2 3", "SMEMBERS k"},
	{"SRANDMEMBER", "SADD k a b", "SRANDMEMBER k"},
	{"EXPIRE", "SET k 1", "EXPIRE k 60"},
	{"PTTL", "SET k 1 EX 60", "PTTL k"},
	{"RL.RESERVE denied", "RL.ALLOW k 1 1h", "RL.RESERVE k 1 1h 1 HOLD 1m ID req-1"},
	{"RL.RESERVE again", "RL.RESERVE k 9 1h 1 HOLD 1h ID req-1", "RL.RESERVE k 9 1h 1 HOLD 1h ID req-1"},
	{"RL.SETTLE again", "RL.RESERVE k 9 1h 5 HOLD 1h ID req-1", "RL.SETTLE k req-1 4"},
	{"RL.ACQUIRE denied", "RL.ACQUIRE k 1 LEASE 1h ID req-1", "RL.ACQUIRE k 1 LEASE 1h ID req-2"},
	{"INCREX", "INCREX k", "INCREX k EX 60 ENX"},
	{"INCREX refused", "INCREX k", "INCREX k UBOUND 1 EX 60"},
	{"PING", "", "PING"},
	{"GETBIT", "SETBIT k 1000 1", "GETBIT k 1000"},
	{"GETBIT number", "SET k 12345", "GETBIT k 3"},
	{"SETBIT", "SETBIT k 1000 0", "SETBIT k 1000 1"},
	{"BITCOUNT", "SETBIT k 1000 1", "BITCOUNT k 0 -1"},
	{"BITPOS", "SETBIT k 1000 1", "BITPOS k 1 0 -1 BIT"},
	{"BITFIELD GET", "SETBIT k 1000 1", "BITFIELD k GET u8 0 GET i16 #3"},
	{
		"BITFIELD", "SETBIT k 1000 1",
		"BITFIELD k GET u8 0 OVERFLOW WRAP INCRBY u5 7 1 OVERFLOW SAT INCRBY i9 #4 100 SET u63 1 5",
	},
	{"BITFIELD FAIL", "BITFIELD k SET u2 0 3", "BITFIELD k OVERFLOW FAIL INCRBY u2 0 1"},
}

// caller returns a function that runs a command and encodes its reply.
func caller(t testing.TB, s *engine.Session) func(line [][]byte) (encoded []byte) {
	out := make([]byte, 0, 4096)
	return func(line [][]byte) []byte {
		reply := s.Do(line)
		if reply.IsError() {
			t.Fatal(reply.Str())
		}
		out = resp.Append(out[:0], &reply, s.Proto())
		return out
	}
}

// A lastGroup is a journal that keeps what was appended last.
type lastGroup struct {
	bytes    []byte
	selected int
}

func (l *lastGroup) Append(g *effects.Group, _ int64) int64 {
	l.bytes, l.selected = g.AppendTo(l.bytes[:0], l.selected)
	return 0
}

// TestHotCommandsDoNotAllocate measures from a parsed command to its encoded reply.
func TestHotCommandsDoNotAllocate(t *testing.T) {
	race.OneGoroutine(t)
	for world, prepare := range map[string]func(t *testing.T, e *engine.Engine){
		"alone":    func(*testing.T, *engine.Engine) {},
		"recorded": func(_ *testing.T, e *engine.Engine) { e.Record(&lastGroup{}) },
		"beside a listener": func(t *testing.T, e *engine.Engine) { // on the channels of another key
			l := newSession(t, e)
			do(l, "CONFIG SET notify-keyspace-events "+everyEvent)
			do(l, "SUBSCRIBE __keyspace@9__:k")
		},
	} {
		for _, c := range hotCommands {
			t.Run(world+"/"+c.name, func(t *testing.T) {
				e, clock := newEngine(t)
				prepare(t, e)
				s := newSession(t, e)
				if c.setup != "" {
					require.NotContains(t, do(s, c.setup), "ERR")
				}
				line, call := args(c.line), caller(t, s)
				run := func() {
					clock.pass(1)
					call(line)
				}
				for range 100 {
					run() // warm: scratch space, the log's blocks
				}
				require.Zero(t, testing.AllocsPerRun(2000, run))
			})
		}
	}
}

// TestTransactionsDoNotAllocate runs the documents' flow from MULTI to the encoded reply
// of EXEC, on a window that slides.
func TestTransactionsDoNotAllocate(t *testing.T) {
	_, clock, s := newServer(t)
	nowMs := int64(1_700_000_000_000)
	instant, cut := make([]byte, 0, 13), make([]byte, 0, 13)
	flow := [][][]byte{
		args("MULTI"),
		{[]byte("ZADD"), []byte("k"), instant[:13], instant[:13]},
		{[]byte("ZREMRANGEBYSCORE"), []byte("k"), []byte("0"), cut[:13]},
		args("ZCARD k"),
		args("EXPIRE k 60"),
		args("EXEC"),
	}
	var out []byte
	call := caller(t, s)
	run := func() {
		clock.pass(1)
		nowMs++
		instant, cut = strconv.AppendInt(instant[:0], nowMs, 10), strconv.AppendInt(cut[:0], nowMs-100, 10)
		for _, line := range flow {
			out = call(line)
		}
	}
	for range 1000 {
		run()
	}
	require.Equal(t, "*4\r\n:1\r\n:1\r\n:100\r\n:1\r\n", string(out))
	require.Zero(t, testing.AllocsPerRun(2000, run))
}

// A transaction leaves no state for the next one, and releases the memory of a large
// queue.
func TestTransactionsFollowEachOther(t *testing.T) {
	_, _, s := newServer(t)
	for i := range 20 {
		large := strings.Repeat(strconv.Itoa(i), 1+i%3*20_000)
		require.Equal(t, "OK", do(s, "MULTI"))
		for _, line := range []string{"SET a " + large, "ECHO " + large, "ECHO x", "APPEND a !", "STRLEN a"} {
			require.Equal(t, "QUEUED", do(s, line))
		}
		if i%4 == 3 {
			require.Equal(t, "OK", do(s, "DISCARD"))
			continue
		}
		got := do(s, "EXEC")
		require.Contains(t, got, large)
		require.Contains(t, got, strconv.Itoa(len(large)+1))
		require.Equal(t, large+"!", do(s, "GET a"))
	}
}

func BenchmarkDo(b *testing.B) {
	for _, c := range hotCommands {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			e, _ := newEngine(b)
			s := newSession(b, e)
			if c.setup != "" {
				do(s, c.setup)
			}
			line := args(c.line)
			call := caller(b, s)
			b.ReportAllocs()
			for b.Loop() {
				call(line)
			}
		})
	}
}

// TestScriptsDoNotAllocate runs the documents' script by EVALSHA, from a parsed command to
// its encoded reply.
func TestScriptsDoNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops pooled states at random")
	}
	source, err := os.ReadFile("../docs/sliding-window.lua")
	require.NoError(t, err)
	_, clock, s := newServer(t)
	sha := doWords(s, "SCRIPT", "LOAD", string(source))
	now := int64(startNowMs)
	line := args("EVALSHA " + sha + " 1 k " + strconv.FormatInt(now, 10) + " 60000 3")
	call := caller(t, s)
	run := func() {
		clock.pass(1)
		now++
		strconv.AppendInt(line[4][:0], now, 10)
		call(line)
	}
	for range 100 {
		run()
	}
	require.Zero(t, testing.AllocsPerRun(500, run))
}
