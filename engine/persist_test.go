package engine_test

import (
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// process is an engine with a directory, from its start to its end.
type process struct {
	*engine.Engine
	hands *hands
	mu    sync.Mutex
	lines []string
	waits []int64 // microseconds that loading and saving waited
}

func (p *process) delay(us int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits = append(p.waits, us)
}

func (p *process) log(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, text)
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// prepare makes an engine over a directory, with its wall at startNowMs and so
// many milliseconds.
func prepare(t testing.TB, fs disk.FS, atMs int64, directives ...string) *process {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	p := &process{hands: &hands{}}
	p.Engine = engine.New(engine.Options{
		Config: cfg, Disk: fs, Log: logging.Func(p.log), Shutdown: func() {}, Delay: p.delay,
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return nil, io.EOF },
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return p.hands.us },
			Wall:      func() int64 { return (startNowMs+atMs)*1000 + p.hands.us },
		}),
	})
	return p
}

func start(t testing.TB, fs disk.FS, atMs int64, directives ...string) *process {
	t.Helper()
	p := prepare(t, fs, atMs, directives...)
	require.NoError(t, p.Open())
	require.NoError(t, p.Load(func() {}))
	return p
}

// client is a session that can wait.
type client struct {
	*engine.Session
	woke chan struct{}
}

func (p *process) client(t *testing.T) *client {
	c := &client{woke: make(chan struct{}, 1)}
	c.Session = p.NewSession(engine.Peer{
		Addr: "127.0.0.1:1", LocalAddr: "127.0.0.1:6379", Local: true,
		Wake: func() {
			select {
			case c.woke <- struct{}{}:
			default:
			}
		},
	})
	t.Cleanup(c.Close)
	return c
}

// do is do for a command that may wait.
func (c *client) do(line string) string {
	reply := c.Do(args(line))
	if c.Blocked() == nil {
		return show(reply)
	}
	for !c.Ready() {
		<-c.woke
	}
	return show(c.Resume())
}

// awaitInfo asks INFO persistence until the answer holds want. What it waits for
// is done by other goroutines, which it lets run.
func (c *client) awaitInfo(want string) {
	for !strings.Contains(c.do("INFO persistence"), want) {
		runtime.Gosched()
	}
}

var always = []string{"--appendonly", "yes", "--appendfsync", "always"}

func TestWindowsGoOnAfterARestart(t *testing.T) {
	for name, directives := range map[string][]string{
		"log":      always,
		"commands": append([]string{"--aof-use-rdb-preamble", "no"}, always...),
		"snapshot": {"--save", "3600 1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := crashdisk.New(1)
			p := start(t, d.FS(), 0, directives...)
			c := p.client(t)
			require.Equal(t, "[3 3 0 0 60000]", c.do("RL.ALLOW u 3 60000 COST 3"))
			c.do("SET soon gone PX 1000")
			c.do("SELECT 5")
			c.do("RPUSH l a b")
			require.NoError(t, p.Close())

			p = start(t, d.FS(), 20_000, directives...)
			c = p.client(t)
			require.Equal(t, "[0 3 0 40000 40000]", c.do("RL.ALLOW u 3 60000"), "time spent down counts")
			require.Equal(t, "40000", c.do("PTTL u"))
			require.Equal(t, "0", c.do("EXISTS soon"))
			c.do("SELECT 5")
			require.Equal(t, "[a b]", c.do("LRANGE l 0 -1"))
			require.NoError(t, p.Close())

			p = start(t, d.FS(), -3_600_000, directives...) // the clock was set back by an hour
			c = p.client(t)
			require.Equal(t, "[0 3 0", c.do("RL.ALLOW u 3 60000")[:6], "nothing extra")
			require.Contains(t, c.do("INFO stats"), "clock_ahead_usec:36")
			require.Contains(t, p.logged(), "the clock is ahead of the system's")
			require.NoError(t, p.Close())
		})
	}
}

func TestOneDirectoryOneServer(t *testing.T) {
	fs := crashdisk.New(1).FS()
	p := start(t, fs, 0, always...)
	require.ErrorIs(t, prepare(t, fs, 0, always...).Open(), disk.ErrLocked)

	reader := start(t, fs, 0, "--appendonly", "no") // it need not write
	require.Equal(t, "ERR", reader.client(t).do("BGSAVE"))
	require.NoError(t, reader.Close())
	require.NoError(t, p.Close())
	require.NoError(t, start(t, fs, 0, always...).Close())
	require.Error(t, prepare(t, nil, 0, always...).Open(), "nowhere to keep it")
}

func TestLoading(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	p.client(t).do("SET k v")
	require.NoError(t, p.Close())

	p = prepare(t, d.FS(), 0, always...)
	require.NoError(t, p.Open())
	c := p.client(t)
	const loading = "LOADING Redis is loading the dataset in memory"
	for _, line := range []string{"GET k", "SET k w", "PING", "BGSAVE", "DBSIZE", "FLUSHALL"} {
		require.Equal(t, loading, c.do(line), line)
	}
	require.Contains(t, c.do("INFO persistence"), "loading:1\r\n")
	require.Contains(t, c.do("INFO persistence"), "loading_loaded_perc:0.00\r\n")
	require.Equal(t, "OK", c.do("MULTI"))
	require.Equal(t, loading, c.do("GET k"))
	require.Contains(t, c.do("EXEC"), "EXECABORT")
	require.Equal(t, loading, c.do("CONFIG SET appendonly no"))
	p.Tick()
	require.NoError(t, p.Load(func() {}))
	require.Equal(t, "v", c.do("GET k"))
	require.NotContains(t, c.do("INFO persistence"), "loading_")
	require.NoError(t, p.Close())
}

