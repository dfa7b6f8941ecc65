package sentinel

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Gateways find the master through the sentinels, so their callers need not know that there are any.

// waiting is upstream-wait of the gateway that waits for both replicas.
const waiting = "upstream-wait 2 1000"

// startGateway starts a gateway over the set and returns a client of it.
func (s *set) startGateway(t *testing.T, directives ...string) *redis.Client {
	t.Helper()
	var sentinels []string
	for _, one := range s.sentinels {
		sentinels = append(sentinels, addr(one.port))
	}
	port := freePorts(t, 1)[0]
	p := newProcess(t, "gateway", paths[zlimit], port, append([]string{
		fmt.Sprintf("port %d", port), `save ""`,
		fmt.Sprintf("upstream redis+sentinel://%s/%s", strings.Join(sentinels, ","), masterName),
	}, directives...))
	p.start(t)
	c := redis.NewClient(&redis.Options{Addr: addr(port), MaxRetries: -1, ReadTimeout: patience})
	t.Cleanup(func() { _ = c.Close() })
	await(t, "the gateway", func() error { return c.Ping(t.Context()).Err() })
	return c
}

// An asker asks a gateway for one unit after the other, of a window and of a ledger of its own.
type asker struct {
	name   string
	queued bool // it asks in MULTI
	wait   bool // its gateway waits for the replicas
	client *redis.Client

	mu      sync.Mutex
	calls   []call   // protected by mu
	missing int64    // protected by mu: units of the ledger that were granted, and then were not known
	errors  []string // protected by mu
}

// run asks until the context is done.
func (a *asker) run(ctx context.Context, begin time.Time) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		c, err := a.ask(ctx, begin)
		if ctx.Err() != nil {
			return
		}
		pause := *between
		a.mu.Lock()
		if err != nil {
			a.errors = append(a.errors, err.Error())
			pause = afterError
		} else {
			if n := len(a.calls); n > 0 {
				a.missing += max(a.calls[n-1].ledgerUsed+1-c.ledgerUsed, 0)
			}
			a.calls = append(a.calls, c)
		}
		a.mu.Unlock()
		next.Reset(pause)
	}
}

// ask asks for one unit of the window and then of the ledger, on one connection of the gateway's.
func (a *asker) ask(ctx context.Context, begin time.Time) (call, error) {
	c := call{sent: time.Since(begin)}
	p := a.client.Pipeline()
	if a.queued {
		p = a.client.TxPipeline()
	}
	limited := p.Do(ctx, "RL.ALLOW", "window:"+a.name, windowLimit, window.Milliseconds())
	ledger := p.Do(ctx, "RL.ALLOW", "ledger:"+a.name, ledgerLimit, ledgerWindow.Milliseconds())
	if _, err := p.Exec(ctx); err != nil {
		return c, err
	}
	c.received = time.Since(begin)
	c.admitted = granted(limited) == 1
	reply, ok := ledger.Val().([]any)
	if !ok || granted(ledger) != 1 {
		return c, fmt.Errorf("the ledger denies: %v", ledger.Val())
	}
	c.ledgerUsed = ledgerLimit - reply[2].(int64)
	return c, nil
}

// answered returns how many calls were answered.
func (a *asker) answered() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.calls)
}

// awaitAnswers waits until each asker has had so many more answers.
func awaitAnswers(t *testing.T, askers []*asker, n int) {
	t.Helper()
	for _, a := range askers {
		first := a.answered()
		await(t, "answers to "+a.name, func() error {
			if got := a.answered() - first; got < n {
				return fmt.Errorf("%d of %d", got, n)
			}
			return nil
		})
	}
}

// libraries returns the names of a server's libraries of functions.
func (x *server) libraries(t *testing.T) (names []string) {
	t.Helper()
	all, err := x.client.FunctionList(t.Context(), redis.FunctionListQuery{}).Result()
	require.NoError(t, err)
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names
}

// unload removes the functions of a replica, and of no other server.
func (x *server) unload(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, x.client.ConfigSet(ctx, "replica-read-only", "no").Err())
	require.NoError(t, x.client.FunctionFlush(ctx).Err())
	require.NoError(t, x.client.ConfigSet(ctx, "replica-read-only", "yes").Err())
	require.Empty(t, x.libraries(t))
}

// TestGatewayFailover kills the master of two gateways under load. Their callers get errors that say why, and
// go on; the functions are on the promoted master, also if it did not have them; what it does not know of the
// units that were granted is what was granted just before, and nothing if the gateway waits for both replicas.
func TestGatewayFailover(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		programs []string
		unloaded bool // the replicas have no functions
	}{
		{"redis-server", []string{redis7, redis7, redis7}, false},
		{"replicas without the library", []string{redis7, redis7, redis7}, true},
		{"to zlimit-server", []string{redis7, zlimit, zlimit}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := startSet(t, layout{programs: row.programs})
			old := s.master
			plain, waits := s.startGateway(t), s.startGateway(t, waiting)
			askers := []*asker{
				{name: "calls", client: plain},
				{name: "MULTI", client: plain, queued: true},
				{name: "calls that wait", client: waits, wait: true},
				{name: "MULTI that waits", client: waits, queued: true, wait: true},
			}
			begin := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			stop := func() {
				cancel()
				running.Wait()
			}
			defer stop()
			for _, a := range askers {
				running.Go(func() { a.run(ctx, begin) })
			}
			awaitAnswers(t, askers, windowLimit) // some are denied
			for _, x := range s.servers {
				await(t, "functions on "+x.name, func() error {
					if got := x.libraries(t); len(got) != 1 || !strings.HasPrefix(got[0], "zlimit_") {
						return fmt.Errorf("libraries %q", got)
					}
					return nil
				})
				if row.unloaded && x != s.master {
					x.unload(t)
				}
			}
			library := old.libraries(t)
			s.sentinels[0].kill() // the one that gateways ask first
			s.sentinels = s.sentinels[1:]
			s.setDownAfter(t, alert)
			died := time.Since(begin)
			old.kill()
			s.awaitNewMaster(t)
			s.setDownAfter(t, calm)
			awaitAnswers(t, askers[:2], 2*windowLimit)
			old.start(t) // or there are not two replicas to confirm anything
			s.awaitReplica(t, old)
			awaitAnswers(t, askers, 2*windowLimit)
			stop()

			require.Equal(t, library, s.master.libraries(t))
			for _, a := range askers {
				a.requireBounded(t, died)
			}
		})
	}
}

// requireBounded judges what an asker has noticed of a master that has died at an instant.
func (a *asker) requireBounded(t *testing.T, died time.Duration) {
	t.Helper()
	t.Logf("%s: %d calls, silent for %s, %d errors, %d units missing", a.name, len(a.calls),
		silence(a.calls).Round(time.Millisecond), len(a.errors), a.missing)
	require.NotEmpty(t, a.errors, "%s: nobody has noticed that the master died", a.name)
	for _, text := range a.errors {
		if !strings.HasPrefix(text, "UPSTREAM ") && !(a.wait && strings.HasPrefix(text, "NOREPLICAS ")) {
			require.Fail(t, a.name+" was told "+text)
		}
	}
	if a.wait {
		require.Zero(t, a.missing, "%s: units that both replicas have confirmed", a.name)
	}
	lag := int64(0) // units that were granted in the second before
	for _, c := range a.calls {
		if c.received <= died && c.received > died-time.Second {
			lag++
		}
	}
	require.LessOrEqual(t, a.missing, lag, "%s: units that the new master does not know", a.name)
	require.LessOrEqual(t, int64(excess(rlAllow, a.calls)), a.missing, "%s: units above the limit", a.name)
}
