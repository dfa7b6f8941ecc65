package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
)

// newFilled returns an engine with n keys of every type, a few of them large.
func newFilled(t testing.TB, keys int) (*Engine, *Session) {
	t.Helper()
	e := newLogged(t, nil)
	s := open(t, e)
	fill(s, keys)
	return e, s
}

// fillSmall adds n keys of every type, all of them small.
func fillSmall(s *Session, n int) {
	for i := range n {
		send(s, "SET", fmt.Sprint("s", i), fmt.Sprint(i))
		send(s, "ZADD", fmt.Sprint("z", i), fmt.Sprint(i), fmt.Sprint(i))
		if i%10 == 0 {
			send(s, "HSET", fmt.Sprint("h", i), "f", fmt.Sprint(i))
			send(s, "RPUSH", fmt.Sprint("l", i), "a", "b")
			send(s, "SADD", fmt.Sprint("u", i), "a", "b")
		}
	}
}

// fill adds n keys of every type, a few of them large.
func fill(s *Session, n int) {
	fillSmall(s, n)
	for i := range 3000 {
		n := strconv.Itoa(i)
		send(s, "ZADD", "large:log", strconv.Itoa(i*7), strconv.Itoa(i*7))
		send(s, "ZADD", "large:tree", n, "member:"+n)
		send(s, "RPUSH", "large:list", "element:"+n)
		send(s, "HSET", "large:hash", "field:"+n, n)
		send(s, "SADD", "large:set", "member:"+n)
	}
}

// TestASnapshotWhileCommandsRun runs commands of all kinds from within out, so between
// the steps of a walk.
func TestASnapshotWhileCommandsRun(t *testing.T) {
	race.OneGoroutine(t)
	const seed = 20
	t.Logf("seed %d", seed)
	const keys = 1000
	e, s := newFilled(t, keys)
	for round := range 4 {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		var want contents
		got := contents{}
		err := e.storage.Snapshot(nil, func() { want = contentsOf(e.store) }, func(k durable.Key) error {
			for range rng.IntN(5) {
				changeAtRandom(s, rng, keys)
			}
			return got.put(k)
		})
		require.NoError(t, err)
		require.Empty(t, got.differs(want))
	}
}

var changes = [][]string{
	{"SET", "s#", "x#"},
	{"APPEND", "s#", "+"},
	{"SETRANGE", "s#", "1", "y"},
	{"SETBIT", "s#", "9", "1"},
	{"BITFIELD", "s#", "INCRBY", "u8", "0", "1"},
	{"BITOP", "NOT", "s#", "s#"},
	{"DEL", "s#", "z#"},
	{"RENAME", "s#", "s#"},
	{"INCR", "c#"},
	{"ZADD", "z#", "#", "#"},
	{"ZADD", "z#", "#", "m#"},
	{"ZREM", "z#", "#"},
	{"COPY", "z#", "z#", "REPLACE"},
	{"HSET", "h#", "f", "#"},
	{"RPOPLPUSH", "l#", "l#"},
	{"RPUSH", "l#", "#"},
	{"SADD", "u#", "#"},
	{"SPOP", "u#"},
	{"EXPIRE", "s#", "100"},
	{"PERSIST", "s#"},
	{"RL.ALLOW", "r#", "5", "1m"},
	{"MOVE", "s#", "1"},
	{"SETEX", "s#", "10", "#"},
	{
		"EVAL", "redis.call('APPEND', KEYS[1], '!') redis.call('SET', 's'..ARGV[1], 'lua') return 1", "1",
		"s#",
		"#",
	},
	{"MULTI"},
	{"EXEC"},
	{"SWAPDB", "0", "1"},
	{"SWAPDB", "0", "1"},
}

