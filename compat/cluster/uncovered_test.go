package cluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// An outage is slots that no master serves for a while. Those of the first third of all are among them, those
// of the last third are not.
type outage struct {
	name string
	// happen begins the outage, and end ends it.
	happen, end func(t *testing.T, r *rig)
	// covered and uncovered are how errors begin that callers of the two thirds see; "": they see none.
	covered, uncovered string
	// dead says that not all masters answer.
	dead bool
	// keeps says that keys of the first third are there afterwards.
	keeps bool
}

const (
	unserved = "CLUSTERDOWN Hash slot not served"
	down     = "CLUSTERDOWN The cluster is down"
	away     = "UPSTREAM 127.0.0.1:"
)

func takeHalf(t *testing.T, r *rig) {
	t.Helper()
	require.NoError(t, r.Uncover(t.Context(), 0, 8191))
}

func giveHalfBack(t *testing.T, r *rig) {
	t.Helper()
	require.NoError(t, r.Cover(t.Context(), r.Nodes[0], 0, 5460))
	require.NoError(t, r.Cover(t.Context(), r.Nodes[1], 5461, 8191))
}

func kill(n int) func(t *testing.T, r *rig) {
	return func(_ *testing.T, r *rig) {
		for _, n := range r.Nodes[:n] {
			n.Kill()
		}
	}
}

func startAgain(n int) func(t *testing.T, r *rig) {
	return func(t *testing.T, r *rig) {
		t.Helper()
		for _, n := range r.Nodes[:n] {
			require.NoError(t, n.Start())
		}
	}
}

// Masters without replicas, of which a third to two thirds are away, or which have no more than half of the
// slots.
var outages = map[string][]outage{
	"no": {
		{name: "half of the slots", happen: takeHalf, end: giveHalfBack, uncovered: unserved, keeps: true},
		{name: "a master", happen: kill(1), end: startAgain(1), uncovered: away, dead: true},
		{
			name: "most masters", happen: kill(2), end: startAgain(2), covered: down, uncovered: away,
			dead: true,
		},
	},
	"yes": {
		{
			name: "half of the slots", happen: takeHalf, end: giveHalfBack, covered: down,
			uncovered: unserved, keeps: true,
		},
		{name: "a master", happen: kill(1), end: startAgain(1), covered: down, uncovered: away, dead: true},
	},
}

// TestUncovered: what callers of slots see that nobody serves, and those of others; that
// upstream-failure applies to decisions, and that all is as before when the slots are served again.
func TestUncovered(t *testing.T) {
	t.Parallel()
	for coverage, all := range outages {
		t.Run("full coverage "+coverage, func(t *testing.T) {
			t.Parallel()
			r := startRig(t, nodes.Options{
				Masters: 3, NodeTimeout: 5 * time.Second,
				Directives: []string{"cluster-require-full-coverage " + coverage},
			}, "upstream-timeout 2000", "upstream-failure closed o: open l: local 2")
			for _, o := range all {
				t.Run(o.name, func(t *testing.T) { o.run(t, r) })
			}
		})
	}
}

// run brings the outage about, and ends it.
func (o outage) run(t *testing.T, r *rig) {
	first, last := tagBetween(t, r, 0, 5460), tagBetween(t, r, 10922, 16383)
	var clients []*redis.Client
	for _, addr := range r.addrs() {
		c := plainClient(addr)
		defer c.Close()
		clients = append(clients, c)
	}
	for _, tag := range []string{first, last} {
		require.NoError(t, clients[0].FlushAll(t.Context()).Err())
		requireServed(t, clients[0], tag)
	}
	keep := fmt.Sprintf("keep:{%s}", first)
	require.NoError(t, clients[0].Do(t.Context(), "RL.ALLOW", keep, 9, "1h", "COST", 4).Err())

	o.happen(t, r)
	if o.dead { // before the gateways have noticed it
		for _, c := range clients {
			requireWhole(t, c)
		}
	}
	for _, c := range clients {
		for tag, want := range map[string]string{first: o.uncovered, last: o.covered} {
			awaitAnswer(t, c, tag, want)
		}
		for tag, want := range map[string]string{first: o.uncovered, last: o.covered} {
			if want == "" {
				requireServed(t, c, tag)
				continue
			}
			requireUnserved(t, c, tag, want)
			requireNoRepeats(t, c, tag)
		}
		requireAny(t, c)
	}

	o.end(t, r)
	require.NoError(t, r.AwaitReady(t.Context()))
	for _, c := range clients {
		for _, tag := range []string{first, last} {
			awaitAnswer(t, c, tag, "")
			requireServed(t, c, tag)
		}
		if o.keeps {
			reply, err := c.Do(t.Context(), "RL.ALLOW", keep, 9, "1h", "PEEK").Slice()
			require.NoError(t, err)
			require.EqualValues(t, 5, reply[2])
		}
		await(t, "decisions are no longer degraded", func() error {
			if since := infoField(t, c, "degraded_since"); since != "0" {
				return errors.New("degraded since " + since)
			}
			return nil
		})
		require.Equal(t, "ok", infoField(t, c, "state"))
		require.Equal(t, "16384", infoField(t, c, "slots"))
	}
}

