package engine_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

var memoryKeys = flag.Int("memory-keys", 8_000, "keys of each kind that TestUsedMemoryIsTheHeaps makes")

// memoryKinds make the i-th key of each kind, by one command or by two: {k} is its name, {n} a multiple
// of i, {m} a smaller number, and {x} a text as long as the rest of i by 300, plus 1.
var memoryKinds = map[string]string{
	"number":           "SET {k} 12345",
	"short string":     "SET {k} abc",
	"string of 100":    "SET {k} " + strings.Repeat("x", 100),
	"string of 5000":   "SET {k} " + strings.Repeat("x", 5000),
	"appended string":  "SET {k} a; APPEND {k} {x}",
	"string that ends": "SET {k} abc EX 1000",
	"long name":        "SET {k}" + strings.Repeat("n", 120) + " 1",
	"short list":       "RPUSH {k} one two three",
	"list of 200":      "RPUSH {k}" + numbered(200, " an-element-%d") + "; LTRIM {k} 20 -1",
	"intset":           "SADD {k} 1 2 3 4 5",
	"small set":        "SADD {k} one two three",
	"set of 300":       "SADD {k}" + numbered(300, " member:%d"),
	"small hash":       "HSET {k} tokens 10 stamp 1700000000000",
	"hash of 200":      "HSET {k}" + numbered(200, " field:%d value:%[1]d"),
	"log of one":       "RL.ALLOW {k} 10 60s",
	"log of many":      "ZADD {k}" + numbered(300, " 1700%03d000 1700%03[1]d000"),
	"packed zset":      "ZADD {k}" + numbered(20, " %d member:%[1]d"),
	"zset of 300":      "ZADD {k}" + numbered(300, " %d member:%[1]d"),
	"fixed window":     "RL.ALLOW {k} 10 60s ALGO FIXED",
	"gcra":             "RL.ALLOW {k} 10 60s ALGO GCRA 5",
	"buckets":          "RL.ALLOW {k} 10 60s ALGO BUCKETS 10",
	"one large set":    "SADD one {n}x",
	"one large list":   "RPUSH one {x}",
	"one large hash":   "HSET one f{n} v",
	"one large zset":   "ZADD one {m} m{n}",
	"one large log":    "ZADD one {n} {n}",
}

// memoryKind returns what makes the i-th key, by lines of memoryKinds. The words of a command are in one
// buffer, as the server has them: garbage of a few bytes would share the blocks of small values, and keep
// them whole.
func memoryKind(lines string, i int) (calls [][][]byte) {
	n := int64(i)
	for line := range strings.SplitSeq(lines, "; ") {
		b := make([]byte, 0, len(line)+400)
		for {
			text, rest, found := strings.Cut(line, "{")
			b = append(b, text...)
			if !found {
				break
			}
			switch rest[0] {
			case 'k':
				b = strconv.AppendInt(append(b, "key:"...), n+10_000_000, 10)
			case 'n':
				b = strconv.AppendInt(b, n*7919, 10)
			case 'm':
				b = strconv.AppendInt(b, n*7919%10007, 10)
			case 'x':
				b = append(b, strings.Repeat("x", 300)[:1+n%300]...)
			}
			line = rest[len("k}"):]
		}
		calls = append(calls, bytes.Fields(b))
	}
	return calls
}

// numbered returns the words, formatted with each number below n.
func numbered(n int, words string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, words, i)
	}
	return b.String()
}

func usedMemory(t *testing.T, s *engine.Session) int64 { return infoNumber(t, s, "used_memory") }

// heapNow returns the size of the heap without garbage, and without what pools hold for other tests.
func heapNow() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestUsedMemoryIsTheHeaps checks that used_memory grows with the heap, within a tenth,
// for keys of every kind, and that a flush takes it back at once.
func TestUsedMemoryIsTheHeaps(t *testing.T) {
	if race.Enabled {
		t.Skip("under the race detector the heap is another: tiny objects have blocks of their own")
	}
	for name, lines := range memoryKinds {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(t, "--rl-top", "no") // which outlives the keys
			s := newSession(t, e)
			keys := *memoryKeys
			if len(lines) > 1000 {
				keys = max(keys/20, 500)
			}
			fill := func(n int) {
				for i := range n {
					for _, call := range memoryKind(lines, i) {
						if reply := s.Do(call); reply.IsError() {
							t.Fatal(lines, reply.Str())
						}
					}
				}
			}
			fill(10) // what a session allocates once
			do(s, "FLUSHALL")
			do(s, "INFO memory")
			heap, used := heapNow(), usedMemory(t, s)
			fill(keys)
			grown, said := heapNow()-heap, usedMemory(t, s)-used
			t.Logf("%d bytes a key, used_memory says %d (%+.1f%%)", grown/int64(keys), said/int64(keys),
				100*float64(said-grown)/float64(grown))
			require.InEpsilon(t, grown, said, 0.1)
			do(s, "FLUSHALL")
			require.Equal(t, used, usedMemory(t, s), "the floor")
			runtime.KeepAlive(e)
		})
	}
}

