package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// prefixFull is the refusal of a call under "t:" with a limit of n keys.
func prefixFull(n int) string {
	return fmt.Sprintf("LIMITKEYS prefix 't:' has reached its limit of %d keys", n)
}

// keysUnder returns how many keys a prefix counts.
func keysUnder(t *testing.T, e *engine.Engine, prefix string) int {
	t.Helper()
	for _, p := range e.Figures().Prefixes {
		if p.Prefix == prefix {
			return int(p.Keys)
		}
	}
	require.Fail(t, "no such prefix", prefix)
	return 0
}

// A prefixStep is a command line and its reply.
type prefixStep struct{ line, want string }

func runSteps(t *testing.T, s *engine.Session, steps []prefixStep) {
	t.Helper()
	for _, step := range steps {
		require.Equal(t, step.want, do(s, step.line), step.line)
	}
}

// TestPrefixRefusesNewKeys tests every command that creates a limiter's key. Under a full prefix it is
// refused if it would create one, and changes nothing. Otherwise it answers as without a limit.
func TestPrefixRefusesNewKeys(t *testing.T) {
	for _, creates := range []string{
		"RL.ALLOW KEY 2 1m", "RL.ALLOW KEY 2 1m COST 2", "RL.ALLOW KEY 2 1m ATMOST COST 9",
		"RL.ALLOW KEY 2 1m FULL", "RL.ALLOW KEY 2 1m 9 1h", "RL.ALLOW KEY 2 1m ALGO FIXED",
		"RL.ALLOW KEY 2 1m ALGO GCRA 2",
		"RL.ALLOW KEY 2 1m ALGO BUCKETS 3", "RL.ALLOW KEY 2 1m ALGO COUNTER", "RL.MALLOW 1 KEY 2 1m",
		"RL.MALLOW 3 a 2 1m KEY 2 1m b 2 1m", "CL.THROTTLE KEY 1 1 60", "RL.ACQUIRE KEY 2 LEASE 1m ID i",
		"RL.RESERVE KEY 2 1m 1 HOLD 1m ID i",
	} {
		t.Run(creates, func(t *testing.T) {
			without, _ := newEngine(t)
			e, _ := newEngine(t, "--rl-max-keys-per-prefix", "t:", "2")
			free, s := newSession(t, without), newSession(t, e)
			call := func(key string) string { return strings.ReplaceAll(creates, "KEY", key) }

			do(s, "SET t:plain v")
			do(s, "SET t:plain2 v")
			require.Equal(t, prefixFull(2), do(s, call("t:new")))
			require.Equal(t, "2", do(s, "DBSIZE"), "nothing else was created either")
			require.Equal(t, 2, keysUnder(t, e, "t:"))
			require.Equal(t, do(free, call("u:new")), do(s, call("u:new")), "another prefix")

			do(s, "DEL t:plain t:plain2")
			do(free, "DEL a b")
			do(s, "DEL a b")
			require.Equal(t, do(free, call("t:new")), do(s, call("t:new")))
			do(s, "SET t:last v")
			do(free, "DEL a b")
			do(s, "DEL a b")
			require.Equal(t, do(free, call("t:new")), do(s, call("t:new")), "a key that exists is decided")
			require.Equal(t, prefixFull(2), do(s, call("t:other")))
		})
	}
}

