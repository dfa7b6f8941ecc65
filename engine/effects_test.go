package engine_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// newRecording returns an engine that records into a buffer.
func newRecording(t testing.TB, directives ...string) (*engine.Engine, *hands, *logBuffer) {
	e, h := newEngine(t, directives...)
	log := &logBuffer{}
	e.Record(log)
	return e, h, log
}

// TestRecordingDoesNotAllocate checks that the usual commands of limiters write to the
// log without allocating.
func TestRecordingDoesNotAllocate(t *testing.T) {
	for _, c := range hotCommands {
		e, h, log := newRecording(t)
		s := newSession(t, e)
		if c.setup != "" {
			do(s, c.setup)
		}
		line := args(c.line)
		call := func() {
			h.pass(1)
			log.bytes = log.bytes[:0]
			s.Do(line)
		}
		for range 100 {
			call()
		}
		require.Zero(t, testing.AllocsPerRun(200, call), c.name)
	}
}

// TestReclaimIsRecorded checks that reclaiming logs one DEL for each key, outside of
// MULTI and EXEC, in a group for each shard.
func TestReclaimIsRecorded(t *testing.T) {
	e, h, log := newRecording(t)
	s := newSession(t, e)
	do(s, "SELECT 3")
	for _, k := range strings.Fields("a b c d e f g h") {
		do(s, "SET "+k+" v PX 10")
	}
	do(s, "SET stays v PX 20")
	log.take()
	h.pass(11)
	e.Reclaim()
	lines := logLines(t, log.take())
	require.ElementsMatch(t, []string{"DEL a", "DEL b", "DEL c", "DEL d", "DEL e", "DEL f", "DEL g", "DEL h"},
		lines)
	e.Reclaim()
	require.Empty(t, log.take())
}

// TestLogPrecedesServedReply checks that the effects of serving a waiter are in the log
// before it can be answered.
func TestLogPrecedesServedReply(t *testing.T) {
	e, _, log := newRecording(t)
	waiter, pusher := newSession(t, e), newSession(t, e)
	waiter.Do(args("BLPOP l 0"))
	appended := 0
	log.seen = func() {
		appended++
		require.False(t, waiter.Ready())
	}
	do(pusher, "RPUSH l x")
	require.Equal(t, 1, appended)
	require.True(t, waiter.Ready())
	require.Equal(t, "[l x]", show(waiter.Resume()))
	require.Equal(t, []string{"RPUSH l x", "LPOP l"}, logLines(t, log.take()))
}

// TestOneGroupEach checks that a command, script or EXEC appends one group, or none if it
// has no effects.
func TestOneGroupEach(t *testing.T) {
	e, h, log := newRecording(t)
	s := newSession(t, e)
	for _, c := range []struct {
		line   string
		groups int
	}{
		{"SET k v", 1},
		{"GET k", 0},
		{"SET k v NX", 0},
		{"SADD s a", 1},
		{"SADD s a", 0},
		{"MULTI", 0},
		{"SET k v", 0},
		{"SET l v", 0},
		{"EXEC", 1},
		{"EVAL redis.call('SET','k',1)redis.call('SET','l',1) 0", 1},
		{"RL.ALLOW r 1 1s", 1},
		{"RL.ALLOW r 1 1s", 0},
		{"RL.ALLOW r 1 1s PEEK", 0},
		{"RL.MALLOW 2 r 1 1s q 1 1s", 0},
		{"RL.MALLOW 2 p 1 1s q 1 1s", 1},
		{"RL.INFO r", 0},
		{"RL.REFUND p 0", 0},
		{"RL.ACQUIRE x 1 LEASE 1s ID a", 1},
		{"RL.ACQUIRE x 1 LEASE 1s ID b", 0},
		{"RL.RENEW x b LEASE 1s", 0},
		{"RL.RESERVE r 1 1s 1 HOLD 1s ID i", 0},
		{"CL.THROTTLE g 0 1 60", 1},
		{"CL.THROTTLE g 0 1 60", 0},
		{"SET short v PX 5", 1},
		{"@+ 10", 0},
		{"GET short", 1},
		{"GET short", 0},
		{"FUNCTION FLUSH", 1},
		{"PING", 0},
	} {
		if c.line == "@+ 10" {
			h.pass(10)
			continue
		}
		log.groups = 0
		do(s, c.line)
		require.Equal(t, c.groups, log.groups, c.line)
	}
}

