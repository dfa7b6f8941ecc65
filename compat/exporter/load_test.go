package exporter

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/lab/abuse"
)

// commands fill a server with a key of each type, those that are refused here in
// database 2, and leave a trace in every statistic: failed and rejected calls,
// a script, a deadline, a spike of latency.
var commands = strings.Split(strings.TrimSpace(`
SET k:number 5
SET k:text hello EX 1000
RPUSH k:list a b c
SADD k:set a b
ZADD k:zset 1 a
HSET k:hash f v
SELECT 1
SET other:1 x
SELECT 2
SET k:text hello
PFADD k:hll a b
XADD k:stream * f v
SELECT 0
GET k:number
GET absent
LPUSH k:number x
GET
NOSUCHCOMMAND
EVAL "return redis.call('get', KEYS[1])" 1 k:number
FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
FCALL f 0
PUBLISH channel message
MULTI
INCR k:number
EXEC
CONFIG SET latency-monitor-threshold 20
EVAL "local n = 0 for i = 1, 3000000 do n = (n + i) % 7 end return n" 0
CONFIG SET latency-monitor-threshold 0
`), "\n")

// load sends the commands as inline commands. Errors are part of the load.
func load(t *testing.T, addr string) {
	t.Helper()
	c, err := abuse.Dial(addr, "")
	require.NoError(t, err)
	defer c.Close()
	for _, line := range commands {
		require.NoError(t, c.Send([]byte(line+"\r\n")))
		var refused abuse.ErrorReply
		if _, err := c.Reply(); !errors.As(err, &refused) {
			require.NoError(t, err, line)
		}
	}
}
