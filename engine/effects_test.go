package engine_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/grammar"
	"github.com/zlimit/zlimit/resp"
)

// newRecording returns an engine that records into a buffer.
func newRecording(t testing.TB) (*engine.Engine, *hands, *logBuffer) {
	e, h := newEngine(t)
	log := &logBuffer{}
	e.Record(log)
	return e, h, log
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
	e, _, s := newServer(t)
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
		dice := effectsDice{
			rand.New(rand.NewPCG(uint64(i), 9)), func() int64 { return startNowMs }, w.Table(),
		}
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
	for _, name := range effectsGrammar.CommandNames() {
		met[strings.ToLower(name)] = true
	}
	e, _ := newEngine(t)
	for _, row := range e.Table().All() {
		// which have a recording of their own
		if row.Flags&commands.Write != 0 && !strings.HasPrefix(row.Name, "restore") {
			require.True(t, met[row.Name], row.Name)
		}
	}
}

// withoutForm are the commands that write and that the grammar does not have, with the reasons.
var withoutForm = map[string]string{
	"restore-asking": "RESTORE as the source of a cluster's migration calls it",
}

// TestEveryWriterHasAForm checks that random commands can be every command that writes.
func TestEveryWriterHasAForm(t *testing.T) {
	names, err := grammar.AllCommandNames()
	require.NoError(t, err)
	e, _ := newEngine(t)
	var missing []string
	for _, row := range e.Table().All() {
		has := slices.Contains(names, strings.ToUpper(row.Name))
		if reason, excepted := withoutForm[row.Name]; excepted {
			require.False(t, has, "%s has a form: %s", row.Name, reason)
		} else if row.Flags&commands.Write != 0 && !has {
			missing = append(missing, row.Name)
		}
	}
	require.Empty(t, missing, "no file of grammar/ has a form of them")
}
