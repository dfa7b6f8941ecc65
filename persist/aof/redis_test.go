package aof_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
)

// redis is a redis-server over a directory, reached by a socket.
type redis struct {
	t      *testing.T
	server *oracle.Redis
	conn   net.Conn
	in     *bufio.Reader
}

// startRedis starts a redis-server, or skips the test if none is installed.
func startRedis(t *testing.T, dir string, args ...string) *redis {
	t.Helper()
	server := oracle.StartFor(t, oracle.Options{
		RealTime: true, Args: append([]string{"--dir", dir, "--appendonly", "yes"}, args...),
	})
	conn, err := server.Dial()
	require.NoError(t, err)
	return &redis{t: t, server: server, conn: conn, in: bufio.NewReader(conn)}
}

// ask sends a command and returns the first line, or the bulk, of the reply.
func (r *redis) ask(command string) string {
	r.t.Helper()
	_, err := io.WriteString(r.conn, command+"\r\n")
	require.NoError(r.t, err)
	line, err := r.in.ReadString('\n')
	require.NoError(r.t, err, command)
	if strings.HasPrefix(line, "$") && line != "$-1\r\n" {
		var n int
		_, err := fmt.Sscanf(line, "$%d", &n)
		require.NoError(r.t, err)
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(r.in, bulk)
		require.NoError(r.t, err)
		return string(bulk[:n])
	}
	return strings.TrimSpace(line)
}

func (r *redis) shutdown() {
	_, _ = io.WriteString(r.conn, "SHUTDOWN NOSAVE\r\n")
	_, _ = io.Copy(io.Discard, r.conn)
	r.server.Wait()
}

// TestRedisLoadsOurFiles writes a log with groups, a rewrite and lines of ours. Redis
// loads, checks, extends and rewrites it, and the result is loaded here.
func TestRedisLoadsOurFiles(t *testing.T) {
	dir := t.TempDir()
	o := aof.Options{FS: disk.OS(dir), Policy: func() aof.Policy { return aof.Always }}
	log, err := aof.Open(o, &aof.Loaded{}, false, nothing)
	require.NoError(t, err)
	log.Append(group(0, "SET gone 1"), 1_700_000_000_000)
	require.NoError(t, log.Prepare())
	log.Switch()
	log.Append(group(0, "SET a 1"), 1_700_000_000_001)
	require.NoError(t, log.Finish(false, func(w io.Writer) error {
		_, err := io.WriteString(w,
			string(aof.AppendInstant(nil, 1_700_000_000_000))+wire("SELECT 0", "SET base 1"))
		return err
	}))
	end := log.Append(group(3, "SET b 2", "SET c 3"), 1_700_000_000_002)
	require.NoError(t, log.Wait(end, nil))
	require.NoError(t, log.Wait(log.Append(group(0, "INCR a"), 1_700_000_000_003), nil))
	require.NoError(t, log.Close())

	r := startRedis(t, dir, "--aof-use-rdb-preamble", "no", "--appendfsync", "always")
	require.Equal(t, "2", r.ask("GET a"))
	require.Equal(t, "1", r.ask("GET base"))
	require.Equal(t, "$-1", r.ask("GET gone"))
	require.Equal(t, "+OK", r.ask("SELECT 3"))
	require.Equal(t, "2", r.ask("GET b"))
	require.Equal(t, "3", r.ask("GET c"))
	require.Equal(t, "+OK", r.ask("SET from redis"))
	r.shutdown()

	out, err := exec.CommandContext(t.Context(), "redis-check-aof",
		filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "All AOF files and manifest are valid")

	got, found := read(t, o)
	require.Equal(t, "SET from redis", got[len(got)-1])
	require.EqualValues(t, 1_700_000_000_003, found.InstantMs)
	log, err = aof.Open(o, found, false, nothing)
	require.NoError(t, err)
	log.Append(group(3, "DEL b"), 1_700_000_000_004)
	require.NoError(t, log.Close())

	// The same as a single file, which Redis moves as this package does.
	single := t.TempDir()
	data, err := os.ReadFile(filepath.Join(dir, "appendonlydir", "appendonly.aof.2.incr.aof"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(single, "appendonly.aof"), data, 0o644))
	r = startRedis(t, single)
	require.Equal(t, "2", r.ask("GET a"))
	require.Equal(t, "+OK", r.ask("SELECT 3"))
	require.Equal(t, "$-1", r.ask("GET b"))
	require.Equal(t, "redis", r.ask("GET from"))
	r.shutdown()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "appendonly.aof"), data, 0o644))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "appendonlydir")))
	_, found = read(t, o)
	require.True(t, found.Found)
	ours, err := os.ReadFile(filepath.Join(dir, "appendonlydir", "appendonly.aof.manifest"))
	require.NoError(t, err)
	theirs, err := os.ReadFile(filepath.Join(single, "appendonlydir", "appendonly.aof.manifest"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(theirs), string(ours)), "%s is not the beginning of %s", ours,
		theirs)
}

// TestLoadRedisFiles reads the directory that redis-server 7.0.15 left (testdata/redis).
func TestLoadRedisFiles(t *testing.T) {
	recorded := filepath.Join("testdata", "redis")
	if *record {
		dir := t.TempDir()
		r := startRedis(t, dir, "--aof-use-rdb-preamble", "no", "--aof-timestamp-enabled", "yes")
		r.ask("SET before 1")
		r.ask("BGREWRITEAOF")
		for info := ""; !strings.Contains(info, "aof_rewrites:1") ||
			!strings.Contains(info, "aof_rewrite_in_progress:0"); info = r.ask("INFO persistence") {
			continue // until it is set
		}
		r.ask("SELECT 2")
		r.ask(`EVAL "redis.call('SET','x','1') redis.call('SET','y','2')" 0`)
		r.ask("MULTI")
		r.ask("SET a 1")
		r.ask("DEL a")
		r.ask("EXEC")
		r.ask("SET last 1")
		r.shutdown()
		require.NoError(t, os.RemoveAll(recorded))
		require.NoError(t, os.CopyFS(recorded, os.DirFS(dir)))
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(recorded)))
	got, found := read(t, aof.Options{FS: disk.OS(dir)})
	require.Equal(t, []string{
		"SELECT 0", "SET before 1", "SELECT 2", "SET x 1", "SET y 2", "SET a 1", "DEL a", "SET last 1",
	}, got)
	require.True(t, found.Found)
	require.Zero(t, found.InstantMs, "Redis writes no instants that we read")
	log, err := aof.Open(aof.Options{FS: disk.OS(dir)}, found, true, nothing)
	require.NoError(t, err)
	log.Append(group(0, "SET z 1"), 5)
	require.NoError(t, log.Close())
	got, _ = read(t, aof.Options{FS: disk.OS(dir)})
	require.Len(t, got, 10)
}
