package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// misconfCommands are sent to a server with save points whose last save has failed.
// Words are separated by bars.
var misconfCommands = strings.Split(strings.TrimSpace(`
SET|k|w
GET|k
PING
PING|x
EVAL|return redis.call('set','k','1')|0
EVAL|return redis.pcall('set','k','1')['err']|0
EVAL|return redis.call('get','k')|0
EVAL|#!lua\nreturn 1|0
EVAL|#!lua flags=no-writes\nreturn 1|0
EVAL_RO|#!lua\nreturn 1|0
FCALL|fw|0
FCALL|fr|0
FCALL_RO|fw|0
PUBLISH|a|b
SPUBLISH|a|b
FLUSHALL
SCRIPT|LOAD|return 1
FUNCTION|FLUSH
MULTI
SET|a|b
EXEC
MULTI
GET|a
EXEC
SAVE
DEL|k
GETEX|k
SWAPDB|0|1
SET|k
XX
COPY|a|b
SHUTDOWN|SAVE
CONFIG|SET|stop-writes-on-bgsave-error|no
SET|k|w
`), "\n")

// misconfReplies removes the directory and returns the replies to misconfCommands.
func misconfReplies(t *testing.T, c *wire, dir string) string {
	t.Helper()
	c.call(t, "SET", "k", "v")
	c.call(t, "FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('fw', function() return 1 end)\n"+
		"redis.register_function{function_name='fr', callback=function() return 2 end, flags={'no-writes'}}")
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, "-ERR", c.call(t, "SAVE"))
	c.call(t, "BGSAVE")
	eventually(t, func() bool {
		info := c.call(t, "INFO", "persistence")
		return strings.Contains(info, "rdb_bgsave_in_progress:0") && // SAVE is refused before
			strings.Contains(info, "rdb_last_bgsave_status:err")
	}, func() {})
	var b strings.Builder
	for _, q := range misconfCommands {
		reply := c.call(t, strings.Split(strings.ReplaceAll(q, `\n`, "\n"), "|")...)
		b.WriteString("> " + q + "\n" + strings.ReplaceAll(reply, "\r\n", " ") + "\n")
	}
	return b.String()
}

// TestMisconfAsRedis compares with the replies of redis-server 7.0.15, recorded
// with -record.
func TestMisconfAsRedis(t *testing.T) {
	t.Parallel()
	const file = "testdata/misconf.txt"
	if *record {
		dir := filepath.Join(t.TempDir(), "d")
		require.NoError(t, os.Mkdir(dir, 0o700))
		c, end := startRedisInDir(t, dir, "--save", "100000", "1")
		require.NoError(t, os.WriteFile(file, []byte(misconfReplies(t, c, dir)), 0o600))
		c.call(t, "CONFIG", "SET", "save", "")
		end()
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(dir, 0o700))
	srv, end := startWithDisk(t, engine.Directory(dir), "--save", "100000", "1")
	require.Equal(t, string(want), misconfReplies(t, connectLoaded(t, srv), dir))
	_ = end() // the directory is gone
}