// TestRLInTheLog checks the commands that Redis does not have.
func TestRLInTheLog(t *testing.T) {
	e, h, log := newRecording(t)
	s := newSession(t, e)
	for _, c := range []struct {
		passMs     int64
		line, want string
	}{
		{
			0, "RL.ALLOW k 3 1s",
			"MULTI; ZADD k 1700000000000000 1700000000000000; PEXPIREAT k 1700000001000; EXEC",
		},
		{0, "RL.ALLOW k 3 1s", "ZADD k 1700000000000001 1700000000000001"},
		{
			1, "RL.ALLOW k 5 1s COST 2",
			"MULTI; ZADD k 1700000000001000 1700000000001000 1700000000001001 1700000000001001; PEXPIREAT " +
				"k 1700000001001; EXEC",
		},
		{0, "RL.REFUND k 1", "ZREM k 1700000000001001"},
		{
			999, "RL.ALLOW k 3 1s",
			"MULTI; ZREMRANGEBYSCORE k 0 1700000000000999; ZADD k 1700000001000000 1700000001000000; " +
				"PEXPIREAT k 1700000002000; EXEC",
		},
		{0, "RL.REFUND k 9", "DEL k"},
		{
			0, "RL.ALLOW k 1000 1s COST 1000",
			"MULTI; EVAL \"for i=ARGV[1]+0,ARGV[1]+ARGV[2]-1 do redis.call('ZADD',KEYS[1],i,i) end\" 1 k " +
				"1700000001000000 1000; PEXPIREAT k 1700000002000; EXEC",
		},
		{0, "RL.REFUND k 999", "ZREMRANGEBYSCORE k 1700000001000001 1700000001000999"},
		{
			2000, "RL.ALLOW k 1 1s",
			"MULTI; DEL k; ZADD k 1700000003000000 1700000003000000; PEXPIREAT k 1700000004000; EXEC",
		},
		{0, "RL.RESET k absent", "DEL k absent"},
		{0, "RL.RESET k absent", ""},
		{0, "RL.ALLOW f 3 1s ALGO FIXED COST 2", "SET f 2 PXAT 1700000004000"},
		{0, "RL.ALLOW f 3 1s ALGO FIXED", "SET f 3 KEEPTTL"},
		{0, "RL.REFUND f 1", "SET f 2 KEEPTTL"},
		{0, "RL.REFUND f 2", "DEL f"},
		{0, "RL.ALLOW g 10 1s ALGO GCRA 3", "SET g \"gcra 1700000003100000\" PXAT 1700000003100"},
		{0, "CL.THROTTLE c 1 10 1", "SET c \"gcra 1700000003100000\" PXAT 1700000003100"},
		{0, "RL.ALLOW o 9 1s ALGO COUNTER", "SET o \"counter 1000 1700000003000 1 0\" PXAT 1700000005000"},
		{0, "RL.ALLOW o 9 1s ALGO COUNTER COST 2", "SET o \"counter 1000 1700000003000 3 0\" KEEPTTL"},
		{0, "RL.REFUND o 1", "SET o \"counter 1000 1700000003000 2 0\" KEEPTTL"},
		{0, "RL.REFUND o 5", "DEL o"},
		{
			0, "RL.ALLOW b 9 1s ALGO BUCKETS 10",
			"MULTI; HSET b width 100 n 10 newest 1700000003000 counts 1; PEXPIREAT b 1700000004099; EXEC",
		},
		{0, "RL.ALLOW b 9 1s ALGO BUCKETS 10", "HSET b counts 2"},
		{
			100, "RL.ALLOW b 9 1s ALGO BUCKETS 10",
			"MULTI; HSET b newest 1700000003100 counts \"1 2\"; PEXPIREAT b 1700000004199; EXEC",
		},
		{0, "RL.REFUND b 3", "DEL b"},
		{0, "ZADD z 1700000003 a 1700000003 b", "ZADD z 1700000003 a 1700000003 b"},
		{0, "PEXPIREAT z 1700000009000", "PEXPIREAT z 1700000009000"},
		{
			0, "RL.ADOPT z", "MULTI; DEL z; ZADD z 1700000003999000 1700000003999000 1700000003999001 " +
				"1700000003999001; PEXPIREAT z 1700000009000; EXEC",
		},
		{
			0, "RL.ADOPT z BACK ms", "MULTI; DEL z; ZADD z 1700000003999 zlimit:1700000003999000 " +
				"1700000003999 zlimit:1700000003999001; PEXPIREAT z 1700000009000; EXEC",
		},
		{0, "RL.ADOPT z BACK ms", ""},
		{0, "DEL z", "DEL z"},
		{
			0, "RL.RESERVE t 9 1s 3 HOLD 1m ID i",
			"MULTI; ZADD t 1700000003100000 1700000003100000 1700000003100001 1700000003100001 " +
				"1700000003100002 1700000003100002; PEXPIREAT t 1700000004100; SET t:hold:i \"hold 1 " +
				"1700000003100000 3 1000 9 6 1000 held\" PXAT 1700000063100; EXEC",
		},
		{
			0, "RL.SETTLE t i 2",
			"MULTI; ZREM t 1700000003100002; SET t:hold:i \"hold 1 1700000003100000 3 1000 9 6 1000 " +
				"settled 2 0 1\" KEEPTTL; EXEC",
		},
		{0, "RL.SETTLE t i 2", ""},
		{0, "RL.ACQUIRE l 2 LEASE 1s ID a", "MULTI; ZADD l 1700000004100 a; PEXPIREAT l 1700000004100; EXEC"},
		{0, "RL.ACQUIRE l 2 LEASE 500ms ID b", "ZADD l 1700000003600 b"},
		{
			600, "RL.RENEW l a LEASE 1s",
			"MULTI; ZADD l 1700000004700 a; ZREMRANGEBYSCORE l 0 1700000003700; PEXPIREAT l " +
				"1700000004700; EXEC",
		},
		{0, "RL.RELEASE l a", "ZREM l a"},
		{0, "INCREX n BYINT 5 EX 10", "SET n 5 PXAT 1700000013700"},
		{0, "INCREX n BYINT 5 EX 20 ENX", "SET n 10 KEEPTTL"},
		{0, "INCREX n UBOUND 3", ""},
		{0, "INCREX n BYFLOAT 0.5 PERSIST", "SET n 10.5"},
		{0, "INCREX n BYFLOAT 0.5 PXAT 5", "DEL n"},
	} {
		h.pass(c.passMs)
		do(s, c.line)
		require.Equal(t, c.want, strings.Join(logLines(t, log.take()), "; "), c.line)
	}
}

