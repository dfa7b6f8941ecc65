package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// A forwarding is a cluster with a plain client of each of its two gateways.
type forwarding struct {
	*rig
	a, b *redis.Client
	tags []string // of a slot of each master
}

// TestForwarded: everything that gateways pass on, about keys of every master.
func TestForwarded(t *testing.T) {
	t.Parallel()
	f := &forwarding{rig: startRig(t, nodes.Options{
		Masters: 3, Directives: []string{"notify-keyspace-events KEA"},
	}, patient, "upstream-split yes", "upstream-announce "+nodes.Announced)}
	f.a, f.b = plainClient(f.addrs()[0]), plainClient(f.addrs()[1])
	defer f.a.Close()
	defer f.b.Close()
	for _, third := range [][2]int64{{0, 5460}, {5461, 10921}, {10922, 16383}} {
		f.tags = append(f.tags, tagBetween(t, f.rig, third[0], third[1]))
	}
	t.Run("scripts", f.scripts)
	t.Run("transactions", f.transactions)
	t.Run("refused transactions", f.refusedTransactions)
	t.Run("channels", f.channels)
	t.Run("notifications", f.notifications)
	t.Run("blocking", f.blocking)
	t.Run("all keys", f.allKeys)
	t.Run("split", f.split)
	t.Run("cluster client", f.clusterClient)
}

// keys returns a key of each master.
func (f *forwarding) keys(name string) (keys []string) {
	for _, tag := range f.tags {
		keys = append(keys, fmt.Sprintf("%s:{%s}", name, tag))
	}
	return keys
}

// forget makes the nodes forget scripts, behind the gateways' backs.
func (f *forwarding) forget(t *testing.T) {
	t.Helper()
	for _, n := range f.Nodes {
		require.NoError(t, n.ScriptFlush(t.Context()).Err())
	}
}

// scripts: a gateway that was shown a script sends it to nodes that have forgotten it.
func (f *forwarding) scripts(t *testing.T) {
	ctx := t.Context()
	script := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	require.NoError(t, script.Eval(ctx, f.a, f.keys("s")[:1], 1).Err())
	for range 3 {
		f.forget(t)
		for i, key := range f.keys("s") {
			require.NoError(t, script.EvalSha(ctx, f.a, []string{key}, 1).Err(), "master %d", i)
			replies, err := f.a.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.EvalSha(ctx, script.Hash(), []string{key}, 1)
				return nil
			})
			require.NoError(t, err)
			require.Len(t, replies, 1)
		}
	}
	require.Equal(t, []any{"7", "6", "6"}, f.b.MGet(ctx, f.keys("s")...).Val())

	// The other one was shown nothing, until it was.
	f.forget(t)
	for _, key := range f.keys("s") {
		require.ErrorContains(t, script.EvalSha(ctx, f.b, []string{key}, 1).Err(), "NOSCRIPT")
	}
	require.Equal(t, []bool{false}, script.Exists(ctx, f.b).Val())
	require.NoError(t, script.Load(ctx, f.b).Err())
	f.forget(t)
	require.Equal(t, []bool{true}, script.Exists(ctx, f.b).Val())
	for _, key := range f.keys("s") {
		require.NoError(t, script.EvalSha(ctx, f.b, []string{key}, 1).Err())
	}
	require.NoError(t, f.b.ScriptFlush(ctx).Err())
	require.ErrorContains(t, script.EvalSha(ctx, f.b, f.keys("s")[:1], 1).Err(), "NOSCRIPT")
}