// largeChanges are commands that change the large values.
var largeChanges = [][]string{
	{"ZADD", "large:log", "#", "#"},
	{"ZREMRANGEBYSCORE", "large:log", "#", "#"},
	{"ZREMRANGEBYRANK", "large:log", "0", "3"},
	{"RL.ALLOW", "large:log", "100000", "1m"},
	{"ZPOPMAX", "large:log"},
	{"ZREM", "large:log", "#"},
	{"ZADD", "large:tree", "#", "member:#"},
	{"ZREM", "large:tree", "member:#"},
	{"ZPOPMIN", "large:tree"},
	{"ZADD", "large:tree", "#", "new:#"},
	{"ZREMRANGEBYRANK", "large:tree", "#", "#"},
	{"ZRANK", "large:tree", "member:#"},
	{"RPUSH", "large:list", "#"},
	{"LPUSH", "large:list", "#"},
	{"LPOP", "large:list"},
	{"RPOP", "large:list"},
	{"LSET", "large:list", "#", "x"},
	{"LINSERT", "large:list", "BEFORE", "element:#", "y"},
	{"LREM", "large:list", "0", "element:#"},
	{"HSET", "large:hash", "field:#", "x#"},
	{"HDEL", "large:hash", "field:#"},
	{"HSET", "large:hash", "new:#", "#"},
	{"SADD", "large:set", "#"},
	{"SREM", "large:set", "member:#"},
}

func changeAtRandom(s *Session, rng *rand.Rand, keys int) {
	from, n := changes, keys
	if rng.IntN(3) == 0 {
		from, n = largeChanges, 3000
	}
	line := from[rng.IntN(len(from))]
	words := make([]string, len(line))
	for i, w := range line {
		if at := len(w) - 1; i > 0 && w[at] == '#' {
			w = w[:at] + strconv.Itoa(rng.IntN(n))
		}
		words[i] = w
	}
	send(s, words...)
}

// TestTheSumInEverySnapshotIsTheSame moves units between keys from several sessions, by
// every kind of atomic step, while snapshots are taken.
func TestTheSumInEverySnapshotIsTheSame(t *testing.T) {
	const keys, each = 40, 100
	e := newLogged(t, nil)
	s := open(t, e)
	for i := range keys {
		send(s, "SET", fmt.Sprint("n", i), fmt.Sprint(each))
		for j := range 5 {
			send(s, "RPUSH", fmt.Sprint("l", i), fmt.Sprint(i, j))
		}
	}
	const move = "redis.call('DECRBY', KEYS[1], ARGV[1]) return redis.call('INCRBY', KEYS[2], ARGV[1])"
	const moveAnywhere = "redis.call('DECRBY', 'n'..ARGV[1], 3) return redis.call('INCRBY', 'n'..ARGV[2], 3)"
	var done atomic.Bool
	var wg sync.WaitGroup
	for client := range 4 {
		s := open(t, e)
		rng := rand.New(rand.NewPCG(20, uint64(client)))
		wg.Go(func() {
			for !done.Load() {
				a, b := strconv.Itoa(rng.IntN(keys)), strconv.Itoa(rng.IntN(keys))
				switch rng.IntN(7) {
				case 0, 1:
					send(s, "MULTI")
					send(s, "DECRBY", "n"+a, "7")
					send(s, "INCRBY", "n"+b, "7")
					send(s, "EXEC")
				case 2:
					send(s, "EVAL", move, "2", "n"+a, "n"+b, "2")
				case 3:
					send(s, "EVAL", moveAnywhere, "0", a, b)
				case 4:
					send(s, "LMOVE", "l"+a, "l"+b, "LEFT", "RIGHT")
				case 5:
					send(s, "RENAMENX", "n"+a, "m"+a)
					send(s, "RENAMENX", "m"+a, "n"+a)
				case 6:
					send(s, "MULTI")
					send(s, "SWAPDB", "0", "3")
					send(s, "SWAPDB", "0", "3")
					send(s, "EXEC")
				}
			}
		})
	}
	for range 60 {
		units, elements := 0, 0
		err := e.storage.Snapshot(nil, func() {}, func(k durable.Key) error {
			if k.DB != 0 {
				return fmt.Errorf("%s in database %d", k.Name, k.DB)
			}
			if v, ok := k.Value.(*store.String); ok {
				n, _ := v.Int()
				units += int(n)
			} else {
				elements += k.Value.(interface{ Len() int }).Len()
			}
			return nil
		})
		if err != nil || units != keys*each || elements != keys*5 {
			done.Store(true)
			wg.Wait()
			require.NoError(t, err)
			require.Equal(t, []int{keys * each, keys * 5}, []int{units, elements})
		}
	}
	done.Store(true)
	wg.Wait()
}