// TestMemoryIsRightAfterAnything compares the running count with a recount, after random
// commands.
func TestMemoryIsRightAfterAnything(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 28))
		e, h, s := newServer(t, "--set-max-intset-entries", "10")
		for step := range 4000 {
			line := randomCall(r)
			do(s, line)
			h.pass(int64(r.IntN(30)))
			if step%100 == 0 {
				e.Reclaim()
			}
			counted, found := e.CountedMemory()
			require.Equal(t, found, counted, "seed %d, step %d: %s", seed, step, line)
		}
		do(s, "FLUSHALL")
		counted, _ := e.CountedMemory()
		require.Equal(t, store.Memory{}, counted)
	}
}

// memoryCalls change one of a few keys, in one of two databases: K is a key, N a small number, T a text; NN
// and TT are up to 60 of them.
var memoryCalls = strings.Split(`SET K T; SET K N; APPEND K T; INCR K; SETRANGE K N T; GETDEL K; MSET K a K T;
SETBIT K N 1; BITFIELD K SET u8 N 7; BITOP NOT K K; RPUSH K TT; LPUSH K NN; LPOP K N; RPOP K; LTRIM K N -N;
LINSERT K BEFORE N T; LREM K 0 N; LSET K 0 T; LMOVE K K LEFT RIGHT; SADD K NN; SADD K TT; SREM K NN;
SPOP K N; SMOVE K K N; SUNIONSTORE K K K; HSET K N T; HSET K T N; HDEL K NN; HINCRBY K N 7; ZADD K N T;
ZADD K 5 5 7 7 9 9; ZREM K TT; ZREMRANGEBYRANK K 0 N; ZUNIONSTORE K 2 K K; ZPOPMIN K N;
RL.ALLOW K 1000 60s COST N; RL.ALLOW K 1000 60s ALGO GCRA 5; RL.ALLOW K 1000 60s ALGO FIXED;
RL.ALLOW K 1000 60s ALGO BUCKETS 10; RL.RESET K; DEL K; RENAME K K; COPY K K REPLACE; MOVE K 1; SELECT 0;
SELECT 1; PEXPIRE K N; PEXPIREAT K 9223372036854775807; PERSIST K; SWAPDB 0 1; FLUSHDB;
EVAL redis.call('RPUSH',KEYS[1],ARGV[1]) 1 K T; GET K; TTL K`, ";")

func randomCall(r *rand.Rand) string {
	var words []string
	for _, word := range strings.Fields(memoryCalls[r.IntN(len(memoryCalls))]) {
		times := 1
		if word == "NN" || word == "TT" {
			word, times = word[:1], 1+r.IntN(60)
		}
		for range times {
			one := word
			switch word {
			case "K":
				one = "k" + strconv.Itoa(r.IntN(6))
			case "N", "-N":
				one = word[:len(word)-1] + strconv.Itoa(r.IntN(200))
			case "T":
				one = strings.Repeat("t", 1+r.IntN(120))
			}
			words = append(words, one)
		}
	}
	return strings.Join(words, " ")
}

// TestMemoryComparisonFails checks that an uncounted change of a value is found.
func TestMemoryComparisonFails(t *testing.T) {
	e, _, s := newServer(t)
	do(s, "APPEND k abc")
	e.EditUnseen("k", func(n *store.Node) { store.StringOf(n).Append(make([]byte, 1000)) })
	counted, found := e.CountedMemory()
	require.NotEqual(t, found, counted)
	do(s, "APPEND k x")
	counted, found = e.CountedMemory()
	require.Equal(t, found, counted, "the next change makes up for it")
}