// TestPrefixRefusesOnlyWhatCreates tests calls that change no key, and commands of others.
func TestPrefixRefusesOnlyWhatCreates(t *testing.T) {
	e, clock := newEngine(t, "--rl-max-keys-per-prefix", "t:", "1", "--rl-max-keys-per-prefix", "t:none", "0")
	s := newSession(t, e)
	runSteps(t, s, []prefixStep{
		{"RL.ALLOW t:a 9 1m", "[1 9 8 0 60000]"},
		{"RL.ALLOW t:b 9 1m PEEK", "[1 9 9 0 0]"},
		{"RL.ALLOW t:b 9 1m COST 0", "[1 9 9 0 0]"},
		{"RL.ALLOW t:b 9 1m COST 10", "[0 9 9 -1 0]"},
		{"RL.ALLOW t:b 0 1m", "[0 0 0 -1 0]"},
		{"RL.ALLOW t:b -1 1m", "ERR limit must not be negative"},
		{"RL.MALLOW 2 t:a 9 1m t:b 9 1m PEEK", "[1 1 9 8 0 60000]"},
		{"CL.THROTTLE t:b 0 1 60 0", "[0 1 1 -1 0]"},
		{"CL.THROTTLE t:b 0 1 60 2", "[1 1 1 -1 0]"},
		{"RL.INFO t:b", "[]"},
		{"RL.REFUND t:b 1", "0"},
		{"RL.RENEW t:b i LEASE 1m", "0"},
		{"RL.RELEASE t:b i", "0"},
		{"RL.SETTLE t:b i 5", "0"},
		{"RL.MALLOW 2 t:a 9 1m t:b 9 1m", prefixFull(1)},
		{"RL.ALLOW t:a 9 1m PEEK", "[1 9 8 0 60000]"},
		{"RL.ALLOW t:none1 9 1m", "LIMITKEYS prefix 't:none' has reached its limit of 0 keys"},
		{"RL.MALLOW 2 x 9 1m t:b 9 1m", prefixFull(1)},
		{"EXISTS x", "0"},
		// Other commands are counted and not refused.
		{"SET t:s v", "OK"},
		{"ZADD t:z 1 a", "1"},
		{"INCREX t:i", "[1 1]"},
		{"RENAME t:s t:s2", "OK"},
		{"COPY t:z t:z2", "1"},
		{"MOVE t:z2 1", "1"},
		{"SORT t:z BY nosort STORE t:l", "1"},
	})
	require.Equal(t, 6, keysUnder(t, e, "t:"), "a s2 z i z2 l")
	// A hold may be settled when its log has expired.
	do(s, "FLUSHALL")
	require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", "t: 2"))
	runSteps(t, s, []prefixStep{
		{"RL.RESERVE t:r 9 1s 1 HOLD 1m ID i", "[1 9 8 0 1000]"},
		{"RL.RESERVE t:r 9 1s 1 HOLD 1m ID j", prefixFull(2)},
		{"RL.ALLOW t:r 9 1s PEEK", "[1 9 8 0 1000]"},
		{"RL.RESERVE t:r 9 1s 1 HOLD 1m ID i", "[1 9 8 0 1000]"},
	})
	clock.pass(2000)
	runSteps(t, s, []prefixStep{
		{"SET t:x v", "OK"},
		{"SET t:y v", "OK"},
		{"RL.SETTLE t:r i 3", "[2 2]"},
	})
	require.Equal(t, 4, keysUnder(t, e, "t:"), "the work is done, so its units are recorded")
}

// TestPrefixReserveOfTwoKeys tests RL.RESERVE with room for one key of two: it takes none.
func TestPrefixReserveOfTwoKeys(t *testing.T) {
	e, _ := newEngine(t, "--rl-max-keys-per-prefix", "t:", "1")
	s := newSession(t, e)
	runSteps(t, s, []prefixStep{
		{"RL.RESERVE t:r 9 1s 1 HOLD 1m ID i", prefixFull(1)},
		{"RL.MALLOW 2 t:a 9 1m t:b 9 1m", prefixFull(1)},
		{"DBSIZE", "0"},
	})
	require.Zero(t, keysUnder(t, e, "t:"))
	require.Equal(t, "[1 9 8 0 60000]", do(s, "RL.ALLOW t:a 9 1m"), "the place is still there")
}

// TestPrefixInScriptsAndTransactions tests what callers see of the refusal.
func TestPrefixInScriptsAndTransactions(t *testing.T) {
	e, _ := newEngine(t, "--rl-max-keys-per-prefix", "t:", "1")
	s := newSession(t, e)
	do(s, "RL.ALLOW t:a 9 1m")
	require.Contains(t,
		doWords(s, "EVAL", "return redis.call('RL.ALLOW',KEYS[1],'9','1m')", "1", "t:b"), prefixFull(1))
	require.Equal(t, prefixFull(1),
		doWords(s, "EVAL", "return redis.pcall('RL.ALLOW',KEYS[1],'9','1m').err", "1", "t:b"))
	require.Equal(t, "[1 9 7 0 60000]",
		doWords(s, "EVAL", "return redis.call('RL.ALLOW',KEYS[1],'9','1m')", "1", "t:a"))
	runSteps(t, s, []prefixStep{
		{"MULTI", "OK"},
		{"RL.ALLOW t:b 9 1m", "QUEUED"},
		{"RL.ALLOW t:a 9 1m", "QUEUED"},
		{"DEL t:a", "QUEUED"},
		{"RL.ALLOW t:b 9 1m", "QUEUED"},
		{"EXEC", "[" + prefixFull(1) + " [1 9 6 0 60000] 1 [1 9 8 0 60000]]"},
	})
	require.Equal(t, "keys=1,max=1,refused=3,prefix=t:", field(t, s, "limiter", "limiter_prefix0"))
	runSteps(t, s, []prefixStep{
		{"LPUSH t:b x", "WRONGTYPE Operation against a key holding the wrong kind of value"},
	})
	require.Equal(t, "keys=1,max=1,refused=3,prefix=t:", field(t, s, "limiter", "limiter_prefix0"))
	require.Equal(t, "count=3", field(t, s, "errorstats", "errorstat_LIMITKEYS"))
	require.Equal(t, "OK", do(s, "CONFIG RESETSTAT"))
	require.Equal(t, "keys=1,max=1,refused=0,prefix=t:", field(t, s, "limiter", "limiter_prefix0"))
}