// TestAPanicLeavesWhatWasDone checks that the log has the changes that a handler made
// before it panicked.
func TestAPanicLeavesWhatWasDone(t *testing.T) {
	e, _, log := newRecording(t)
	row := e.Table().Lookup([]byte("setnx"))
	handler := row.Handler
	row.Handler = func(c *commands.Ctx) resp.Value {
		handler(c)
		panic("midway")
	}
	s := newSession(t, e)
	require.Panics(t, func() { do(s, "SETNX k v") })
	require.Equal(t, []string{"SETNX k v"}, logLines(t, log.take()))
	require.Equal(t, "v", do(newSession(t, e), "GET k"))
	do(s, "MULTI")
	do(s, "SET a 1")
	do(s, "SETNX b 1")
	require.Panics(t, func() { do(s, "EXEC") })
	require.Equal(t, []string{"MULTI", "SET a 1", "SETNX b 1", "EXEC"}, logLines(t, log.take()))
}

// TestRecordingBeginsAndEnds starts and stops recording while commands run.
func TestRecordingBeginsAndEnds(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	do(s, "SET a 1")
	log := &logBuffer{}
	e.Record(log)
	do(s, "SET b 1")
	e.Record(nil)
	do(s, "SET c 1")
	do(s, "EVAL redis.call('SET','d',1) 0")
	require.Equal(t, []string{"SET b 1"}, logLines(t, log.take()))
}

