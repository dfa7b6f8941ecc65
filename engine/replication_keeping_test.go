package engine_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/logging"
)

// A keptLog is what an engine and its link to a master have logged.
type keptLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *keptLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// warnings returns the lines that say that the configuration cannot be rewritten.
func (l *keptLog) warnings() (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, "CONFIG REWRITE will fail") {
			out = append(out, line)
		}
	}
	return out
}

// newKeeping returns an engine with a configuration file, unless conf is "", and its log.
func newKeeping(t *testing.T, conf string) (e *engine.Engine, path string, log *keptLog) {
	t.Helper()
	cfg := config.New()
	if conf != "" {
		dir := filepath.Join(t.TempDir(), "conf")
		require.NoError(t, os.Mkdir(dir, 0o755))
		path = filepath.Join(dir, "zlimit.conf")
		require.NoError(t, os.WriteFile(path, []byte(conf), 0o644))
		require.NoError(t, cfg.ParseArgs([]string{path}, nil))
	}
	log = new(keptLog)
	still := func() int64 { return 0 }
	e = engine.New(engine.Options{
		Config: cfg, Clock: clock.New(clock.Sources{Monotonic: still, Wall: still}),
		Log:  logging.Func(log.add),
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return nil, io.EOF },
	})
	return e, path, log
}

// TestSentinelNeedsFile checks what a server says that is watched by Sentinel and cannot rewrite its file.
func TestSentinelNeedsFile(t *testing.T) {
	e, path, log := newKeeping(t, "hz 10\n")
	s := newSession(t, e)
	require.Equal(t, "1", infoOf(s, "config_rewritable"))
	require.Empty(t, infoOf(s, "config_rewrite_error"))
	require.NoError(t, e.Facts().RewriteError())
	e.Tick()

	// Also root cannot write to a directory that is gone.
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.Equal(t, "0", infoOf(s, "config_rewritable"))
	require.Contains(t, infoOf(s, "config_rewrite_error"), "no such file or directory")
	require.Error(t, e.Facts().RewriteError())
	e.Tick()
	require.Empty(t, log.warnings(), "nobody relies on it")

	sentinel, other := newSession(t, e), newSession(t, e)
	do(other, "PSUBSCRIBE __sentinel__:*")
	do(other, "SUBSCRIBE news")
	require.Equal(t, "0", infoOf(s, "sentinels_connected"))
	for range 2 { // the second time is none
		do(sentinel, "SUBSCRIBE __sentinel__:hello")
		require.Equal(t, "1", infoOf(s, "sentinels_connected"))
		require.EqualValues(t, 1, e.Facts().Broker.Sentinels.Load())
		e.Tick()
		e.Tick()
		require.Len(t, log.warnings(), 1)
	}
	do(sentinel, "UNSUBSCRIBE")
	require.Equal(t, "0", infoOf(s, "sentinels_connected"))
	do(sentinel, "SUBSCRIBE __sentinel__:hello")
	sentinel.Close() // it hangs up
	require.Equal(t, "0", infoOf(s, "sentinels_connected"))
}

// TestReplicaNeedsFile checks the same of replicas, at the start and later.
func TestReplicaNeedsFile(t *testing.T) {
	const here = "replicaof 127.0.0.1 1\n"
	for name, c := range map[string]struct {
		conf, call string
		gone       bool
		warned     int
	}{
		"a replica at the start":     {here, "PING", true, 1},
		"a replica later":            {"hz 10\n", "REPLICAOF 127.0.0.1 1", true, 1},
		"a replica that can rewrite": {here, "PING", false, 0},
		"a replica without a file":   {"", "REPLICAOF 127.0.0.1 1", false, 0},
		"a master":                   {"hz 10\n", "PING", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e, path, log := newKeeping(t, c.conf)
			if c.gone {
				require.NoError(t, os.RemoveAll(filepath.Dir(path)))
			}
			require.NoError(t, e.Load(func() {}))
			do(newSession(t, e), c.call)
			e.Tick()
			e.Tick()
			require.Len(t, log.warnings(), c.warned)
			require.NoError(t, e.Close())
		})
	}
}
