package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// effectsGrammar is the grammar of the random commands: words in braces are chosen for
// each use, see (*effectsDice).word.
var effectsGrammar = strings.Split(strings.TrimSpace(`
SET {s} {v}
SET {s} {v} EX {sec}
SET {s} {v} PX {ms}
SET {s} {v} PX {ms} NX GET
SET {s} {v} KEEPTTL GET
SET {s} {v} XX PXAT {at}
SET {s} {n}
SETEX {s} {sec} {v}
PSETEX {s} {ms} {v}
SETNX {s} {v}
MSET {s} {v} {s} {n}
MSETNX {s} {v} {s} {v}
GETSET {s} {v}
GETDEL {s}
GETEX {s}
GETEX {s} PX {ms}
GETEX {s} EX {sec}
GETEX {s} PXAT {at}
GETEX {s} PERSIST
APPEND {s} {v}
SETRANGE {s} {c} {v}
INCR {s}
INCRBY {s} {n}
DECRBY {s} {n}
INCRBYFLOAT {s} {f}
INCREX {s} BYINT {n} UBOUND 50 LBOUND -50 SATURATE PX {ms}
INCREX {s} BYINT {n} UBOUND 9 EX {sec} ENX
INCREX {s} BYFLOAT {f} PERSIST
INCREX {s} BYFLOAT {f} PXAT {at}
INCREX {s}
GET {s}
SETBIT {s} {c} 1
SETBIT {s} {c} 0
BITFIELD {s} SET u8 #{c} {n}
BITFIELD {s} OVERFLOW FAIL INCRBY u4 {c} {n} GET u8 0
BITFIELD {s} OVERFLOW SAT INCRBY i5 {c} {n}
BITOP XOR {s} {s} {s}
BITOP NOT {s} {s}
EXPIRE {any} {sec}
EXPIRE {any} {sec} NX
PEXPIRE {any} {ms}
PEXPIRE {any} {ms} GT
PEXPIRE {any} {ms} LT
PEXPIREAT {any} {at}
EXPIREAT {any} {c}
PERSIST {any}
DEL {any} {any}
UNLINK {any}
RENAME {any} {any}
RENAMENX {any} {any}
COPY {any} {any}
COPY {any} {any} REPLACE
COPY {any} {any} DB {db} REPLACE
MOVE {any} {db}
RANDOMKEY
EXISTS {any} {any}
TTL {any}
LPUSH {l} {v} {v}
RPUSH {l} {v} {v} {v}
RPUSHX {l} {v}
LPUSHX {l} {v}
LPOP {l}
RPOP {l} {c}
LINSERT {l} BEFORE {v} {v}
LSET {l} {i} {v}
LREM {l} {i} {v}
LTRIM {l} {i} {i}
LMOVE {l} {l} LEFT RIGHT
RPOPLPUSH {l} {l}
BLPOP {l} {l} 0
BRPOP {l} 0
BLMOVE {l} {l} RIGHT LEFT 0
BZPOPMIN {z} {z} 0
BZPOPMAX {z} 0
LMPOP 2 {l} {l} LEFT COUNT {c}
BLMPOP 0 2 {l} {l} RIGHT COUNT 2
BRPOPLPUSH {l} {l} 0
ZMPOP 2 {z} {z} MAX COUNT 2
BZMPOP 0 1 {z} MIN COUNT 3
SORT {l} ALPHA STORE {l}
SORT {t} BY s* ALPHA LIMIT 1 9 GET # GET s* STORE {l}
SORT {z} BY h*->a ALPHA DESC GET # STORE {l}
SORT {t} BY nosort STORE {l}
SORT {any} BY s* GET h*->a STORE {any}
SORT {l} BY nosort LIMIT 1 2 STORE {l}
SORT_RO {any} BY s*
SADD {t} {v} {v} {v}
SADD {t} {n} {n}
SREM {t} {v} {v}
SPOP {t}
SPOP {t} {c}
SMOVE {t} {t} {v}
SINTERSTORE {t} {t} {t}
SUNIONSTORE {t} {t} {t}
SDIFFSTORE {t} {t} {t}
HSET {h} {v} {v} {v} {n}
HSETNX {h} {v} {v}
HDEL {h} {v} {v}
HINCRBY {h} {v} {n}
HINCRBYFLOAT {h} {v} {f}
ZADD {z} {f} {v} {n} {v}
ZADD {z} NX {f} {v}
ZADD {z} XX GT CH {f} {v}
ZADD {z} INCR {f} {v}
ZINCRBY {z} {f} {v}
ZREM {z} {v} {v}
ZREMRANGEBYSCORE {z} {n} {n}
ZREMRANGEBYRANK {z} {i} {i}
ZREMRANGEBYLEX {z} [a (c
ZPOPMIN {z}
ZPOPMAX {z} {c}
ZUNIONSTORE {z} 2 {z} {t}
ZINTERSTORE {z} 2 {z} {z} WEIGHTS 2 3
ZDIFFSTORE {z} 2 {z} {z}
ZRANGESTORE {z} {z} 0 {i}
SWAPDB {db} {db}
SCAN 0 COUNT 100
RL.ALLOW {r} {lim} {w}
RL.ALLOW {r} {lim} {w}
RL.ALLOW {r} {lim} {w} {lim} {w} COST {c} ATMOST
RL.ALLOW {r} 1000 {w} COST {cost}
RL.ALLOW {r} {lim} {w} PEEK
RL.ALLOW {fx} {lim} {w} ALGO FIXED COST {c}
RL.ALLOW {g} {lim} {w} ALGO GCRA {lim}
RL.ALLOW {b} {lim} 1s ALGO BUCKETS 5 COST {c}
RL.ALLOW {b} 1000 1s ALGO BUCKETS 5
RL.ALLOW {g} {lim} 1s ALGO COUNTER COST {c}
RL.ALLOW {g} 1000 {w} ALGO COUNTER
CL.THROTTLE {g} {lim} {lim} 1 {c}
RL.MALLOW 2 {r} {lim} {w} {r} {lim} {w} COST {c}
RL.REFUND {rl} {c}
RL.REFUND {rl} 1
RL.ADOPT {rl}
RL.ADOPT {rl} BACK s
ZADD {rl} 1700000003 {id} 1700000003.5 {c}
RL.RESET {rl} {rl}
RL.RESERVE {r} {lim} {w} {c} HOLD {w} ID {id}
RL.SETTLE {r} {id} {c}
RL.SETTLE {r} {id} {cost}
RL.CANCEL {r} {id}
RL.ACQUIRE {q} {lim} LEASE {w} ID {id}
RL.RENEW {q} {id} LEASE {w}
RL.RELEASE {q} {id}
FLUSHDB
FCALL f 1 {s}
FUNCTION LOAD REPLACE {lib}
FUNCTION DELETE lib
`), "\n")