// transactions: WATCH, MULTI and EXEC about one slot.
func (f *forwarding) transactions(t *testing.T) {
	ctx := t.Context()
	for _, key := range f.keys("t") {
		for changed, by := range map[bool]*redis.Client{false: nil, true: f.b} {
			var replies []redis.Cmder
			err := f.a.Watch(ctx, func(tx *redis.Tx) (err error) {
				require.NoError(t, tx.Incr(ctx, key+":other").Err())
				if by != nil {
					require.NoError(t, by.Set(ctx, key, 1, 0).Err())
				}
				replies, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Set(ctx, key, 5, 0)
					p.LPush(ctx, key+":list", "e")
					p.Do(ctx, "RL.ALLOW", key+":limit", 9, "1h")
					return nil
				})
				return err
			}, key, key+":second")
			if changed {
				require.ErrorIs(t, err, redis.TxFailedErr)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, []any{int64(1), int64(9), int64(8), int64(0), int64(3_600_000)},
				replies[2].(*redis.Cmd).Val())
		}
		// Within one of the two runs only.
		require.EqualValues(t, 1, f.b.LLen(ctx, key+":list").Val())
		require.EqualValues(t, 1, f.b.ZCard(ctx, key+":limit").Val())
	}
}

// lines runs commands on a connection of their own, which may be left in a transaction, and returns what the
// last answers.
func lines(t *testing.T, addr string, all ...string) string {
	t.Helper()
	c := plainClient(addr)
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	var last string
	for _, line := range all {
		var words []any
		for _, word := range strings.Fields(line) {
			words = append(words, word)
		}
		reply, err := conn.Do(t.Context(), words...).Result()
		if last = fmt.Sprint(reply); err != nil {
			last = err.Error()
		}
	}
	return last
}

// refusedTransactions: keys of several slots, even of one master, are refused in Redis' words.
func (f *forwarding) refusedTransactions(t *testing.T) {
	const refusal = "CROSSSLOT Keys in request don't hash to the same slot"
	one := "x:{" + f.tags[0] + "}"
	master, err := f.Owner(t.Context(), one)
	require.NoError(t, err)
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	other := "" // another slot of the same master
	for i := 0; other == ""; i++ {
		slot, err := master.ClusterKeySlot(t.Context(), fmt.Sprint(i)).Result()
		require.NoError(t, err)
		if tag := fmt.Sprint(i); tag != f.tags[0] && slices.Contains(slots, int(slot)) {
			other = "x:{" + tag + "}"
		}
	}
	for _, row := range [][]string{
		{"MULTI", "SET " + one + " 1", "SET " + other + " 1", "EXEC"},
		{"MULTI", "SET " + one + " 1", "RENAME " + one + " " + other},
		{"WATCH " + one + " " + other},
		{"SINTERSTORE " + one + " " + other + " " + other},
		{"EVAL return{1} 2 " + one + " " + other},
		{"MSETNX " + one + " 1 " + other + " 1"},
	} {
		require.Equal(t, refusal, lines(t, nodes.Addr(master.Port), row...), row)
		require.Equal(t, refusal, lines(t, f.addrs()[0], row...), row)
	}
	const aborted = "EXECABORT Transaction discarded because of previous errors."
	queued := []string{"MULTI", "SET " + one + " 1", "RENAME " + one + " " + other, "EXEC"}
	require.Equal(t, aborted, lines(t, nodes.Addr(master.Port), queued...))
	require.Equal(t, aborted, lines(t, f.addrs()[0], queued...))
	// A client of Redis watches keys of several slots one after the other; a gateway has one connection
	// for them.
	require.Equal(t, refusal, lines(t, f.addrs()[0], "WATCH "+one, "WATCH "+other))
	require.Equal(t, refusal, lines(t, f.addrs()[0], "WATCH "+one, "MULTI", "SET "+other+" 1", "EXEC"))
	require.Equal(t, refusal, lines(t, f.addrs()[0], "MULTI", "RL.ALLOW "+one+"r 9 1h",
		"RL.ALLOW "+other+"r 9 1h", "EXEC"))
	require.Zero(t, f.a.Exists(t.Context(), one, other, one+"r", other+"r").Val())

	err = f.a.Do(t.Context(), "RL.MALLOW", 3, one, 9, "1h", one+"b", 9, "1h", other, 9, "1h").Err()
	require.EqualError(t, err, fmt.Sprintf("CROSSSLOT keys '%s' and '%s' are in different slots: give them "+
		"the same hash tag, as in {tag}%s and {tag}%s", one, other, one, other))
	err = f.a.Do(t.Context(), "RL.MRESERVE", 2, one, other, "TERM", 9, "1h", "TERM", 9, "1h",
		"HOLD", "1m", "ID", "x").Err()
	require.ErrorContains(t, err, fmt.Sprintf("CROSSSLOT keys '%s' and '%s' are in", one, other))
	require.Zero(t, f.a.Exists(t.Context(), one, other).Val())
}