// TestPrefixIgnoresExpiredKeys tests that no call is refused because of keys that have
// expired.
func TestPrefixIgnoresExpiredKeys(t *testing.T) {
	e, clock := newEngine(t, "--rl-max-keys-per-prefix", "t:", "100")
	s := newSession(t, e)
	for i := range 100 {
		require.Equal(t, "[1 9 8 0 1000]", do(s, fmt.Sprintf("RL.ALLOW t:%d 9 1s", i)))
	}
	clock.pass(1000)
	require.Equal(t, prefixFull(100), do(s, "RL.ALLOW t:new 9 1s"), "keys exist at their deadline")
	require.Equal(t, prefixFull(100), do(s, "RL.ALLOW t:new 9 1s"))
	clock.pass(1)
	require.Equal(t, "[1 9 8 0 1000]", do(s, "RL.ALLOW t:new 9 1s"))
	for i := range 99 {
		require.Equal(t, "[1 9 8 0 1000]", do(s, fmt.Sprintf("RL.ALLOW t:again%d 9 1s", i)))
	}
	require.Equal(t, prefixFull(100), do(s, "RL.ALLOW t:new2 9 1s"))
	require.Equal(t, "keys=100,max=100,refused=3,prefix=t:", field(t, s, "limiter", "limiter_prefix0"))
	clock.pass(2000)
	mallow := "RL.MALLOW 50"
	for i := range 50 {
		mallow += fmt.Sprintf(" t:mallow%d 9 1s", i)
	}
	require.Equal(t, "[1 1 9 8 0 1000]", do(s, mallow), "needs 50 places")
	for i := range 50 {
		require.Equal(t, "[1 9 8 0 1000]", do(s, fmt.Sprintf("RL.ALLOW t:more%d 9 1s", i)))
	}
	clock.pass(2000)
	// In MULTI and scripts the dead count until the next Tick.
	runSteps(t, s, []prefixStep{
		{"MULTI", "OK"}, {"RL.ALLOW t:multi 9 1s", "QUEUED"}, {"EXEC", "[" + prefixFull(100) + "]"},
	})
	e.Tick()
	runSteps(t, s, []prefixStep{
		{"MULTI", "OK"}, {"RL.ALLOW t:multi 9 1s", "QUEUED"}, {"EXEC", "[[1 9 8 0 1000]]"},
	})
	require.Equal(t, 1, keysUnder(t, e, "t:"))
}

// TestPrefixFollowsTheKeyspace tests that the counts follow commands that move or drop many keys.
func TestPrefixFollowsTheKeyspace(t *testing.T) {
	e, clock := newEngine(t, "--rl-max-keys-per-prefix", "t: 5 t:a: 3")
	s := newSession(t, e)
	want := func(all, a int) {
		t.Helper()
		require.Equal(t, [2]int{all, a}, [2]int{keysUnder(t, e, "t:"), keysUnder(t, e, "t:a:")})
	}
	do(s, "MSET t:1 v t:2 v t:a:1 v other v")
	want(3, 1)
	do(s, "RENAME other t:a:2")
	want(4, 2)
	do(s, "RENAME t:1 t:a:2")
	want(3, 2)
	dump := s.Do(args("DUMP t:2")).Str()
	require.Equal(t, "OK", doWords(s, "RESTORE", "t:a:3", "0", dump))
	want(4, 3)
	require.Equal(t, "OK", doWords(s, "RESTORE", "t:a:3", "0", dump, "REPLACE"))
	want(4, 3)
	do(s, "COPY t:2 t:a:3 DB 1")
	do(s, "MOVE t:a:2 2")
	want(5, 4)
	do(s, "SWAPDB 0 1")
	want(5, 4)
	do(s, "FLUSHDB") // what was database 1: one key
	want(4, 3)
	do(s, "SELECT 1")
	do(s, "FLUSHDB")
	want(1, 1)
	do(s, "SETEX t:9 1 v")
	do(s, "HSET t:h f v")
	want(3, 1)
	do(s, "HDEL t:h f")
	clock.pass(1001)
	do(s, "GET t:9")
	want(1, 1)
	do(s, "RL.ALLOW t:a:9 1 1m")
	do(s, "RL.RESET t:a:9")
	do(s, "LPUSH t:list x")
	do(s, "LPOP t:list")
	want(1, 1)
	do(s, "FLUSHALL")
	want(0, 0)
}