func TestASnapshotWhoseOutFails(t *testing.T) {
	e, _ := newFilled(t, 100)
	broken := errors.New("broken")
	calls := 0
	err := e.storage.Snapshot(nil, func() {}, func(durable.Key) error { calls++; return broken })
	require.ErrorIs(t, err, broken)
	require.Equal(t, 1, calls, "the first error is the last call")
	require.Nil(t, e.store.Snapshot())
	requireWhole(t, e)
}

func requireWhole(t *testing.T, e *Engine) {
	t.Helper()
	var want contents
	got := contents{}
	require.NoError(t, e.storage.Snapshot(nil, func() { want = contentsOf(e.store) }, got.put))
	require.Empty(t, got.differs(want))
}

func TestASnapshotThatIsStopped(t *testing.T) {
	e, s := newFilled(t, 100)
	stop := make(chan struct{})
	err := e.storage.Snapshot(stop, func() {}, func(k durable.Key) error {
		select {
		case <-stop:
		default:
			close(stop)
		}
		return nil
	})
	require.ErrorIs(t, err, durable.ErrStopped)
	require.NotNil(t, e.store.Snapshot(), "its walk is not over")
	for i := range 100 {
		send(s, "APPEND", fmt.Sprint("s", i), "more")
	}
	requireWhole(t, e)
}

// TestASnapshotBehindAHeldShard checks that the walk waits for a locked shard only, that
// it can be stopped there, and that sessions that need other shards are served.
func TestASnapshotBehindAHeldShard(t *testing.T) {
	e, _ := newFilled(t, 10)
	held := store.ShardSet(1) << 40
	stop, began, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- e.storage.Snapshot(stop, func() { close(began) }, func(durable.Key) error {
			<-stop // so that the shard is held before the walk gets there
			return nil
		})
	}()
	<-began
	e.store.Lock(held)
	stopped := make(chan struct{})
	close(stopped)
	require.ErrorIs(t, e.storage.Snapshot(stopped, nil, nil), durable.ErrStopped, "another one waits")
	close(stop)
	require.ErrorIs(t, <-ended, durable.ErrStopped)
	require.Equal(t, held, heldShards(e))
	e.store.Unlock(held)
	requireWhole(t, e)
}

// TestASnapshotOfALargeKeyBehindAHeldShard checks the same while a large value that was
// handed out is read to its end, for which all shards are locked.
func TestASnapshotOfALargeKeyBehindAHeldShard(t *testing.T) {
	const first, large, held = 0, 1, store.ShardSet(1) << 63
	e := newLogged(t, nil)
	s := open(t, e)
	send(s, "SET", keyIn(first), "small")
	for i := range 3000 {
		send(s, "HSET", keyIn(large), strconv.Itoa(i), "value")
	}
	stop, locked, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		hold := sync.OnceFunc(func() { e.store.Lock(held); close(locked) })
		ended <- e.storage.Snapshot(stop, func() {}, func(durable.Key) error { hold(); return nil })
	}()
	<-locked
	for heldShards(e) != store.AllShards {
		runtime.Gosched()
	}
	close(stop)
	require.ErrorIs(t, <-ended, durable.ErrStopped)
	require.Equal(t, held, heldShards(e))
	e.store.Unlock(held)
	requireWhole(t, e)
}

// keyIn returns a key of a shard.
func keyIn(shard int) string {
	for i := 0; ; i++ {
		if k := fmt.Sprint("key", i); store.ShardOf([]byte(k)) == 1<<shard {
			return k
		}
	}
}
