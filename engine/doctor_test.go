package engine_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// A scene is a world in which clients send commands to an engine with rl-doctor.
type scene struct {
	t       *testing.T
	e       *engine.Engine
	hands   *hands
	clients map[string]*engine.Session
}

func newScene(t *testing.T) *scene {
	e, h := newEngine(t, "--rl-doctor", "yes")
	return &scene{t, e, h, make(map[string]*engine.Session)}
}

// client returns the session of the client with a name.
func (w *scene) client(name string) *engine.Session {
	if w.clients[name] == nil {
		w.clients[name] = newSession(w.t, w.e)
		require.Equal(w.t, "OK", doWords(w.clients[name], "CLIENT", "SETNAME", name))
	}
	return w.clients[name]
}

func (w *scene) nowMs() int64 { return startNowMs + w.hands.us/1000 }

// run sends lines "client: command". In commands, {ms}, {s}, {us} and {ns} are the present
// time, and {ms-5000} five thousand less; ~ is a space within an argument. A line "+250"
// lets 250 ms pass.
func (w *scene) run(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		if ms, ok := strings.CutPrefix(line, "+"); ok {
			n, err := strconv.ParseInt(ms, 10, 64)
			require.NoError(w.t, err)
			w.hands.pass(n)
			continue
		}
		name, command, _ := strings.Cut(line, ": ")
		words := strings.Fields(w.withTimes(command))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "~", " ")
		}
		reply := doWords(w.client(name), words...)
		require.NotContains(w.t, reply, "ERR", line)
		require.NotContains(w.t, reply, "WRONG", line)
	}
}

// withTimes replaces the times in braces.
func (w *scene) withTimes(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		var inside string
		inside, text, _ = strings.Cut(rest, "}")
		unit := strings.TrimRight(inside, "+-0123456789")
		now, ok := map[string]int64{
			"s": w.nowMs() / 1000, "ms": w.nowMs(), "us": w.nowMs() * 1000, "ns": w.nowMs() * 1_000_000,
		}[unit]
		require.True(w.t, ok, inside)
		offset := int64(0)
		if inside != unit {
			var err error
			offset, err = strconv.ParseInt(inside[len(unit):], 10, 64)
			require.NoError(w.t, err)
		}
		b.WriteString(strconv.FormatInt(now+offset, 10))
	}
}

// found returns RL.DOCTOR's findings as "problem count pattern command client".
func (w *scene) found() []string {
	admin := newSession(w.t, w.e)
	var out []string
	for _, f := range admin.Do(args("RL.DOCTOR")).Elems() {
		fields := f.Elems()
		one := make([]string, 5)
		for i := range one {
			one[i] = show(fields[2*i+1])
		}
		out = append(out, strings.Join(one, " "))
	}
	return out
}

// sweep does what a second of ticks does.
func (w *scene) sweep() {
	for range 10 {
		w.e.Tick()
	}
}

func times(n int, lines ...string) (out []string) {
	for range n {
		out = append(out, lines...)
	}
	return out
}

// Commands of limiters, for the scenes.
const (
	trim  = "a: ZREMRANGEBYSCORE k:1 0 {ms-60000}"
	count = "a: ZCARD k:1"
)

