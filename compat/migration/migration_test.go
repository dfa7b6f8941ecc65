package migration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/oracle"
)

// patience is far more than anything here takes on a busy machine.
const patience = 90 * time.Second

// zlimit is the path of zlimit-server; TestMain fills it in.
var zlimit string

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(m *testing.M) (status int, err error) {
	logging.Disable() // go-redis' own log: a line for each connection that is refused
	if err := oracle.FindRealTime(); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "migration")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if zlimit, err = abuse.BuildServer(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// await waits until check returns nil.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(patience); ; <-retry.C {
		err := check()
		if err == nil {
			return
		}
		require.True(t, time.Now().Before(deadline), "%s: %v", what, err)
	}
}

func addr(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// A server is a process, and a connection of the one who moves the clients.
type server struct {
	*redis.Client
	port int
}

// start starts a server, which ends with the test.
func start(t *testing.T, program string, directives ...string) *server {
	t.Helper()
	dir := t.TempDir()
	p, err := abuse.Start(t.Context(), program, dir, &abuse.Row{Directives: append([]string{
		"--dir", dir, "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0",
	}, directives...)})
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	_, port, err := net.SplitHostPort(p.Addr)
	require.NoError(t, err)
	s := &server{Client: redis.NewClient(&redis.Options{
		Addr: p.Addr, MaxRetries: -1, ReadTimeout: patience, WriteTimeout: patience,
	})}
	t.Cleanup(func() { _ = s.Close() })
	s.port, err = strconv.Atoi(port)
	require.NoError(t, err)
	return s
}

// must sends a command that may not fail, and returns its reply as a string.
func (s *server) must(t *testing.T, words ...any) string {
	t.Helper()
	reply, err := s.Do(t.Context(), words...).Result()
	require.NoError(t, err, words)
	return fmt.Sprint(reply)
}

// replicaOf returns the port as REPLICAOF takes it.
func (s *server) replicaOf() []any { return []any{"REPLICAOF", "127.0.0.1", s.port} }

// field returns a field of INFO.
func (s *server) field(ctx context.Context, name string) (string, error) {
	text, err := s.Info(ctx, "everything").Result()
	_, rest, ok := strings.Cut(text, "\n"+name+":")
	if err == nil && !ok {
		err = errors.New("INFO has no " + name)
	}
	value, _, _ := strings.Cut(rest, "\r\n")
	return value, err
}

// inStep returns an error unless a replica has at least what its master had before.
func inStep(ctx context.Context, replica *server, offset string) error {
	status, err := replica.field(ctx, "master_link_status")
	if err != nil {
		return err
	}
	at, err := replica.field(ctx, "slave_repl_offset")
	if err != nil {
		return err
	}
	want, err := strconv.ParseInt(offset, 10, 64)
	if err != nil {
		return err
	}
	if has, err := strconv.ParseInt(at, 10, 64); err != nil || status != "up" || has < want {
		return fmt.Errorf("the link is %s at %s, not %s: %w", status, at, offset, err)
	}
	return nil
}

// fill writes keys that no client uses, so that a copy takes a while.
func fill(t *testing.T, s *server) {
	t.Helper()
	const keys, batch = 40_000, 1000
	for from := 0; from < keys; from += batch {
		p := s.Pipeline()
		for i := from; i < from+batch; i++ {
			ttl := time.Duration(1000+i) * time.Second
			key := "idle:" + strconv.Itoa(i)
			if i%2 == 0 {
				p.Set(t.Context(), key, strings.Repeat("v", i%100), ttl)
				continue
			}
			p.ZAdd(t.Context(), key, redis.Z{Score: float64(i), Member: i}, redis.Z{Score: 1, Member: "one"})
			p.Expire(t.Context(), key, ttl)
		}
		_, err := p.Exec(t.Context())
		require.NoError(t, err)
	}
}

// deadlines returns when each key ends, in unix milliseconds, or -1.
func (s *server) deadlines(t *testing.T) map[string]int64 {
	t.Helper()
	keys, err := s.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	p := s.Pipeline()
	at := make([]*redis.Cmd, len(keys))
	for i, key := range keys {
		at[i] = p.Do(t.Context(), "PEXPIRETIME", key)
	}
	_, err = p.Exec(t.Context())
	require.NoError(t, err)
	found := map[string]int64{}
	for i, key := range keys {
		if found[key], err = at[i].Int64(); found[key] == -2 {
			delete(found, key) // it has ended since
		}
		require.NoError(t, err)
	}
	return found
}

// requireSame requires that the second server has every key of the first, with its deadline,
// while neither is written to.
func requireSame(t *testing.T, old, successor *server) {
	t.Helper()
	require.Equal(t, old.must(t, "DEBUG", "DIGEST"), successor.must(t, "DEBUG", "DIGEST"))
	theirs, ours := old.deadlines(t), successor.deadlines(t)
	require.Greater(t, len(ours), 40_000)
	nowMs := time.Now().UnixMilli()
	for key, at := range theirs {
		if has, ok := ours[key]; ok || at == -1 || at > nowMs { // else it has ended between the two
			require.Equal(t, at, has, key)
		}
	}
}

// A move is one of clients from a redis-server to zlimit-server.
type move struct {
	old, successor *server
	load           *load
	paused         time.Duration // when writes began to wait, since the load began
}

// prepare runs clients on redis-server until each has used a third of its ledger. The second
// server then starts as a replica, or not, and clients use more.
func prepare(t *testing.T, replicate bool) *move {
	t.Helper()
	m := &move{old: start(t, "redis-server")}
	fill(t, m.old)
	m.load = startLoad(t, m.old.port)
	m.load.awaitLedgers(t, ledgerLimit/3)
	m.load.allowed.Store(ledgerLimit / 2) // some while the copy is made
	var directives []string
	if replicate {
		directives = []string{"--replicaof", fmt.Sprint("127.0.0.1 ", m.old.port)}
	}
	m.successor = start(t, zlimit, directives...)
	t.Cleanup(m.load.close) // before the servers end
	if replicate {
		await(t, "copy", func() error { return inStep(t.Context(), m.successor, "0") })
	}
	m.load.awaitLedgers(t, ledgerLimit/2)
	return m
}

// carryOut moves the clients as docs/migration.md does.
func (m *move) carryOut(t *testing.T, replicate bool) {
	t.Helper()
	m.load.allowed.Store(ledgerLimit - 10)
	m.paused = time.Since(m.load.begin)
	m.old.must(t, "CLIENT", "PAUSE", patience.Milliseconds(), "WRITE")
	await(t, "clients that wait", func() error {
		busy := 0
		for _, s := range subjects {
			if !s.denials { // which may be waiting for their window
				busy++
			}
		}
		blocked, err := m.old.field(t.Context(), "blocked_clients")
		if n, _ := strconv.Atoi(blocked); err == nil && n < busy {
			err = fmt.Errorf("%d of %d", n, busy)
		}
		return err
	})
	offset, err := m.old.field(t.Context(), "master_repl_offset")
	require.NoError(t, err)
	if replicate {
		await(t, "offset", func() error { return inStep(t.Context(), m.successor, offset) })
		requireSame(t, m.old, m.successor)
	}
	m.successor.must(t, "REPLICAOF", "NO", "ONE")
	m.old.must(t, m.successor.replicaOf()...) // what waits there is refused, and the way back is open
	m.load.port.Store(int64(m.successor.port))
	m.old.must(t, "CLIENT", "UNPAUSE")
}

// finish lets clients run on the second server, ends them, and uses up the ledgers.
func (m *move) finish(t *testing.T) {
	t.Helper()
	m.load.awaitMoved(t, m.successor.port)
	m.load.stop()
	m.load.drain(t)
}

// requireFailures requires that calls failed only while the clients were being moved.
func (m *move) requireFailures(t *testing.T) {
	t.Helper()
	for _, c := range m.load.clients {
		failed := 0
		for _, one := range slices.Concat(c.window, c.ledger) {
			if one.err != nil {
				failed++
				moving := one.received >= m.paused && one.sent <= c.moved
				require.True(t, moving, "%s: %v", c.name, one.err)
			}
		}
		t.Logf("%-22s %4d calls, %d failed", c.name, len(c.window)+len(c.ledger), failed)
	}
}

// TestMove: no limiter admits a unit too many or too few when it is moved under load, and no
// key is lost. Afterwards the old server follows the new one.
func TestMove(t *testing.T) {
	m := prepare(t, true)
	m.carryOut(t, true)
	m.finish(t)
	m.requireFailures(t)
	for _, c := range m.load.clients {
		require.NoError(t, ledgerFault(c))
		require.NoError(t, windowFault(c, m.load.begin))
	}
	await(t, "the way back", func() error {
		offset, err := m.successor.field(t.Context(), "master_repl_offset")
		if err != nil {
			return err
		}
		if err := inStep(t.Context(), m.old, offset); err != nil {
			return err
		}
		if m.old.must(t, "DEBUG", "DIGEST") != m.successor.must(t, "DEBUG", "DIGEST") {
			return errors.New("the old server holds something else")
		}
		return nil
	})
}

// TestMoveWithoutReplication: the same without a replica admits every ledger's limit again, so
// that TestMove can fail.
func TestMoveWithoutReplication(t *testing.T) {
	m := prepare(t, false)
	m.carryOut(t, false)
	m.finish(t)
	for _, c := range m.load.clients {
		require.Error(t, ledgerFault(c))
		admitted, failed := units(c.ledger)
		require.GreaterOrEqual(t, admitted+failed, int64(ledgerLimit/2+ledgerLimit), c.name)
	}
}
