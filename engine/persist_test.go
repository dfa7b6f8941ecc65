package engine_test

import (
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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

// prepare makes an engine over a directory, with its wall at startNowMs.
func prepare(t testing.TB, fs disk.FS, directives ...string) *process {
	t.Helper()
	p := &process{}
	p.Engine, p.hands = newEngineWith(t, engine.Options{
		Disk: fs, Log: logging.Func(p.log), Shutdown: func() {}, Delay: p.delay,
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return nil, io.EOF },
	}, directives...)
	return p
}

func start(t testing.TB, fs disk.FS, directives ...string) *process {
	t.Helper()
	p := prepare(t, fs, directives...)
	require.NoError(t, p.Open())
	require.NoError(t, p.Load(func() {}))
	return p
}

func (p *process) client(t *testing.T) *client {
	c := newClient(p.Engine, engine.Peer{Addr: "127.0.0.1:1", LocalAddr: "127.0.0.1:6379", Local: true})
	t.Cleanup(c.Close)
	return c
}

// awaitInfo asks INFO persistence until the answer holds want. What it waits for
// is done by other goroutines, which it lets run.
func (c *client) awaitInfo(want string) {
	for !strings.Contains(c.do("INFO persistence"), want) {
		runtime.Gosched()
	}
}

var always = []string{"--appendonly", "yes", "--appendfsync", "always"}

func TestOneDirectoryOneServer(t *testing.T) {
	fs := crashdisk.New(1).FS()
	p := start(t, fs, always...)
	require.ErrorIs(t, prepare(t, fs, always...).Open(), disk.ErrLocked)

	reader := start(t, fs, "--appendonly", "no") // it need not write
	require.Equal(t, "ERR", reader.client(t).do("BGSAVE"))
	require.NoError(t, reader.Close())
	require.NoError(t, p.Close())
	require.NoError(t, start(t, fs, always...).Close())
	require.Error(t, prepare(t, nil, always...).Open(), "nowhere to keep it")
}

// TestNodeOfACluster: the id outlives the process and a power cut, the directory has one server, and keys of
// another database than 0 are refused.
func TestNodeOfACluster(t *testing.T) {
	d := crashdisk.New(1)
	fs := d.FS()
	node := []string{"--cluster-enabled", "yes"}
	p := start(t, fs, node...)
	id := p.client(t).do("CLUSTER MYID")
	require.Len(t, id, 40)
	require.ErrorIs(t, prepare(t, fs, node...).Open(), disk.ErrLocked)
	require.NoError(t, p.Close())
	fs = d.PowerCut(rand.New(rand.NewPCG(1, 1))).FS()
	p = start(t, fs, node...)
	require.Equal(t, id, p.client(t).do("CLUSTER MYID"))
	require.NoError(t, p.Close())

	one := append([]string{"--cluster-config-file", ""}, node...)
	p = start(t, fs, one...)
	require.NotEqual(t, id, p.client(t).do("CLUSTER MYID"))
	require.NoError(t, start(t, fs, one...).Close(), "no file, no lock")
	require.NoError(t, p.Close())

	p = start(t, fs, always...)
	c := p.client(t)
	require.Equal(t, "OK", c.do("SELECT 1"))
	require.Equal(t, "OK", c.do("SET k v"))
	require.NoError(t, p.Close())
	p = prepare(t, fs, append(node, always...)...)
	require.NoError(t, p.Open())
	require.ErrorContains(t, p.Load(func() {}), "database 0 only")
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
		p := start(t, d.FS(), append(directives, always...)...)
		c := p.client(t)
		require.Equal(t, "OK", c.do("REPLICAOF NO ONE"))
		require.Equal(t, "[v v v v]", c.do("MGET flags plain function failed"), directives)
		require.NoError(t, p.Close())
	}
}