// TestDoctorScenes runs commands and compares what is found.
func TestDoctorScenes(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		// merged-hits
		{
			"two hits of one millisecond",
			[]string{"a: ZADD k:17 {ms} {ms}", "a: ZADD k:17 {ms} {ms}"},
			[]string{"merged-hits 1 k:* zadd a"},
		},
		{
			"two hits in seconds",
			[]string{"a: ZADD k {s} {s}", "+900", "b: ZADD k {s} {s}"},
			[]string{"merged-hits 1 k zadd b"},
		},
		{
			"score in seconds, member in microseconds", times(3, "a: ZADD k {s} {us}"),
			[]string{"merged-hits 2 k zadd a"},
		},
		{"nanoseconds", times(2, "a: ZADD k {ns} {ns}"), []string{"merged-hits 1 k zadd a"}},
		{"with a fraction", times(2, "a: ZADD k {s}.5 {s}.512"), []string{"merged-hits 1 k zadd a"}},
		{
			"as Lua prints it", times(2, "a: ZADD k 1.7000000000001e+15 1.7000000000001e+15"),
			[]string{"merged-hits 1 k zadd a"},
		},
		{"NX", times(2, "a: ZADD k NX {ms} {ms}"), []string{"merged-hits 1 k zadd a"}},
		{
			"pairs",
			[]string{"a: ZADD k {ms} {ms} {ms+1} {ms+1} {ms} {ms}"},
			[]string{"merged-hits 1 k zadd a"},
		},
		{"in MULTI", []string{
			"a: MULTI", "a: ZADD k {ms} {ms}", "a: ZADD k {ms} {ms}", "a: EXEC",
		}, []string{"merged-hits 1 k zadd a"}},
		{
			"in a script", times(2, "a: EVAL redis.call('ZADD',KEYS[1],ARGV[1],ARGV[1]) 1 k {ms}"),
			[]string{"merged-hits 1 k zadd (script) a"},
		},
		{"other databases are other keys", []string{
			"a: ZADD k {ms} {ms}", "b: SELECT 1", "b: ZADD k {ms} {ms}",
		}, nil},
		{"unique members", times(3, "a: ZADD k {ms} {ms}-x"), nil},
		{"a member for each user", times(3, "a: ZADD online {ms} user7"), nil},
		{"the same request again", times(3, "a: ZADD k {ms} {ms}-6f1a"), nil},
		{"a series of values", times(3, "a: ZADD prices 17.5 {ms}"), nil},
		{"updates", times(3, "a: ZADD k XX {ms} {ms}"), nil},
		{"ranks", times(3, "a: ZADD board 1700 1700"), nil},
		{"two hits of two milliseconds", []string{"a: ZADD k {ms} {ms}", "+1", "a: ZADD k {ms} {ms}"}, nil},

		// clock-skew
		{
			"a clock that is slow by more than a tenth", times(4,
				"a: ZREMRANGEBYSCORE k 0 {ms-66001}", "a: ZADD k {ms-6001} x", "+1000"),
			[]string{"clock-skew 4 k zadd a"},
		},
		{
			"a clock that is fast", times(3, "a: ZREMRANGEBYSCORE k -inf ({ms-53999}",
				"a: ZADD k {ms+6001} x"),
			[]string{"clock-skew 3 k zadd a"},
		},
		{
			"the hit first", times(3, "a: ZADD k {ms+6001} x", "a: ZREMRANGEBYSCORE k 0 {ms-53999}"),
			[]string{"clock-skew 3 k zremrangebyscore a"},
		},
		{
			"in seconds", times(3, "a: ZREMRANGEBYSCORE k 0 {s-70}", "a: ZADD k {s-10} x"),
			[]string{"clock-skew 3 k zadd a"},
		},
		{
			"counting from the cutoff on", times(3, "a: ZCOUNT k {ms-70001} +inf", "a: ZADD k {ms-10001} x"),
			[]string{"clock-skew 3 k zadd a"},
		},
		{"keys of one client", []string{
			"a: ZREMRANGEBYSCORE k:1 0 {ms-70000}", "a: ZADD k:1 {ms-10000} x",
			"a: ZREMRANGEBYSCORE k:2 0 {ms-70000}", "a: ZADD k:2 {ms-10000} x",
			"a: ZREMRANGEBYSCORE k:3 0 {ms-70000}", "a: ZADD k:3 {ms-10000} x",
		}, []string{"clock-skew 3 k:* zadd a"}},
		{"a tenth", times(4, "a: ZREMRANGEBYSCORE k 0 {ms-66000}", "a: ZADD k {ms-6000} x"), nil},
		{"one hit that waited", []string{
			"a: ZREMRANGEBYSCORE k 0 {ms-1500}", "a: ZADD k {ms-500} x",
			"a: ZREMRANGEBYSCORE k 0 {ms-1000}", "a: ZADD k {ms} y",
			"a: ZREMRANGEBYSCORE k 0 {ms-1500}", "a: ZADD k {ms-500} z",
			"a: ZREMRANGEBYSCORE k 0 {ms-1500}", "a: ZADD k {ms-500} w",
		}, nil},
		{
			"seconds are not milliseconds", times(4, "+999", "a: ZREMRANGEBYSCORE k 0 {s-1}",
				"a: ZADD k {s} x"),
			nil,
		},
		{
			"leases: the score is a deadline",
			times(4, "a: ZREMRANGEBYSCORE k 0 {ms}", "a: ZADD k {ms+30000} x"), nil,
		},
		{"a queue of jobs", times(40, "a: ZADD q {ms+3600000} job", "a: ZREMRANGEBYSCORE q 0 {ms}"), nil},
		{"the server's time", times(4, "+7",
			"a: EVAL local~t=redis.call('TIME')[1]redis.call('ZREMRANGEBYSCORE',KEYS[1],0,t-60)"+
				"redis.call('ZADD',KEYS[1],t,ARGV[1]) 1 k x"), nil},

		// untrimmed-window
		{"an expiry, no removal", append(times(50, "+20000", "a: ZADD k:1 {ms} {ms}-x", "a: EXPIRE k:1 60",
			"a: ZCARD k:1"), "a: PING"), []string{"untrimmed-window 32 k:* zadd a"}},
		{
			"counting by score", times(100, "+20000", "a: ZCOUNT k:1 {ms-60000} {ms}",
				"a: ZADD k:1 {ms} {ms}-x"),
			[]string{"untrimmed-window 96 k:* zadd a"},
		},
		{"with removal", times(200, "+20000", trim, count, "a: ZADD k:1 {ms} {ms}-x"), nil},
		{"removal by a job", times(10, append(times(30, "+20000", count, "a: ZADD k:1 {ms} {ms}-x",
			"a: EXPIRE k:1 60"), "j: ZREMRANGEBYSCORE k:1 0 {ms-60000}")...), nil},
		{"removal by rank", times(200, "+20000", count, "a: ZADD k:1 {ms} {ms}-x", "a: EXPIRE k:1 60",
			"a: ZREMRANGEBYRANK k:1 0 -11"), nil},
		{"a log of events that nobody counts", times(200, "+20000", "a: ZADD k:1 {ms} {ms}-x",
			"a: EXPIRE k:1 60"), nil},
		{"a log of events without an end", times(200, "+20000", count, "a: ZADD k:1 {ms} {ms}-x"), nil},
		{"ten windows are not over", times(100, "+6000", count, "a: ZADD k:1 {ms} {ms}-x",
			"a: EXPIRE k:1 60"), nil},
		{"it expired", times(30, append(times(9, "+100", "a: ZADD k:1 {ms} {ms}-x", count, "a: EXPIRE k:1 1"),
			"+600000")...), nil},

		// check-then-add
		{"two clients, one place", []string{
			"a: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "b: ZREMRANGEBYSCORE k:1 0 {ms-60000}",
			"a: ZCARD k:1", "b: ZCARD k:1", "a: ZADD k:1 {ms} 1-x", "b: ZADD k:1 {ms} 2-x",
		}, []string{"check-then-add 1 k:* zadd b"}},
		{"the check before MULTI", []string{
			"a: ZCARD k:1", "b: ZCARD k:1",
			"a: MULTI", "a: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "a: ZADD k:1 {ms} 1-x", "a: EXEC",
			"b: MULTI", "b: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "b: ZADD k:1 {ms} 2-x", "b: EXEC", "b: PING",
		}, []string{"check-then-add 1 k:* zadd b"}},
		{"a counter that is read first", []string{
			"a: SET k:1 0 EX 60", "a: GET k:1", "b: GET k:1", "a: INCR k:1", "b: INCR k:1",
		}, []string{"check-then-add 1 k:* incr b"}},
		{"one after the other", times(3, trim, count, "a: ZADD k:1 {ms} x",
			"b: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "b: ZCARD k:1", "b: ZADD k:1 {ms} y"), nil},
		{"one is denied", times(3, trim, "a: ZCARD k:1", "b: ZCARD k:1", "b: ZADD k:1 {ms} y"), nil},
		{"the hit first, without MULTI", times(5, "a: ZADD k:1 {ms} x", "b: ZADD k:1 {ms} y", trim,
			"a: ZCARD k:1", "b: ZCARD k:1"), nil},
		{"WATCH", times(3,
			"a: WATCH k:1", "b: WATCH k:1", "a: ZCARD k:1", "b: ZCARD k:1",
			"a: MULTI", "b: MULTI", "a: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "a: ZADD k:1 {ms} x", "a: EXEC",
			"b: ZADD k:1 {ms} y", "b: EXEC", "+1"), nil},
		{"all in MULTI", times(3,
			"a: MULTI", "b: MULTI", "a: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "a: ZCARD k:1", "b: ZCARD k:1",
			"a: ZADD k:1 {ms} x", "b: ZADD k:1 {ms} y", "a: EXEC", "b: EXEC"), nil},
		{"a look, and then a hit that counts itself", times(3,
			"a: ZCARD k:1", "b: ZCARD k:1",
			"a: MULTI", "a: ZADD k:1 {ms} x", "a: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "a: ZCARD k:1",
			"a: EXEC",
			"b: MULTI", "b: ZADD k:1 {ms} y", "b: ZREMRANGEBYSCORE k:1 0 {ms-60000}", "b: ZCARD k:1",
			"b: EXEC",
		), nil},
		{"a look, and then a counter that decides", times(3, "a: GET k:1", "b: GET k:1",
			"a: MULTI", "a: SET k:1 0 EX 60 NX", "a: INCR k:1", "a: EXEC",
			"b: MULTI", "b: SET k:1 0 EX 60 NX", "b: INCR k:1", "b: EXEC"), nil},
		{"in a script", times(3, trim, count, "b: ZCARD k:1",
			"a: EVAL redis.call('ZCARD',KEYS[1])redis.call('ZADD',KEYS[1],ARGV[1],'x') 1 k:1 {ms}",
			"b: EVAL redis.call('ZCARD',KEYS[1])redis.call('ZADD',KEYS[1],ARGV[1],'y') 1 k:1 {ms}"), nil},
		{"a hit long after a look", []string{
			trim, "a: ZCARD k:1", "b: ZADD k:1 {ms} y", "+1001", "a: ZADD k:1 {ms} x",
		}, nil},
		{"a queue of jobs with two workers", times(5, "a: ZCARD q", "b: ZCARD q", "a: ZADD q {ms} x",
			"b: ZADD q {ms} y"), nil},
		{
			"counters that stay", times(5, "a: GET views", "b: GET views", "a: INCR views", "b: INCR views"),
			nil,
		},

		// keys-in-a-loop
		{"KEYS every second", times(12, "a: KEYS k:17*", "+1000"), []string{"keys-in-a-loop 12 k:* keys a"}},
		{
			"in a script", times(10, "a: EVAL redis.call('KEYS','*') 0"),
			[]string{"eval-each-time 10  eval a", "keys-in-a-loop 10 * keys (script) a"},
		},
		{"KEYS at a prompt", times(30, "a: KEYS *", "+7000"), nil},
		{"SCAN", times(30, "a: SCAN 0"), nil},

		// eval-each-time
		{"the text each time", times(11, "a: EVAL return~1 1 k:1"), []string{"eval-each-time 11 k:* eval a"}},
		{"EVAL_RO", times(11, "a: EVAL_RO return~1 1 k:1"), []string{"eval-each-time 11 k:* eval_ro a"}},
		{"by digest", append(times(5, "a: EVAL return~1 1 k:1"),
			times(30, "a: EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 k:1")...), nil},
		{"after NOSCRIPT", times(30, "a: SCRIPT FLUSH",
			"a: EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 k:1", "a: EVAL return~1 1 k:1"), nil},
		{"once on each connection", func() (lines []string) {
			for i := range 30 {
				lines = append(lines, fmt.Sprintf("a%d: EVAL return~1 1 k:1", i))
			}
			return lines
		}(), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScene(t)
			w.run(c.lines...)
			require.Equal(t, c.want, w.found())
		})
	}
}