// receive returns the next messages of a subscription, in any order.
func receive(t *testing.T, s *redis.PubSub, n int) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodes.Patience)
	defer cancel()
	for range n {
		m, err := s.ReceiveMessage(ctx)
		require.NoError(t, err, "after %v", all)
		all = append(all, strings.Join([]string{m.Pattern, m.Channel, m.Payload}, " "))
	}
	slices.Sort(all)
	return all
}

// subscribed waits for the confirmations of a subscription.
func subscribed(t *testing.T, s *redis.PubSub, n int) *redis.PubSub {
	t.Helper()
	t.Cleanup(func() { _ = s.Close() })
	for range n {
		_, err := s.Receive(t.Context())
		require.NoError(t, err)
	}
	return s
}

// channels: a message gets to subscribers of all gateways and of nodes, and one of a shard channel to
// no subscriber of the channel of that name.
func (f *forwarding) channels(t *testing.T) {
	ctx := t.Context()
	names := f.keys("c")
	channel := subscribed(t, f.a.Subscribe(ctx, names...), len(names))
	pattern := subscribed(t, f.b.PSubscribe(ctx, "c:*"), 1)
	shard := subscribed(t, f.a.SSubscribe(ctx, names[0]), 1)
	for _, name := range names[1:] { // one call has channels of one slot
		require.NoError(t, shard.SSubscribe(ctx, name))
	}
	subscribed(t, shard, len(names)-1)
	publishers := []*redis.Client{f.a, f.b, f.Nodes[0].Client, f.Nodes[2].Client}
	for i, by := range publishers {
		for _, name := range names {
			require.NoError(t, by.Publish(ctx, name, fmt.Sprint("all ", i)).Err())
			if i < 2 {
				require.NoError(t, by.SPublish(ctx, name, fmt.Sprint("shard ", i)).Err())
			}
		}
	}
	expect := func(pattern, text string, n int) (all []string) {
		for i := range n {
			for _, name := range names {
				all = append(all, fmt.Sprintf("%s %s %s %d", pattern, name, text, i))
			}
		}
		slices.Sort(all)
		return all
	}
	require.Equal(t, expect("", "all", len(publishers)), receive(t, channel, len(names)*len(publishers)))
	require.Equal(t, expect("c:*", "all", len(publishers)), receive(t, pattern, len(names)*len(publishers)))
	require.Equal(t, expect("", "shard", 2), receive(t, shard, 2*len(names)))
	require.Equal(t, map[string]int64{names[0]: 1}, f.a.PubSubNumSub(ctx, names[0]).Val())
	require.Equal(t, map[string]int64{names[0]: 1}, f.a.PubSubShardNumSub(ctx, names[0]).Val())
}

// notifications of keys come from every master.
func (f *forwarding) notifications(t *testing.T) {
	ctx := t.Context()
	space := subscribed(t, f.a.PSubscribe(ctx, "__keyspace@0__:n:*"), 1)
	event := subscribed(t, f.b.Subscribe(ctx, "__keyevent@0__:persist"), 1)
	var changes, persisted []string
	for _, key := range f.keys("n") {
		require.NoError(t, f.b.Set(ctx, key, 1, nodes.Patience).Err())
		require.NoError(t, f.a.Persist(ctx, key).Err())
		for _, what := range []string{"set", "expire", "persist"} {
			changes = append(changes, fmt.Sprintf("__keyspace@0__:n:* __keyspace@0__:%s %s", key, what))
		}
		persisted = append(persisted, " __keyevent@0__:persist "+key)
	}
	slices.Sort(changes)
	slices.Sort(persisted)
	require.Equal(t, changes, receive(t, space, len(changes)))
	require.Equal(t, persisted, receive(t, event, len(persisted)))
}