// TestPrefixLimitOfManyKeys sets a limit while there are many keys, and counts them in the steps of Tick.
func TestPrefixLimitOfManyKeys(t *testing.T) {
	pauses := 0
	e, _ := newYieldingEngine(t, func() { pauses++ })
	s := newSession(t, e)
	const keys = 50_000
	for i := range keys {
		do(s, fmt.Sprint("SET t:", i, " v"))
	}
	require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", "t: 50001"))
	require.Equal(t, keys, keysUnder(t, e, "t:"), "CONFIG SET returns when all are counted")
	require.Greater(t, pauses, keys/1024, "and lets others run meanwhile")
	require.Equal(t, "[1 9 8 0 60000]", do(s, "RL.ALLOW t:new 9 1m"))
	require.Equal(t, prefixFull(keys+1), do(s, "RL.ALLOW t:new2 9 1m"))

	// EXEC holds shards, so the next Ticks count.
	do(s, "MULTI")
	do(s, "GET t:1")
	require.Equal(t, "QUEUED", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", "t:1 5 t: 7"))
	do(s, "RL.ALLOW t:new2 9 1m")
	do(s, "RL.ALLOW t:1new 9 1m")
	require.Equal(t, "[v OK "+prefixFull(7)+" "+prefixFull(7)+"]", do(s, "EXEC"),
		"the new limit of t: holds at once")
	require.Equal(t, "1", field(t, s, "limiter", "limiter_prefixes_counting"))
	require.Zero(t, keysUnder(t, e, "t:1"))
	pauses = 0
	e.Tick()
	require.Equal(t, "1", field(t, s, "limiter", "limiter_prefixes_counting"), "too many for one Tick")
	require.LessOrEqual(t, pauses, 64+4, "the sampler pauses, too")
	for field(t, s, "limiter", "limiter_prefixes_counting") == "1" {
		e.Tick()
	}
	require.Equal(t, 11111, keysUnder(t, e, "t:1"))
	require.Equal(t, "OK", doWords(s, "CONFIG", "SET", "rl-max-keys-per-prefix", ""))
	require.Equal(t, "[1 9 8 0 60000]", do(s, "RL.ALLOW t:new2 9 1m"))
	require.NotContains(t, do(s, "INFO limiter"), "limiter_prefix")
	require.Equal(t, "[rl-max-keys-per-prefix ]", do(s, "CONFIG GET rl-max-keys-per-prefix"))
}

// TestPrefixCountsWhatIsLoaded starts above the limit.
func TestPrefixCountsWhatIsLoaded(t *testing.T) {
	for name, directives := range map[string][]string{
		"log":      always,
		"commands": append([]string{"--aof-use-rdb-preamble", "no"}, always...),
		"snapshot": {"--save", "3600 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := crashdisk.New(1)
			p := start(t, d.FS(), 0, directives...)
			c := p.client(t)
			c.do("SELECT 3")
			for i := range 20 {
				c.do(fmt.Sprintf("RL.ALLOW t:%d 9 1m", i))
			}
			require.NoError(t, p.Close())

			directives = append([]string{"--rl-max-keys-per-prefix", "t:", "10"}, directives...)
			p = start(t, d.FS(), 0, directives...)
			c = p.client(t)
			require.Equal(t, 20, keysUnder(t, p.Engine, "t:"))
			c.do("SELECT 3")
			require.Equal(t, "[1 9 7 0 60000]", c.do("RL.ALLOW t:1 9 1m"))
			require.Equal(t, prefixFull(10), c.do("RL.ALLOW t:new 9 1m"))
			require.NoError(t, p.Close())
		})
	}
}

// TestPrefixRefusalIsMonitoredOnce tests that MONITOR shows a refused call, and one that was run again, once.
func TestPrefixRefusalIsMonitoredOnce(t *testing.T) {
	e, clock := newEngine(t, "--rl-max-keys-per-prefix", "t:", "1")
	m := newListener(t, e)
	m.Do(args("MONITOR"))
	s := newSession(t, e)
	do(s, "RL.ALLOW t:a 9 1s")
	require.Equal(t, prefixFull(1), do(s, "RL.ALLOW t:b 9 1s"))
	clock.pass(1001)
	require.Equal(t, "[1 9 8 0 1000]", do(s, "RL.ALLOW t:c 9 1s"))
	do(s, "ECHO end")
	var calls []string
	m.hearUntil(t, "\"ECHO\" \"end\"\r\n")
	for _, line := range linesOf(m.heard.String()) {
		if strings.Contains(line, "RL.ALLOW") {
			calls = append(calls, strings.Fields(line)[3])
		}
	}
	require.Equal(t, []string{`"t:a"`, `"t:b"`, `"t:c"`}, calls)
}