// TestDoctorCounters is TestDoctorScenes for counters, whose deadlines are missed by ticks.
func TestDoctorCounters(t *testing.T) {
	const lost = "counter-without-expiry 1 limit:* incr a"
	good := []string{"a: INCR limit:7", "a: EXPIRE limit:7 60"}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"a lost EXPIRE", append(good, "a: INCR limit:8", "+1001"), []string{lost}},
		{
			"of a counter that goes on", append(good, "a: INCR limit:8", "+2000", "b: INCR limit:8", "+2000"),
			[]string{lost},
		},
		{
			"INCRBY", append(good, "b: INCRBY limit:8 5", "+1001"),
			[]string{"counter-without-expiry 1 limit:* incrby b"},
		},
		{
			"SET removed the deadline", append(good, "a: SET limit:7 0", "a: INCR limit:7", "+1001"),
			[]string{lost},
		},
		{
			"of a slice of time",
			[]string{"a: INCR rate:340000000", "+1001"},
			[]string{"counter-without-expiry 1 rate:* incr a"},
		},
		{
			"in a script", append(good, "a: EVAL redis.call('INCR',KEYS[1]) 1 limit:8", "+1001"),
			[]string{"counter-without-expiry 1 limit:* incr (script) a"},
		},
		{"EXPIRE comes late", append(good, "a: INCR limit:8", "+900", "b: INCR limit:8", "+50",
			"a: EXPIRE limit:8 60", "+1001"), nil},
		{"in a script, with EXPIRE", append(good,
			"a: EVAL redis.call('INCR',KEYS[1])redis.call('EXPIRE',KEYS[1],60) 1 limit:8", "+1001"), nil},
		{
			"SET with a deadline before",
			append(good, "a: SET limit:8 0 EX 60 NX", "a: INCR limit:8", "+1001"),
			nil,
		},
		{"deleted", append(good, "a: INCR limit:8", "a: DEL limit:8", "+1001"), nil},
		{"counters that stay", []string{
			"a: INCR views:1", "a: INCR views:1", "a: INCR views:2", "+1001",
			"a: INCR views:1",
		}, nil},
		{"other patterns", append(good, "a: INCR total:8", "+1001"), nil},
		{"a slice of time, with EXPIRE", []string{
			"a: INCR rate:340000000", "a: PEXPIRE rate:340000000 6000",
			"+1001",
		}, nil},
		{"too early to say", append(good, "a: INCR limit:8", "+1000"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScene(t)
			w.run(c.lines...)
			w.sweep()
			require.Equal(t, c.want, w.found())
			w.sweep()
			require.Equal(t, c.want, w.found(), "each counter is counted once")
		})
	}
}