// blocking: clients of one gateway wait for elements that clients of the other add.
func (f *forwarding) blocking(t *testing.T) {
	ctx := t.Context()
	pops := []string{"BLPOP %s 0", "BZPOPMIN %s:z 0", "BLMOVE %[1]s:m %[1]s:to LEFT LEFT 0"}
	adds := []string{"RPUSH %s e", "ZADD %s:z 3 e", "RPUSH %s:m e"}
	want := []string{"[%s e]", "[%s:z e 3]", "e"}
	var calls sync.WaitGroup
	for _, key := range f.keys("b") {
		for i, pop := range pops {
			expected := want[i]
			if strings.Contains(expected, "%s") {
				expected = fmt.Sprintf(expected, key)
			}
			calls.Go(func() {
				if got := lines(t, f.addrs()[0], fmt.Sprintf(pop, key)); got != expected {
					t.Errorf("%s %s: %s", pop, key, got)
				}
			})
		}
	}
	for _, n := range f.Nodes {
		await(t, "clients wait", func() error {
			info, err := n.Info(ctx, "clients").Result()
			if err == nil && !strings.Contains(info, fmt.Sprintf("blocked_clients:%d\r\n", len(pops))) {
				return fmt.Errorf("%s: %s", n.Name, info)
			}
			return err
		})
	}
	for _, key := range f.keys("b") {
		for _, add := range adds {
			require.Equal(t, "1", lines(t, f.addrs()[1], fmt.Sprintf(add, key)))
		}
	}
	calls.Wait()
	for _, key := range f.keys("b") {
		require.Zero(t, f.b.Exists(ctx, key, key+":z", key+":m").Val())
		require.Equal(t, []string{"e"}, f.b.LRange(ctx, key+":to", 0, -1).Val())
		require.ErrorIs(t, f.a.BLPop(ctx, 1, key).Err(), redis.Nil) // its time is over at once
	}
}

// allKeys: commands about the keys of all masters.
func (f *forwarding) allKeys(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, f.a.FlushAll(ctx).Err())
	count := func() (n int64) {
		n, err := f.Count(ctx, "DBSIZE")
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	var want []string
	for i := range 100 {
		for _, key := range f.keys(fmt.Sprint("k:", i)) {
			want = append(want, key)
			require.NoError(t, f.a.Set(ctx, key, 1, 0).Err())
		}
	}
	for _, key := range f.keys("z") {
		require.NoError(t, f.a.ZAdd(ctx, key, redis.Z{Member: "e"}).Err())
	}
	slices.Sort(want)
	require.EqualValues(t, len(want)+3, f.b.DBSize(ctx).Val())
	require.EqualValues(t, len(want)+3, count())
	require.ElementsMatch(t, want, f.b.Keys(ctx, "k:*").Val())
	require.NotEmpty(t, f.b.RandomKey(ctx).Val())
	for name, scan := range map[string]*redis.ScanCmd{
		"k": f.b.Scan(ctx, 0, "k:*", 7), "z": f.b.ScanType(ctx, 0, "", 7, "zset"),
	} {
		found := map[string]bool{}
		all := scan.Iterator()
		for all.Next(ctx) {
			found[all.Val()] = true
		}
		require.NoError(t, all.Err())
		require.Len(t, found, map[string]int{"k": len(want), "z": 3}[name])
	}
	require.NoError(t, f.b.FlushDB(ctx).Err())
	require.Zero(t, count())
	require.Empty(t, f.a.Keys(ctx, "*").Val())
	require.ErrorIs(t, f.a.RandomKey(ctx).Err(), redis.Nil)
}

