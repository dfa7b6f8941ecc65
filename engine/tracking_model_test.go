package engine_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

var trackingSeed = flag.Uint64("tracking-seed", 0,
	"the seed of the model tests of CLIENT TRACKING; 0: another one each time")

// A tracker is a cacher that reads and changes random keys. Its mode decides what it may
// cache.
type tracker struct {
	*cacher
	rnd   *rand.Rand
	mode  string
	walks bool
}

var trackedKeys = []string{"a", "b", "c", "p:1", "p:2", "q:1", "list", "log"}

// track chooses a mode and clears the cache.
func (t *tracker) track(redirect *cacher) {
	modes := []string{
		"", "NOLOOP", "OPTIN", "OPTOUT NOLOOP", "BCAST", "BCAST PREFIX p: PREFIX a",
		"BCAST NOLOOP PREFIX q: PREFIX li",
	}
	t.ask("CLIENT TRACKING OFF")
	clear(t.cache)
	t.mode = modes[t.rnd.IntN(len(modes))]
	line := "CLIENT TRACKING ON " + t.mode
	if redirect != nil && t.rnd.IntN(2) == 0 {
		line += " REDIRECT " + redirect.id
	}
	require.Equal(t.t, "OK", t.ask(line))
}

func (t *tracker) is(word string) bool { return strings.Contains(" "+t.mode+" ", " "+word+" ") }

// covers reports whether a client of this mode is sent invalidations of a key.
func (t *tracker) covers(key string) bool {
	prefixes := strings.Split(t.mode, "PREFIX ")[1:]
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes,
		func(p string) bool { return strings.HasPrefix(key, strings.TrimSpace(p)) })
}

func (t *tracker) key() string { return trackedKeys[t.rnd.IntN(len(trackedKeys))] }

// keep caches a reply if the mode allows it.
func (t *tracker) keep(key string, reply any) {
	if t.covers(key) {
		t.cache[key] = cached(reply)
	}
}

// writes removes the keys of an own command from the cache: with NOLOOP they are not
// invalidated.
func (t *tracker) writes(keys ...string) {
	for _, key := range keys {
		delete(t.cache, key)
	}
}

// step is one command, or a transaction.
func (t *tracker) step() {
	key, other := t.key(), t.key()
	switch n := t.rnd.IntN(20); {
	case n < 6:
		t.readOne(key)
	case n < 7:
		t.readInScript(key, other)
	case n < 9:
		t.transaction(key, other)
	case n == 9 && t.walks:
		t.walk()
	default:
		t.write(key, other)
	}
}

// readOne reads a key, and caches it if CLIENT CACHING says that it is tracked.
func (t *tracker) readOne(key string) {
	tracked := !t.is("OPTIN")
	switch {
	case t.is("OPTIN") && t.rnd.IntN(3) > 0:
		require.Equal(t.t, "OK", t.ask("CLIENT CACHING YES"))
		tracked = true
	case t.is("OPTOUT") && t.rnd.IntN(3) == 0:
		require.Equal(t.t, "OK", t.ask("CLIENT CACHING NO"))
		tracked = false
	}
	t.writes(key)
	t.askArgs(args("DUMP "+key), func(reply any) {
		if tracked {
			t.keep(key, reply)
		}
	})
}

func (t *tracker) readInScript(key, other string) {
	if t.is("OPTIN") {
		t.ask("CLIENT CACHING YES")
	}
	const script = "local v = redis.call('dump', KEYS[1]) if ARGV[1] == 'w' then redis.call('set', " +
		"KEYS[2], 's'..ARGV[2]) end return v or false"
	write := t.rnd.IntN(2) == 0
	words := [][]byte{
		[]byte("EVAL"), []byte(script), []byte("2"), []byte(key), []byte(other), []byte("r"),
		t.value(),
	}
	t.writes(key, other)
	if write {
		words[5] = []byte("w")
	}
	t.askArgs(words, func(reply any) {
		if !write || key != other || !t.is("NOLOOP") {
			t.keep(key, reply)
		}
	})
}

func (t *tracker) transaction(key, other string) {
	if t.is("OPTIN") {
		t.ask("CLIENT CACHING YES")
	}
	t.ask("MULTI")
	t.ask("SET " + key + " " + string(t.value()))
	t.ask("DUMP " + key)
	t.ask("DUMP " + other)
	t.writes(key, other)
	t.askArgs(args("EXEC"), func(reply any) {
		t.keep(key, reply.([]any)[1])
		t.keep(other, reply.([]any)[2])
	})
}

// walk runs a command that may find keys expired.
func (t *tracker) walk() { t.ask([]string{"SCAN 0 COUNT 100", "RANDOMKEY", "KEYS *"}[t.rnd.IntN(3)]) }

func (t *tracker) value() []byte { return strconv.AppendInt(nil, t.rnd.Int64N(1_000_000), 10) }