// TestDoctorCommand: RL.DOCTOR, its subcommands, and what the directive does.
func TestDoctorCommand(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	merge := func() { do(s, fmt.Sprint("ZADD k ", startNowMs, " ", startNowMs)) }
	merge()
	merge()
	require.Equal(t, "ERR the doctor is off: CONFIG SET rl-doctor yes", do(s, "RL.DOCTOR"))
	require.Equal(t, "OK", do(s, "CONFIG SET rl-doctor yes"))
	require.Equal(t, "[]", do(s, "RL.DOCTOR"))
	merge()
	want := fmt.Sprintf("[problem merged-hits count 1 pattern k command zadd client 127.0.0.1 "+
		"first_ms %d last_ms %[1]d advice ", int64(startNowMs))
	require.Contains(t, do(s, "RL.DOCTOR"), want)
	require.Equal(t, "OK", do(s, "CONFIG SET rl-doctor no"))
	merge()
	require.Contains(t, do(s, "RL.DOCTOR"), want, "findings stay")
	require.Equal(t, "OK", do(s, "RL.DOCTOR RESET"))
	require.Equal(t, "ERR the doctor is off: CONFIG SET rl-doctor yes", do(s, "RL.DOCTOR"))
	require.Contains(t, do(s, "RL.DOCTOR HELP"), "RESET")
	require.Equal(t, "ERR unknown subcommand 'x'. Try RL.DOCTOR HELP.", do(s, "RL.DOCTOR x"))
	require.Equal(t, "ERR wrong number of arguments for 'rl.doctor|reset' command",
		do(s, "RL.DOCTOR RESET x"))
	require.Contains(t, do(s, "EVAL redis.call('RL.DOCTOR') 0"), "not allowed from script")

	total := func() int64 {
		for _, f := range e.Figures().Doctor {
			if f.Problem == "merged-hits" {
				return f.Count
			}
		}
		return -1
	}
	require.EqualValues(t, 1, total(), "RESET keeps totals")
	require.Equal(t, "OK", do(s, "CONFIG RESETSTAT"))
	require.Zero(t, total())
}

// TestDoctorIsBounded checks that the number of findings is bounded for any commands.
func TestDoctorIsBounded(t *testing.T) {
	w := newScene(t)
	merged := 0
	for i := range 600 {
		letters := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		name := fmt.Sprint("client", letters)
		w.run(name+": ZADD k:"+letters+" {ms} {ms}", name+": ZADD k:"+letters+" {ms} {ms}")
		merged++
	}
	found := w.found()
	require.Len(t, found, 129)
	require.Equal(t, "merged-hits 472 * zadd *", found[0])
	sum := 0
	for _, f := range found {
		n, err := strconv.Atoi(strings.Fields(f)[1])
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, merged, sum)
	require.Less(t, w.e.MemoryUse().Doctor, int64(1_300_000))
	do(newSession(t, w.e), "CONFIG SET rl-doctor no")
	do(newSession(t, w.e), "RL.DOCTOR RESET")
	require.Zero(t, w.e.MemoryUse().Doctor)
}
