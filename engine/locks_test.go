package engine

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// newLogged returns an engine whose clock stands still and whose scripts call log by
// redis.log.
func newLogged(t testing.TB, log func(text string)) *Engine {
	t.Helper()
	now := func() int64 { return 1_700_000_000_000_000 }
	return New(Options{Clock: clock.New(clock.Sources{Monotonic: now, Wall: now}), Log: logging.Func(log)})
}

func open(t testing.TB, e *Engine) *Session {
	t.Helper()
	s := e.NewSession(Peer{})
	t.Cleanup(s.Close)
	return s
}

func send(s *Session, words ...string) resp.Value {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return s.Do(args)
}

// heldShards returns the shards that are locked now.
func heldShards(e *Engine) (held store.ShardSet) {
	for shard := store.ShardSet(1); shard != 0; shard <<= 1 {
		if e.store.TryLock(shard) {
			e.store.Unlock(shard)
		} else {
			held |= shard
		}
	}
	return held
}

func shardsOf(keys ...string) (set store.ShardSet) {
	for _, k := range keys {
		set |= store.ShardOf([]byte(k))
	}
	return set
}

const (
	provenScript   = "redis.log(3, 'here') return redis.call('mget', unpack(KEYS)) and 1"
	unprovenScript = "redis.log(3, 'here') return redis.call('mget', 'a') and 1"
	noKeysScript   = "redis.log(3, 'here') return 1"
)

// TestShardsOfScripts checks, from within a script, which shards are locked.
func TestShardsOfScripts(t *testing.T) {
	var e *Engine
	var seen []store.ShardSet
	e = newLogged(t, func(string) { seen = append(seen, heldShards(e)) })
	s := open(t, e)
	sha := func(source string) string { return strings.Clone(send(s, "SCRIPT", "LOAD", source).Str()) }
	proven, unproven := sha(provenScript), sha(unprovenScript)
	for _, tc := range []struct {
		name string
		want store.ShardSet
		call []string
	}{
		{"EVAL", shardsOf("a", "b"), []string{"EVAL", provenScript, "2", "a", "b", "c"}},
		{"EVAL of a new script", shardsOf("a"), []string{"EVAL", provenScript + " + 0", "1", "a"}},
		{"EVALSHA", shardsOf("a"), []string{"EVALSHA", proven, "1", "a", "b"}},
		{"EVAL_RO", shardsOf("b"), []string{"EVAL_RO", provenScript, "1", "b"}},
		{"EVALSHA_RO", shardsOf("a", "b", "c"), []string{"EVALSHA_RO", proven, "3", "a", "b", "c"}},
		{"a key twice", shardsOf("a"), []string{"EVALSHA", proven, "2", "a", "a"}},
		{"without keys", 0, []string{"EVAL", noKeysScript, "0", "a"}},
		{"not proven", store.AllShards, []string{"EVAL", unprovenScript, "1", "a"}},
		{"not proven, by digest", store.AllShards, []string{"EVALSHA", unproven, "1", "a"}},
	} {
		seen = nil
		require.EqualValues(t, 1, send(s, tc.call...).Int(), tc.name)
		require.Equal(t, []store.ShardSet{tc.want}, seen, tc.name)

		seen = nil
		send(s, "MULTI")
		send(s, "GET", "z")
		send(s, tc.call...)
		require.EqualValues(t, 1, send(s, "EXEC").Elems()[1].Int(), tc.name)
		require.Equal(t, []store.ShardSet{tc.want | shardsOf("z")}, seen, "%s in EXEC", tc.name)
		require.Zero(t, heldShards(e), tc.name)
	}
	send(s, "SCRIPT", "FLUSH")
	require.Contains(t, send(s, "EVALSHA", proven, "1", "a").Str(), "NOSCRIPT")

	seen = nil
	send(s, "MULTI")
	send(s, "SCRIPT", "LOAD", provenScript)
	send(s, "EVALSHA", proven, "1", "a")
	require.EqualValues(t, 1, send(s, "EXEC").Elems()[1].Int())
	require.Equal(t, []store.ShardSet{store.AllShards}, seen, "what is loaded on the way is not known before")

	seen = nil
	send(s, "SCRIPT", "FLUSH")
	send(s, "MULTI")
	send(s, "EVAL", provenScript, "1", "a")
	send(s, "DISCARD")
	require.Zero(t, send(s, "SCRIPT", "EXISTS", proven).Elems()[0].Int(), "DISCARD compiles nothing")
	restarts, breaches := e.scripts.LockViolations()
	require.Zero(t, restarts+breaches)
}