// write is one command that may change keys.
func (t *tracker) write(key, other string) {
	v := string(t.value())
	lines := []string{
		"SET K V", "SET K V PX 40", "SET K V", "DEL K", "INCRBY K 7", "APPEND K x", "MSET K V O V",
		"RENAME K O", "COPY K O REPLACE",
		"PEXPIRE K 30", "PERSIST K", "GETDEL K", "GETEX K PX 20", "UNLINK K O", "SETRANGE K 0 V", "RPUSH K V",
		"LPOP K", "RL.ALLOW K 3 1s", "RL.RESET K",
		"SETNX K V", "MSETNX K V O V", "LMOVE K O LEFT RIGHT", "SADD K V", "ZADD K V m",
		"SUNIONSTORE K O", "FLUSHDB", "EXPIRE K -1", "SET K V KEEPTTL", "EVAL_K", "RESTORE_K", "MOVE_K",
		"SELECT_K",
	}
	line := strings.NewReplacer("K", key, "O", other, "V", v).Replace(lines[t.rnd.IntN(len(lines))])
	t.writes(key, other)
	switch name, _, _ := strings.Cut(line, "_"); name {
	case "EVAL":
		t.askArgs([][]byte{
			[]byte("EVAL"),
			[]byte("redis.call('set', KEYS[1], ARGV[1]) redis.call('get', KEYS[1]) return " +
				"redis.call('incr', KEYS[1])"), []byte("1"), []byte(key), []byte(v),
		}, nil)
	case "RESTORE":
		payload := t.Do(args("DUMP " + other)).Str()
		t.drain()
		if payload != "" {
			t.askArgs([][]byte{
				[]byte("RESTORE"), []byte(key), []byte("0"), []byte(payload),
				[]byte("REPLACE"),
			}, nil)
		}
	case "MOVE":
		t.ask("MOVE " + key + " 1")
	case "SELECT": // the same name elsewhere is the same to the table
		t.ask("SELECT 1")
		t.ask("SET " + key + " " + v)
		t.ask("SELECT 0")
	case "FLUSHDB":
		clear(t.cache)
		t.ask(line)
	default:
		t.ask(line)
	}
}

func seedOf(t *testing.T) uint64 {
	seed := *trackingSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-tracking-seed %d", seed)
	return seed
}

// TestTrackingIsSafe lets clients of every mode read, write, expire, flush and evict at
// random. After each step, once all have read their messages, no cache has a stale entry.
func TestTrackingIsSafe(t *testing.T) {
	rnd := rand.New(rand.NewPCG(seedOf(t), 1))
	e, hands := newEngine(t)
	observer := newSession(t, e)
	var trackers []*tracker
	for i := range 8 {
		tr := &tracker{cacher: newCacher(t, e, resp.RESP3), rnd: rnd, walks: true}
		var redirect *cacher
		if i%2 == 1 {
			redirect = newCacher(t, e, 2+i/2%2)
			redirect.mirror = tr.cacher
			redirect.Do(args("SUBSCRIBE __redis__:invalidate"))
			redirect.Deliver(nil)
		}
		tr.track(redirect)
		trackers = append(trackers, tr)
		if redirect != nil {
			trackers = append(trackers, &tracker{cacher: redirect, mode: "redirect"})
		}
	}
	caught := 0
	for step := range 40_000 {
		tr := trackers[rnd.IntN(len(trackers))]
		switch {
		case tr.mode == "redirect":
			continue
		case rnd.IntN(300) == 0:
			tr.track(nil)
		case rnd.IntN(500) == 0:
			observer.Do(args("CONFIG SET tracking-table-max-keys " +
				[]string{"0", "1", "2", "5"}[rnd.IntN(4)]))
		}
		tr.step()
		hands.pass(rnd.Int64N(4))
		if rnd.IntN(20) == 0 {
			e.Tick()
		}
		if rnd.IntN(20) > 0 {
			continue
		}
		e.Reclaim()
		for _, c := range trackers {
			c.drain()
		}
		for _, c := range trackers {
			caught += len(c.cache)
			require.NoError(t, c.stale(observer), "step %d, mode %q", step, c.mode)
		}
	}
	require.Greater(t, caught, 3_000, "there was something to be wrong")
}

// TestTrackingIsSafeTogether is the same with concurrent clients: at the end every cache
// agrees with the keyspace.
func TestTrackingIsSafeTogether(t *testing.T) {
	const rounds, most, clients, steps = 12, 1200, 6, 250
	seed := seedOf(t)
	e, _ := newEngine(t)
	observer := newSession(t, e)
	caught := 0
	for round := 0; round < rounds || caught <= rounds; round++ { // until there was something to be wrong
		require.Less(t, round, most, "hardly anything is ever in a cache")
		observer.Do(args("CONFIG SET tracking-table-max-keys " + []string{"1000000", "3"}[round%2]))
		var trackers []*tracker
		var work sync.WaitGroup
		for i := range clients {
			tr := &tracker{
				cacher: newCacher(t, e, resp.RESP3),
				rnd:    rand.New(rand.NewPCG(seed, uint64(round*clients+i))),
			}
			tr.track(nil)
			trackers = append(trackers, tr)
			work.Go(func() {
				for range steps {
					tr.step()
				}
			})
		}
		work.Wait()
		for _, tr := range trackers {
			tr.drain()
			caught += len(tr.cache)
			require.NoError(t, tr.stale(observer), "round %d, mode %q", round, tr.mode)
			tr.Close()
		}
	}
	e.Tick()
	require.Equal(t, []string{"0", "0", "0"}, trackingFigures(t, observer))
}

// trackingFigures are tracking_clients, tracking_total_keys and _items of INFO.
func trackingFigures(t *testing.T, s *engine.Session) []string {
	t.Helper()
	var out []string
	for _, name := range []string{"tracking_clients", "tracking_total_keys", "tracking_total_items"} {
		info := s.Do(args("INFO everything")).Str()
		_, rest, ok := strings.Cut(info, "\r\n"+name+":")
		require.True(t, ok, name)
		value, _, _ := strings.Cut(rest, "\r\n")
		out = append(out, value)
	}
	return out
}