func TestWhatCannotBeLoaded(t *testing.T) {
	d := crashdisk.New(1)
	d.Put("dump.rdb", []byte("REDIS0010\xfa\x09redis-ver\x057.0.15 and nonsense"))
	p := prepare(t, d.FS(), 0)
	require.NoError(t, p.Open())
	err := p.Load(func() {})
	require.ErrorContains(t, err, "dump.rdb")
	require.ErrorContains(t, err, "--check-rdb dump.rdb")
	require.Equal(t, "LOADING Redis is loading the dataset in memory", p.client(t).do("GET k"),
		"half of it is worse than none")
	require.NoError(t, p.Close())
	require.Contains(t, string(d.Bytes("dump.rdb")), "nonsense", "the file stays as it was")

	d = crashdisk.New(1)
	d.Put("appendonly.aof",
		[]byte("*2\r\n$4\r\nXADD\r\n$1\r\nk\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"))
	p = prepare(t, d.FS(), 0, always...)
	require.NoError(t, p.Open())
	require.ErrorContains(t, p.Load(func() {}), `"XADD"`)
	require.NoError(t, p.Close())
	p = start(t, d.FS(), 0, append(always, "--load-skip-unsupported", "yes")...)
	require.Equal(t, "v", p.client(t).do("GET k"))
	require.Contains(t, p.logged(), "keys or commands were left out, as load-skip-unsupported says number=1")
	require.NoError(t, p.Close())
}

// TestScriptsInALog checks that scripts in a log are carried out, whatever refuses writes now.
func TestScriptsInALog(t *testing.T) {
	var log []byte
	for _, words := range [][]string{
		{"EVAL", "#!lua\nredis.call('SET', KEYS[1], 'v')", "1", "flags"},
		{"EVAL", "redis.call('SET', KEYS[1], 'v')", "1", "plain"},
		{"FUNCTION", "LOAD", "#!lua name=l\n" +
			"redis.register_function('f', function(k) redis.call('SET', k[1], 'v') end)"},
		{"FCALL", "f", "1", "function"},
		{"EVAL", "redis.call('SET', KEYS[1], 'v') error('late')", "1", "failed"},
	} {
		log = append(log, replication.Command(words...)...)
	}
	for _, directives := range [][]string{
		{},
		{"--replicaof", "127.0.0.1 1"},
		{"--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "no"},
		{"--min-replicas-to-write", "1"},
	} {
		d := crashdisk.New(1)
		d.Put("appendonly.aof", log)
		p := start(t, d.FS(), 0, append(directives, always...)...)
		c := p.client(t)
		require.Equal(t, "OK", c.do("REPLICAOF NO ONE"))
		require.Equal(t, "[v v v v]", c.do("MGET flags plain function failed"), directives)
		require.NoError(t, p.Close())
	}
}

func TestLogSwitchedOnAndOff(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0)
	c := p.client(t)
	c.do("SET before 1")
	require.Equal(t, "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
		c.do("WAITAOF 1 0 0"))
	require.Equal(t, "OK", c.do("CONFIG SET appendonly yes appendfsync always"))
	c.awaitInfo("aof_rewrites:1")
	c.awaitInfo("aof_rewrite_in_progress:0")
	c.do("SET after 2")
	require.Equal(t, "[1 0]", c.do("WAITAOF 1 0 0"))
	require.Equal(t, "(nothing)", show(c.Do(args("WAITAOF 1 1 5"))), "no replica is counted")
	c.Blocked().TimeOut()
	require.Equal(t, "[1 0]", show(c.Resume()))
	require.Equal(t, "OK", c.do("CONFIG SET appendonly no"))
	c.awaitInfo("aof_enabled:0")
	c.do("SET late 3")
	require.NoError(t, p.Close())

	p = start(t, d.FS(), 0, always...)
	c = p.client(t)
	require.Equal(t, "[1 2 (nil)]", c.do("MGET before after late"))
	require.Equal(t, "[1 0]", c.do("WAITAOF 0 0 0"), "it has written nothing that is not on disk")
	for line, want := range map[string]string{
		"WAITAOF 2 0 0":  "ERR value is out of range, value must between 0 and 1",
		"WAITAOF x 0 0":  "ERR value is not an integer or out of range",
		"WAITAOF 0 -1 0": "ERR value is out of range, must be positive",
		"WAITAOF 0 0 x":  "ERR timeout is not an integer or out of range",
		"WAITAOF 0 0 -1": "ERR timeout is negative",
	} {
		require.Equal(t, want, c.do(line), line)
	}
	require.NoError(t, p.Close())
}

// TestShutdownWhileLoading checks that a partly loaded keyspace does not replace the
// file.
func TestShutdownWhileLoading(t *testing.T) {
	for _, line := range []string{"SHUTDOWN", "SHUTDOWN SAVE"} {
		d := crashdisk.New(1)
		p := start(t, d.FS(), 0, "--save", "3600 1")
		p.client(t).do("SET k v")
		require.NoError(t, p.Close())
		before := d.Bytes("dump.rdb")
		require.NotEmpty(t, before)

		p = prepare(t, d.FS(), 0, "--save", "3600 1")
		require.NoError(t, p.Open()) // and Load has not ended
		c := p.client(t)
		c.Do(args(line))
		require.Nil(t, c.Blocked(), line)
		require.True(t, c.Closing(), line)
		require.NoError(t, p.Close())
		require.Equal(t, before, d.Bytes("dump.rdb"), line)
	}
}