// elsewhere returns a key in a shard of none of the others.
func elsewhere(keys ...string) string {
	for i := 0; ; i++ {
		if k := "k" + strconv.Itoa(i); shardsOf(k)&shardsOf(keys...) == 0 {
			return k
		}
	}
}

// TestStoppedScriptDelaysNoOtherShard stops a proven script halfway while other clients
// use other shards.
func TestStoppedScriptDelaysNoOtherShard(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	e := newLogged(t, func(string) {
		close(inside)
		<-goOn
	})
	first, other := open(t, e), open(t, e)
	done := make(chan int64)
	go func() {
		done <- send(first, "EVAL",
			"local n = redis.call('incr', KEYS[1]) redis.log(3, 'here') return n + redis.call('incr', "+
				"KEYS[1])", "1", "a").Int()
	}()
	<-inside
	k := elsewhere("a")
	require.EqualValues(t, 1, send(other, "INCR", k).Int())
	require.EqualValues(t, 2, send(other, "EVAL", "return redis.call('incr', KEYS[1])", "1", k).Int())
	send(other, "MULTI")
	send(other, "EVAL", "return redis.call('incr', KEYS[1])", "1", k)
	require.EqualValues(t, 3, send(other, "EXEC").Elems()[0].Int())
	close(goOn)
	require.EqualValues(t, 3, <-done)
	require.EqualValues(t, 2, send(other, "GET", "a").Int())
}

// TestScriptsMoveWhatThereIs runs scripts that move units between two keys, while others
// sum them: the sum stays.
func TestScriptsMoveWhatThereIs(t *testing.T) {
	const keys, clients, rounds = 40, 6, 150
	e := newLogged(t, nil)
	setup := open(t, e)
	for i := range keys {
		send(setup, "SET", fmt.Sprint("k", i), "100")
	}
	const move = "redis.call('decrby', KEYS[1], ARGV[1]) return redis.call('incrby', KEYS[2], ARGV[1])"
	const moveUnproven = "local a, b = KEYS[1] .. '', KEYS[2] .. '' redis.call('decrby', a, ARGV[1]) " +
		"return redis.call('incrby', b, ARGV[1])"
	const sum = "local n = 0 for i = 1, #KEYS do n = n + redis.call('get', KEYS[i]) end return n"
	all := []string{"EVAL", sum, strconv.Itoa(keys)}
	for i := range keys {
		all = append(all, fmt.Sprint("k", i))
	}
	var wg sync.WaitGroup
	wrong := make(chan int64, clients)
	for g := range clients {
		s := open(t, e)
		wg.Go(func() {
			for i := range rounds {
				from, to := fmt.Sprint("k", (g*7+i)%keys), fmt.Sprint("k", (g*11+i*3)%keys)
				switch {
				case i%25 == 0:
					if n := send(s, all...).Int(); n != keys*100 {
						wrong <- n
						return
					}
				case i%11 == 0:
					send(s, "EVAL", moveUnproven, "2", from, to, "3")
				default:
					send(s, "EVAL", move, "2", from, to, "2")
				}
			}
		})
	}
	wg.Wait()
	close(wrong)
	require.Empty(t, wrong)
	require.EqualValues(t, keys*100, send(setup, all...).Int())
	restarts, breaches := e.scripts.LockViolations()
	require.Zero(t, restarts+breaches)
	require.Zero(t, heldShards(e))
}

// TestRetryHoldsEverything checks that a call that sets Retry runs again with every shard
// locked.
func TestRetryHoldsEverything(t *testing.T) {
	e := newLogged(t, nil)
	s := open(t, e)
	var held []store.ShardSet
	cmd := &commands.Command{
		Name: "x", Arity: 1,
		Locks: func(*commands.Ctx, [][]byte) store.ShardSet { return 0b101 },
		Handler: func(c *commands.Ctx) resp.Value {
			held = append(held, ^c.Unheld)
			require.Equal(t, ^c.Unheld, heldShards(e))
			c.Retry = c.Mode.Is(commands.MayRetry)
			return resp.Int(int64(len(held)))
		},
	}
	reply := keyspace{s}.execute(cmd, [][]byte{[]byte("x")})
	require.EqualValues(t, 2, reply.Int())
	require.Equal(t, []store.ShardSet{0b101, store.AllShards}, held)
	require.False(t, s.work.ctx.Retry)
	require.Zero(t, heldShards(e))
}
