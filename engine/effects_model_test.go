package engine_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/grammar"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// effectsKinds are the kinds of keys of the grammar, with the names of their keys. There are few, so that
// commands meet.
var effectsKinds = map[string]string{
	"string": "s", "counter": "s", "fraction": "s", "list": "l", "set": "t", "hash": "h", "zset": "z",
	"log": "z", "equal": "x", "window": "r", "fixed": "f", "rate": "g", "buckets": "b", "lease": "q",
}

var effectsGrammar = func() *grammar.Grammar[*effectsDice] {
	g, err := grammar.Load(grammar.Options[*effectsDice]{
		Families: []string{
			"zset", "hash", "set", "list", "string", "bits", "keys", "sort", "rl", "blocking", "functions",
			"order", "small",
		},
		Funcs: map[string]grammar.Func[*effectsDice]{
			"one": func(d *effectsDice, args []string) string { return d.key(args[0]) },
			"ttl": func(d *effectsDice, args []string) string {
				if args[0] == "s" {
					return strconv.Itoa(d.IntN(3))
				}
				return strconv.Itoa(1 + d.IntN(400))
			},
			"at": func(d *effectsDice, args []string) string {
				at := d.nowMs() + int64(d.IntN(400)-20)
				if args[0] == "s" {
					at /= 1000
				}
				return strconv.FormatInt(at, 10)
			},
		},
	})
	if err != nil {
		panic(err)
	}
	return g
}()

// effectsFamilies are the families of commands, each as often as its share.
var effectsFamilies = func() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(effectsGrammar.Families)) {
		names = append(names, slices.Repeat([]string{name}, effectsGrammar.Families[name].Share)...)
	}
	return names
}()

// effectsDice chooses commands.
type effectsDice struct {
	*rand.Rand
	nowMs func() int64
	table *commands.Table
}

func (d *effectsDice) key(kind string) string {
	name := effectsKinds[kind]
	if kind == "any" {
		names := slices.Sorted(maps.Values(effectsKinds))
		name = names[d.IntN(len(names))]
	}
	return name + strconv.Itoa(d.IntN(3))
}

// command returns a command that may stand in a transaction or a script. Few of them only read.
func (d *effectsDice) command() [][]byte {
	for {
		var out [][]byte
		for _, w := range effectsGrammar.Command(d, effectsFamilies[d.IntN(len(effectsFamilies))]) {
			out = append(out, []byte(w))
		}
		if cmd := d.table.Lookup(out[0]); cmd == nil || cmd.Writes(out) || d.IntN(5) == 0 {
			return out
		}
	}
}

// script returns a script of several commands, which may fail halfway.
func (d *effectsDice) script() [][]byte {
	var b strings.Builder
	for range 1 + d.IntN(4) {
		call := d.command()
		fmt.Fprintf(&b, "redis.%s(", []string{"call", "pcall", "pcall"}[d.IntN(3)])
		for i, w := range call {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q", w)
		}
		b.WriteString(") ")
	}
	return [][]byte{[]byte("EVAL"), []byte(b.String()), []byte("0")}
}

// effectsWorld is an engine that records, and sessions that use it.
type effectsWorld struct {
	*engine.Engine
	dice     effectsDice
	hands    *hands
	log      *logBuffer
	sessions []*engine.Session
}

func newEffectsWorld(t testing.TB, seed uint64) *effectsWorld {
	w := &effectsWorld{log: &logBuffer{}}
	w.Engine, w.hands = newEngine(t, withPolicies...)
	w.dice = effectsDice{
		rand.New(rand.NewPCG(seed, 7)), func() int64 { return w.Clock().NowUs() / 1000 }, w.Table(),
	}
	w.Record(w.log)
	for range 3 {
		w.sessions = append(w.sessions, newSession(t, w.Engine))
	}
	return w
}

func (w *effectsWorld) step() {
	if w.dice.IntN(4) == 0 {
		w.hands.pass(int64(w.dice.IntN(60)))
	}
	if w.dice.IntN(40) == 0 {
		w.Tick()
	}
	s := w.sessions[w.dice.IntN(len(w.sessions))]
	if b := s.Blocked(); b != nil {
		if !b.Over() && w.dice.IntN(3) > 0 {
			return
		}
		b.TimeOut()
		s.Resume()
	}
	switch w.dice.IntN(12) {
	case 0:
		do(s, "MULTI")
		for range w.dice.IntN(5) {
			s.Do(w.dice.command())
		}
		do(s, []string{"EXEC", "EXEC", "EXEC", "DISCARD"}[w.dice.IntN(4)])
	case 1:
		s.Do(w.dice.script())
	case 2:
		do(s, "SELECT "+strconv.Itoa(w.dice.IntN(3)))
	default:
		s.Do(w.dice.command())
	}
}

// logged are the commands of a log: the text of each for a report, and its words.
func logged(t testing.TB, log []byte) (out [][]string) {
	for _, line := range logLines(t, log) {
		var words []string
		for _, w := range wordsOf(t, line) {
			words = append(words, string(w))
		}
		out = append(out, words)
	}
	return out
}

// reload returns an engine that has run the commands of a log.
func (w *effectsWorld) reload(t testing.TB, log [][]string) *engine.Session {
	s, refused := w.replay(t, log)
	require.Empty(t, refused)
	return s
}