// TestEffectsOfManyAtOnce checks that the log of concurrent sessions gives their
// keyspace, in whatever order they were locked.
func TestEffectsOfManyAtOnce(t *testing.T) {
	w := newEffectsWorld(t, 1)
	var wg sync.WaitGroup
	for i := range 4 {
		s := newSession(t, w.Engine)
		dice := effectsDice{rand.New(rand.NewPCG(uint64(i), 9)), func() int64 { return startNowMs }}
		wg.Go(func() {
			for range 300 {
				if b := s.Blocked(); b != nil {
					b.TimeOut()
					for !b.Over() { // another is serving it
					}
					s.Resume()
				}
				switch dice.IntN(8) {
				case 0:
					do(s, "MULTI")
					s.Do(dice.command())
					s.Do(dice.command())
					do(s, "EXEC")
				case 1:
					s.Do(dice.script())
				default:
					s.Do(dice.command())
				}
			}
		})
	}
	wg.Wait()
	log := logged(t, w.log.take())
	require.Equal(t, contents(newSession(t, w.Engine)), contents(w.reload(t, log)))
}

// TestBytesOfALimiter compares the bytes that the documents' script and RL.ALLOW log with
// those that redis-server logs for the script: five a second, one call each 100 ms for
// four seconds.
func TestBytesOfALimiter(t *testing.T) {
	text, err := os.ReadFile(effectsRecording)
	require.NoError(t, err)
	var script effectsCase
	for _, c := range parseEffects(t, string(text)) {
		if c.name == "the documents' script" {
			script = c
		}
	}
	sizes := map[string]int{}
	for _, step := range script.steps {
		for _, line := range step.want {
			words := args(line)
			sizes["redis"] += len(asLogged(words))
		}
	}
	for name, call := range map[string]string{
		"EVALSHA": "", "RL.ALLOW": "RL.ALLOW user:7 5 1s",
		"FIXED": "RL.ALLOW user:7 5 1s ALGO FIXED", "GCRA": "RL.ALLOW user:7 5 1s ALGO GCRA 5",
		"COUNTER": "RL.ALLOW user:7 5 1s ALGO COUNTER",
		"BUCKETS": "RL.ALLOW user:7 5 1s ALGO BUCKETS 10",
	} {
		e, h, log := newRecording(t)
		s := newSession(t, e)
		granted := 0
		for _, step := range script.steps {
			switch {
			case step.session == 0:
				h.pass(100)
			case call == "" || string(step.words[0]) == "SCRIPT":
				s.Do(step.words)
			default:
				granted += int(s.Do(args(call)).Elems()[0].Int())
			}
		}
		if call != "" {
			require.Positive(t, granted)
		}
		sizes[name] = len(log.take())
	}
	t.Logf("bytes: %v", sizes)
	require.Equal(t, sizes["redis"], sizes["EVALSHA"])
	require.LessOrEqual(t, float64(sizes["RL.ALLOW"]), 1.5*float64(sizes["redis"]))
	require.LessOrEqual(t, sizes["FIXED"], sizes["redis"]/2)
	require.LessOrEqual(t, sizes["GCRA"], sizes["redis"])
}

// TestEveryWriterIsRecorded checks that the tests of effects include every writing
// command, those that only we have among them.
func TestEveryWriterIsRecorded(t *testing.T) {
	text, err := os.ReadFile(effectsRecording)
	require.NoError(t, err)
	met := map[string]bool{}
	for _, c := range parseEffects(t, string(text)) {
		for _, step := range c.steps {
			if step.session > 0 {
				met[strings.ToLower(string(step.words[0]))] = true
			}
		}
	}
	for _, line := range effectsGrammar {
		met[strings.ToLower(strings.Fields(line)[0])] = true
	}
	e, _ := newEngine(t)
	for _, row := range e.Table().All() {
		// which have a recording of their own
		if row.Flags&commands.Write != 0 && !strings.HasPrefix(row.Name, "restore") {
			require.True(t, met[row.Name], row.Name)
		}
	}
}