// split: calls about keys of several masters, as upstream-split says.
func (f *forwarding) split(t *testing.T) {
	ctx := t.Context()
	keys, more := f.keys("p"), f.keys("q")
	all := slices.Concat(keys, more)
	var pairs []any
	for i, key := range all {
		pairs = append(pairs, key, i)
	}
	require.NoError(t, f.a.MSet(ctx, pairs...).Err())
	require.Equal(t, []any{"5", "0", nil, "0", "3", "1", "2"},
		f.b.MGet(ctx, more[2], keys[0], "none", keys[0], more[0], keys[1], keys[2]).Val())
	require.EqualValues(t, 4, f.a.Exists(ctx, keys[0], keys[1], "none", keys[2], keys[0]).Val())
	require.EqualValues(t, 6, f.a.Touch(ctx, append(all, "none")...).Val())
	require.EqualValues(t, 3, f.a.Unlink(ctx, append(keys, "none")...).Val())
	require.EqualValues(t, 3, f.a.Del(ctx, append(all, "none")...).Val())
	require.EqualValues(t, 0, f.b.Exists(ctx, all...).Val())
	require.ErrorContains(t, f.a.MSetNX(ctx, pairs...).Err(), "CROSSSLOT")
	require.ErrorContains(t, f.a.Do(ctx, "MSET", keys[0], 1, keys[1]).Err(), "wrong number of arguments")
	// A key of another type is nil to MGET, in every part.
	require.NoError(t, f.a.LPush(ctx, keys[1], "e").Err())
	require.NoError(t, f.a.Set(ctx, keys[2], "v", 0).Err())
	require.Equal(t, []any{nil, nil, "v"}, f.a.MGet(ctx, keys...).Val())
}

// clusterClient: a client for clusters that is given one gateway finds both and takes them for the cluster.
func (f *forwarding) clusterClient(t *testing.T) {
	ctx := t.Context()
	for _, at := range f.addrs() {
		plain := plainClient(at)
		defer plain.Close()
		var named []string
		slots, err := plain.ClusterSlots(ctx).Result() //nolint:staticcheck // what clients of clusters ask
		require.NoError(t, err)
		next := 0
		for _, r := range slots {
			require.Equal(t, next, r.Start)
			next = r.End + 1
			require.Len(t, r.Nodes, 1)
			named = append(named, r.Nodes[0].Addr)
		}
		require.Equal(t, 16384, next)
		require.Equal(t, f.addrs(), named)
		id := plain.ClusterMyID(ctx).Val()
		require.Contains(t, plain.ClusterNodes(ctx).Val(), id+" "+at+"@0 myself,master")
		require.Equal(t, "OK", plain.ConfigResetStat(ctx).Val())
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: f.addrs()[:1]})
	defer c.Close()
	var mu sync.Mutex
	var masters []string
	require.NoError(t, c.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, c.Options().Addr)
		return nil
	}))
	require.ElementsMatch(t, f.addrs(), masters)
	for _, tag := range f.tags {
		key := "client:{" + tag + "}"
		require.NoError(t, c.Incr(ctx, key).Err())
		require.NoError(t, c.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, key)
				p.Expire(ctx, key, nodes.Patience)
				return nil
			})
			return err
		}, key))
		require.Equal(t, "2", f.b.Get(ctx, key).Val())
	}
	p := c.Pipeline()
	for i := range 30 {
		p.Incr(ctx, fmt.Sprint("spread:", i))
	}
	_, err := p.Exec(ctx)
	require.NoError(t, err)
	for _, g := range []*redis.Client{f.a, f.b} {
		require.Contains(t, g.Info(ctx, "commandstats").Val(), "cmdstat_incr:")
	}
}