// replay is reload; it stops at a command that is refused, and returns it.
func (w *effectsWorld) replay(t testing.TB, log [][]string) (s *engine.Session, refused string) {
	e, h := newEngine(t)
	h.us.Store(w.hands.us.Load())
	s = newSession(t, e)
	db := 0
	for _, words := range log {
		switch words[0] {
		case "MULTI", "EXEC":
			continue
		case "SELECT":
			db, _ = strconv.Atoi(words[1])
			continue
		}
		var args [][]byte
		for _, word := range words {
			args = append(args, []byte(word))
		}
		if reply := s.Replay(db, args); reply.IsError() {
			return s, fmt.Sprintf("%q: %s", words, reply.Str())
		}
	}
	return s, ""
}

// contents returns every key of every database that the tests use, and the functions.
func contents(s *engine.Session) []string {
	return contentsBy(func(line string) []string { return flat(s.Do(args(line))) })
}

// flat returns the words of a reply of any depth.
func flat(v resp.Value) (out []string) {
	switch v.Kind() {
	case resp.KindArray, resp.KindSet, resp.KindMap, resp.KindPush:
		for _, e := range v.Elems() {
			out = append(out, flat(e)...)
		}
		return out
	}
	return []string{show(v)}
}

func contentsBy(ask func(line string) []string) (out []string) {
	for db := range 3 {
		ask("SELECT " + strconv.Itoa(db))
		keys := ask("KEYS *")
		slices.Sort(keys)
		for _, k := range keys {
			kind := ask("TYPE " + k)[0]
			words := ask(fmt.Sprintf(map[string]string{
				"string": "GET %s", "list": "LRANGE %s 0 -1", "set": "SMEMBERS %s", "hash": "HGETALL %s",
				"zset": "ZRANGE %s 0 -1 WITHSCORES",
			}[kind], k))
			switch kind {
			case "set":
				slices.Sort(words)
			case "zset": // SORT, which is in no log, makes a set keep -0 where others store 0, as in Redis
				for i := 1; i < len(words); i += 2 {
					if words[i] == "-0" {
						words[i] = "0"
					}
				}
			case "hash":
				var pairs []string
				for i := 0; i < len(words); i += 2 {
					pairs = append(pairs, words[i]+"="+words[i+1])
				}
				slices.Sort(pairs)
				words = pairs
			}
			out = append(out, fmt.Sprintf("%d %s %s %s: %s", db, k, kind, ask("PEXPIRETIME " + k)[0],
				strings.Join(words, " ")))
		}
	}
	return append(out, ask("FUNCTION LIST WITHCODE")...)
}

// TestEffectsMakeTheSameKeyspace checks that the log of random commands, replayed on an
// empty keyspace, gives the same keyspace.
func TestEffectsMakeTheSameKeyspace(t *testing.T) {
	rounds, steps := 60, 400
	if testing.Short() || race.Enabled {
		rounds = 6
	}
	for seed := range uint64(rounds) {
		w := newEffectsWorld(t, seed)
		for range steps {
			w.step()
		}
		log := w.log.take()
		require.Equal(t, contents(newSession(t, w.Engine)), contents(w.reload(t, logged(t, log))), "seed %d",
			seed)
	}
}

// TestALostEffectIsNoticed checks that a log that lacks a command, or has it twice,
// mostly gives another keyspace. (Many keys are gone at the end.)
func TestALostEffectIsNoticed(t *testing.T) {
	w := newEffectsWorld(t, 1)
	for range 300 {
		w.step()
	}
	log := logged(t, w.log.take())
	want := contents(newSession(t, w.Engine))
	noticed, planted := 0, 0
	for i := len(log) - 60; i < len(log); i++ {
		switch log[i][0] {
		case "MULTI", "EXEC", "SELECT", "FUNCTION":
			continue
		}
		planted++
		s, refused := w.replay(t, slices.Delete(slices.Clone(log), i, i+1))
		if refused != "" || !slices.Equal(want, contents(s)) {
			noticed++
		}
	}
	require.Greater(t, noticed, planted/3, "of %d", planted)
	require.Equal(t, want, contents(w.reload(t, log)))
}

// TestRedisReadsOurLog checks that redis-server, where installed, loads the same
// keyspace.
func TestRedisReadsOurLog(t *testing.T) {
	race.OneGoroutine(t)
	if err := oracle.Find(); err != nil {
		t.Skip(err) // the tests need Go and nothing else; CI installs redis-server first
	}
	for seed := range uint64(8) {
		w := newEffectsWorld(t, seed)
		for range 400 {
			w.step()
		}
		if seed == 0 { // once is enough: redis-server takes seconds to read it
			do(newSession(t, w.Engine), "RL.ALLOW large 1000000 1h COST 100000")
		}
		w.Reclaim() // redis-server forgets what is overdue when it likes
		got := loadedByRedis(t, w.log.take(), w.dice.nowMs())
		require.Equal(t, contents(newSession(t, w.Engine)), got, "seed %d", seed)
	}
}

// loadedByRedis returns the contents of redis-server after it has loaded log.
func loadedByRedis(t *testing.T, log []byte, nowMs int64) []string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "appendonly.aof"), log, 0o600))
	r, err := oracle.Start(oracle.Options{NowMs: nowMs, Args: []string{"--dir", dir, "--appendonly", "yes"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	client := dialEffects(t, r.Addr())
	defer client.conn.Close()
	return contentsBy(func(line string) []string {
		client.send(t, args(line))
		return client.words(t)
	})
}
