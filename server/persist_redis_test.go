package server_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/oracle"
)

// startRedisInDir runs a redis-server in a directory. end shuts it down.
func startRedisInDir(t *testing.T, dir string, directives ...string) (c *wire, end func()) {
	t.Helper()
	if err := oracle.FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine to load the files: ", err)
	}
	redis, err := oracle.Start(oracle.Options{
		RealTime: true,
		Args:     append([]string{"--dir", dir}, directives...),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, redis.Close()) })
	nc, err := redis.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	c = newWire(nc)
	require.Equal(t, "+PONG", c.call(t, "PING"))
	return c, func() {
		_ = c.sendRaw([]byte("SHUTDOWN NOSAVE\r\n"))
		redis.Wait()
	}
}

var dumpCommands = [][]string{
	{"GET", "s"},
	{"ZRANGE", "u", "0", "-1", "WITHSCORES"},
	{"ZRANGE", "z", "0", "-1", "WITHSCORES"},
	{"HGET", "h", "f"},
	{"LRANGE", "l", "0", "-1"},
	{"SMISMEMBER", "set", "1", "x", "y"},
	{"PEXPIRETIME", "u"},
	{"PEXPIRETIME", "s"},
	{"FCALL", "ff", "0"},
	{"DBSIZE"},
}

func requirePong(t *testing.T, c *wire) (out []string) {
	for _, q := range dumpCommands {
		out = append(out, fmt.Sprint(q, " ", c.call(t, q...)))
	}
	return out
}

// TestFilesAreInterchangeableWithRedis: redis-server loads our log and snapshot,
// zlimit loads redis-server's, and the contents are the same.
func TestFilesAreInterchangeableWithRedis(t *testing.T) {
	t.Parallel()
	for name, directives := range map[string][]string{
		"log": {"--appendonly", "yes"}, "commands": {"--appendonly", "yes", "--aof-use-rdb-preamble", "no"},
		"snapshot": {},
	} {
		dir := t.TempDir()
		srv, end := startWithDisk(t, engine.Directory(dir), directives...)
		c := connectLoaded(t, srv)
		fill := [][]string{
			{"RL.ALLOW", "u", "10", "600000", "COST", "3"},
			{"ZADD", "z", "1.5", "x", "-2", "y"},
			{"HSET", "h", "f", "v"},
			{"RPUSH", "l", "a", "b"},
			{"SADD", "set", "1", "x"},
			{"FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('ff', function() return 7 end)"},
		}
		for _, line := range fill {
			require.NotContains(t, c.call(t, line...), "-ERR", line)
		}
		if name != "snapshot" {
			require.Equal(t, "+Background append only file rewriting started", c.call(t, "BGREWRITEAOF"))
		}
		for _, line := range [][]string{
			{"SET", "s", "v", "PX", "1000000"},
			{"RL.ALLOW", "u", "10", "600000"},
			{"EVAL", "redis.call('rpush', KEYS[1], 'c') return redis.call('incr', 'n')", "1", "l"},
		} {
			require.NotContains(t, c.call(t, line...), "-ERR", line)
		}
		require.Equal(t, "+OK", c.call(t, "SAVE"))
		want := requirePong(t, c)
		require.NoError(t, end())

		r, stop := startRedisInDir(t, dir, directives...)
		require.Equal(t, want, requirePong(t, r), "%s: redis-server loads ours", name)
		require.Equal(t, ":2", r.call(t, "INCR", "n"))
		require.Equal(t, "+OK", r.call(t, "SAVE"))
		stop()

		srv, end = startWithDisk(t, engine.Directory(dir), directives...)
		c = connectLoaded(t, srv)
		require.Equal(t, want, requirePong(t, c), "%s: zlimit loads redis-server's", name)
		require.Equal(t, "$1\r\n2", c.call(t, "GET", "n"))
		require.NoError(t, end())
	}
}