// effectsDice chooses commands.
type effectsDice struct {
	*rand.Rand
	nowMs func() int64
}

func (d *effectsDice) word(w string) string {
	name, ok := strings.CutPrefix(w, "{")
	if !ok {
		return w
	}
	switch name = name[:len(name)-1]; name {
	case "v":
		return string(rune('a' + d.IntN(6)))
	case "n":
		return strconv.Itoa(d.IntN(60) - 30)
	case "f":
		return strconv.FormatFloat(float64(d.IntN(400)-200)/8, 'g', -1, 64)
	case "i":
		return strconv.Itoa(d.IntN(8) - 4)
	case "c":
		return strconv.Itoa(d.IntN(5))
	case "cost":
		return strconv.Itoa(1 + d.IntN(400))
	case "lim":
		return strconv.Itoa(1 + d.IntN(8))
	case "sec":
		return strconv.Itoa(d.IntN(3))
	case "ms":
		return strconv.Itoa(1 + d.IntN(400))
	case "at":
		return strconv.FormatInt(d.nowMs()+int64(d.IntN(400)-20), 10)
	case "w":
		return []string{"40", "300ms", "1s", "2s"}[d.IntN(4)]
	case "db":
		return strconv.Itoa(d.IntN(3))
	case "id":
		return "id" + strconv.Itoa(d.IntN(3))
	case "lib":
		return "#!lua name=lib\nredis.register_function('f', function(k) return redis.call('SET', k[1], " +
			strconv.Itoa(d.IntN(9)) + ", 'PX', 100) end)"
	case "rl":
		name = []string{"r", "fx", "g", "b"}[d.IntN(4)]
	case "any":
		name = []string{"s", "l", "t", "h", "z", "r", "fx", "g", "b", "q"}[d.IntN(10)]
	default:
		if d.IntN(30) == 0 {
			return d.word("{any}")
		}
	}
	return name + strconv.Itoa(d.IntN(3))
}

func (d *effectsDice) command() (out [][]byte) {
	for _, w := range strings.Fields(effectsGrammar[d.IntN(len(effectsGrammar))]) {
		out = append(out, []byte(d.word(w)))
	}
	if string(out[0]) == "FLUSHDB" && d.IntN(20) > 0 {
		return d.command()
	}
	return out
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
	w.Engine, w.hands = newEngine(t)
	w.dice = effectsDice{rand.New(rand.NewPCG(seed, 7)), func() int64 { return w.Clock().NowUs() / 1000 }}
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
		do(s, "SELECT "+w.dice.word("{db}"))
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
	h.us = w.hands.us
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
	rounds, steps := 30, 400
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