// tagBetween returns a hash tag whose slot is between two.
func tagBetween(t *testing.T, r *rig, first, last int64) string {
	t.Helper()
	for i := 0; ; i++ {
		tag := fmt.Sprint(i)
		slot, err := r.Nodes[2].ClusterKeySlot(t.Context(), tag).Result()
		require.NoError(t, err)
		if slot >= first && slot <= last {
			return tag
		}
	}
}

// infoField returns a field of a gateway's INFO upstream.
func infoField(t *testing.T, c *redis.Client, name string) string {
	t.Helper()
	info, err := c.Info(t.Context(), "upstream").Result()
	require.NoError(t, err)
	_, rest, ok := strings.Cut(info, "upstream_"+name+":")
	require.True(t, ok, info)
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// awaitAnswer waits until reads of a slot have an error that begins so, or succeed if that is "".
func awaitAnswer(t *testing.T, c *redis.Client, tag, want string) {
	t.Helper()
	await(t, "a key of "+tag, func() error {
		err := c.Exists(t.Context(), fmt.Sprintf("none:{%s}", tag)).Err()
		switch {
		case want == "":
			return err
		case err == nil:
			return errors.New("it was answered")
		case !strings.HasPrefix(err.Error(), want):
			return err
		}
		return nil
	})
}

// requireServed requires that everything about a slot is answered by its master.
func requireServed(t *testing.T, c *redis.Client, tag string) {
	t.Helper()
	key := func(prefix string) string { return fmt.Sprintf("%s{%s}", prefix, tag) }
	for range 20 {
		require.NoError(t, c.Incr(t.Context(), key("n:")).Err())
		for _, prefix := range []string{"c:", "o:", "l:"} {
			reply, err := c.Do(t.Context(), "RL.ALLOW", key(prefix), 999, "1h", "FULL").Result()
			require.NoError(t, err)
			require.NotContains(t, reply, "degraded")
			require.EqualValues(t, 999, reply.(map[any]any)["limit"])
		}
	}
	require.Equal(t, "2", transact(t, c.Options().Addr, key("n:"), true))
}

// transact returns what a transaction with two commands answers: how many replies, or its error.
func transact(t *testing.T, addr, key string, watch bool) string {
	t.Helper()
	c := plainClient(addr)
	defer c.Close()
	conn := c.Conn()
	defer conn.Close()
	if watch {
		if err := conn.Do(t.Context(), "WATCH", key).Err(); err != nil {
			return err.Error()
		}
	}
	for _, words := range [][]any{{"MULTI"}, {"INCR", key}, {"RL.ALLOW", key + ":limit", 999, "1h"}} {
		require.NoError(t, conn.Do(t.Context(), words...).Err())
	}
	replies, err := conn.Do(t.Context(), "EXEC").Slice()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(len(replies))
}

// requireUnserved requires that calls about a slot have an error that begins so, but for those that
// upstream-failure answers.
func requireUnserved(t *testing.T, c *redis.Client, tag, want string) {
	t.Helper()
	key := func(prefix string) string { return fmt.Sprintf("%s{%s}", prefix, tag) }
	var calls sync.WaitGroup
	for _, words := range [][]any{
		{"GET", key("n:")},
		{"SET", key("n:"), 1},
		{"BLPOP", key("list:"), 0},
		{"EVAL", "return 1", 1, key("n:")},
		{"EVALSHA", strings.Repeat("0", 40), 1, key("n:")},
		{"RL.ALLOW", key("c:"), 9, "1h"},
		{"RL.MALLOW", 2, key("c:"), 9, "1h", key("o:"), 9, "1h"},
		{"RL.RESERVE", key("c:"), 9, "1h", 1, "HOLD", "1m", "ID", "a"},
		{"RL.RESET", key("o:")},
		{"RL.REFUND", key("o:"), 1},
		{"RL.INFO", key("l:")},
		{"RL.SETTLE", key("l:"), "a", 1},
		{"RL.ACQUIRE", key("o:"), 1, "LEASE", "1m", "ID", "a"},
		{"INCREX", key("o:")},
	} {
		calls.Go(func() {
			err := c.Do(t.Context(), words...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v: %v, not %s", words, err, want)
			}
		})
	}
	calls.Go(func() {
		if got := transact(t, c.Options().Addr, key("n:"), true); !strings.HasPrefix(got, want) {
			t.Errorf("WATCH: %s, not %s", got, want)
		}
	})
	calls.Go(func() {
		got := strings.TrimPrefix(transact(t, c.Options().Addr, key("n:"), false),
			"EXECABORT Transaction discarded because of: ")
		if !strings.HasPrefix(got, want) {
			t.Errorf("MULTI: %s, not %s", got, want)
		}
	})
	if want != down { // see cluster-allow-pubsubshard-when-down
		calls.Go(func() {
			if err := c.SPublish(t.Context(), key("n:"), "m").Err(); err == nil ||
				!strings.HasPrefix(err.Error(), want) {
				t.Errorf("SPUBLISH: %v, not %s", err, want)
			}
		})
	}
	for mode, limit := range map[string]int{"open": 9, "local": 9 / 2} {
		calls.Go(func() {
			reply, err := c.Do(t.Context(), "RL.ALLOW", key(mode[:1]+":"), 9, "1h", "FULL").Result()
			if err != nil {
				t.Errorf("%s: %v", mode, err)
				return
			}
			full := reply.(map[any]any)
			if full["degraded"] != mode || fmt.Sprint(full["limit"]) != fmt.Sprint(limit) {
				t.Errorf("%s: %v", mode, full)
			}
		})
	}
	for _, words := range [][]any{
		{"RL.MALLOW", 2, key("o:"), 9, "1h", key("c:"), 9, "1h"},
		{"CL.THROTTLE", key("o:g:"), 9, 9, 60},
		{"RL.RESERVE", key("l:r:"), 9, "1h", 1, "HOLD", "1m", "ID", "a"},
	} {
		calls.Go(func() {
			if err := c.Do(t.Context(), words...).Err(); err != nil {
				t.Errorf("%v: %v", words, err)
			}
		})
	}
	calls.Wait()
	require.NotEqual(t, "0", infoField(t, c, "degraded"))
	require.NotEqual(t, "0", infoField(t, c, "degraded_since"))
}

// requireNoRepeats requires that the gateway has noticed that a slot is not served: it asks once for each
// call and does not wait.
func requireNoRepeats(t *testing.T, c *redis.Client, tag string) {
	t.Helper()
	const calls = 20
	count := func() (n int) {
		_, err := fmt.Sscan(infoField(t, c, "retries"), &n)
		require.NoError(t, err)
		return n
	}
	before := count()
	for range calls {
		require.Error(t, c.Do(t.Context(), "RL.ALLOW", fmt.Sprintf("c:{%s}", tag), 9, "1h").Err())
	}
	require.LessOrEqual(t, count()-before, calls)
}

// requireWhole requires that commands about all keys do not answer for some of the masters.
func requireWhole(t *testing.T, c *redis.Client) {
	t.Helper()
	for _, line := range []string{
		"DBSIZE", "KEYS *", "RANDOMKEY", "SCRIPT EXISTS x", "SCRIPT LOAD return+1", "FLUSHALL",
	} {
		words := []any{}
		for _, word := range strings.Fields(line) {
			words = append(words, word)
		}
		err := c.Do(t.Context(), words...).Err()
		require.Error(t, err, line)
		require.Contains(t, err.Error(), away, line)
	}
	var err error
	for cursor := uint64(0); err == nil; {
		if _, cursor, err = c.Scan(t.Context(), cursor, "", 100).Result(); err == nil && cursor == 0 {
			t.Fatal("SCAN has gone through masters that are away")
		}
	}
	require.ErrorContains(t, err, away)
}

// requireAny requires that commands that any master can answer are answered.
func requireAny(t *testing.T, c *redis.Client) {
	t.Helper()
	require.NoError(t, c.Time(t.Context()).Err())
	require.NoError(t, c.Publish(t.Context(), "channel", "m").Err())
	require.NoError(t, c.Eval(t.Context(), "return 1", nil).Err())
	require.NoError(t, c.FunctionList(t.Context(), redis.FunctionListQuery{}).Err())
}
