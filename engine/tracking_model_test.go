package engine_test

import (
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/grammar"
	"github.com/zlimit/zlimit/race"
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

	table *commands.Table
	nowMs func() int64
	named []string // keys of the command that is made
}

func newTracker(t *testing.T, e *engine.Engine, rnd *rand.Rand) *tracker {
	return &tracker{
		cacher: newCacher(t, e, resp.RESP3), rnd: rnd, table: e.Table(),
		nowMs: func() int64 { return e.Clock().NowUs() / 1000 },
	}
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

// trackedGrammar has the commands that write. Which keys they name is noted: with NOLOOP a client hears
// nothing of its own changes.
var trackedGrammar = func() *grammar.Grammar[*tracker] {
	usual := map[string]string{
		"list": "list", "zset": "log", "log": "log", "equal": "log", "window": "log", "lease": "log",
	}
	soon := func(t *tracker, args []string) string {
		if args[0] == "s" {
			return "1"
		}
		return strconv.Itoa(1 + t.IntN(40))
	}
	g, err := grammar.Load(grammar.Options[*tracker]{
		Families: []string{
			"zset", "hash", "set", "list", "string", "bits", "keys", "rl", "small",
		},
		Funcs: map[string]grammar.Func[*tracker]{
			"one": func(t *tracker, args []string) string {
				key := usual[args[0]]
				if key == "" || t.IntN(2) == 0 {
					key = t.key()
				}
				t.named = append(t.named, key)
				return key
			},
			"ttl": soon,
			"at": func(t *tracker, args []string) string {
				ms := t.nowMs() + int64(t.IntN(40))
				if args[0] == "s" {
					ms /= 1000
				}
				return strconv.FormatInt(ms, 10)
			},
		},
	})
	if err != nil {
		panic(err)
	}
	return g
}()

// IntN makes a tracker the dice of the grammar.
func (t *tracker) IntN(n int) int { return t.rnd.IntN(n) }

// notTracked are commands after which a cache may be stale: SWAPDB tells nobody, as BITFIELD does not if it
// fails but has made its string longer, and of FLUSHALL the client's own cache is not cleared here. SORT is
// not among the families: it converts a sorted set that it only reads, which DUMP shows.
var notTracked = []string{"swapdb", "bitfield", "flushall"}

// command returns a random command that writes to this database, and its keys.
func (t *tracker) command(table *commands.Table) (words [][]byte, keys []string) {
	families := slices.Sorted(maps.Keys(trackedGrammar.Families))
	for {
		t.named, words = nil, nil
		for _, w := range trackedGrammar.Command(t, families[t.IntN(len(families))]) {
			words = append(words, []byte(w))
		}
		cmd := table.Lookup(words[0])
		if cmd != nil && cmd.Writes(words) && !slices.Contains(notTracked, cmd.Name) {
			return words, t.named
		}
	}
}

// write is one command that may change keys, or a few.
func (t *tracker) write(key, other string) {
	v := string(t.value())
	switch n := t.IntN(16); {
	case n > 4:
		words, keys := t.command(t.table)
		t.writes(keys...)
		t.askArgs(words, nil)
		return
	case n == 0:
		t.writes(key)
		t.askArgs([][]byte{
			[]byte("EVAL"),
			[]byte("redis.call('set', KEYS[1], ARGV[1]) redis.call('get', KEYS[1]) return " +
				"redis.call('incr', KEYS[1])"), []byte("1"), []byte(key), []byte(v),
		}, nil)
	case n == 1:
		t.writes(key, other)
		if payload, ok := t.ask("DUMP " + other).(string); ok {
			t.askArgs([][]byte{
				[]byte("RESTORE"), []byte(key), []byte("0"), []byte(payload),
				[]byte("REPLACE"),
			}, nil)
		}
	case n == 2: // the same name elsewhere is the same to the table
		t.writes(key)
		t.ask("SELECT 1")
		t.ask("SET " + key + " " + v)
		t.ask("SELECT 0")
	case n == 3:
		t.writes(key)
		t.ask("MOVE " + key + " 1")
	case t.IntN(2) == 0:
		clear(t.cache)
		t.ask("FLUSHDB")
	default:
		t.writes(key)
		t.ask("DEL " + key)
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
	race.OneGoroutine(t)
	rnd := rand.New(rand.NewPCG(seedOf(t), 1))
	e, hands, observer := newServer(t)
	var trackers []*tracker
	for i := range 8 {
		tr := newTracker(t, e, rnd)
		tr.walks = true
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
	e, _, observer := newServer(t)
	caught := 0
	for round := 0; round < rounds || caught <= rounds; round++ { // until there was something to be wrong
		require.Less(t, round, most, "hardly anything is ever in a cache")
		observer.Do(args("CONFIG SET tracking-table-max-keys " + []string{"1000000", "3"}[round%2]))
		var trackers []*tracker
		var work sync.WaitGroup
		for i := range clients {
			tr := newTracker(t, e, rand.New(rand.NewPCG(seed, uint64(round*clients+i))))
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
	require.Equal(t, []string{"0", "0", "0"}, trackingFigures(observer))
}

// trackingFigures are tracking_clients, tracking_total_keys and _items of INFO.
func trackingFigures(s *engine.Session) []string {
	return []string{
		infoOf(s, "tracking_clients"), infoOf(s, "tracking_total_keys"), infoOf(s, "tracking_total_items"),
	}
}
