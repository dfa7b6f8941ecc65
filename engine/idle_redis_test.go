package engine_test

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

var recordIdle = flag.Bool("record-idle", false, "record testdata/idle.txt from redis-server")

const idleRecording = "testdata/idle.txt"

// idleSetup makes a key of each type. Numbers are above those of which Redis has
// one object each, whose use is that of all keys.
var idleSetup = []string{
	"FLUSHALL", "SET s value", "SET n 123456", "RPUSH l a b c", "SADD i 1 2 3", "SADD m a b c",
	"HSET h f v g 7",
	"ZADD z 1 a 2 b", "ZADD y 1 1 2 2", "SET t value EX 1000",
}

// idleCalls are run ten seconds after the setup; the idle time of the key at the
// front is asked two seconds later.
var idleCalls = []string{
	"s: PING", "s: GET s", "s: STRLEN s", "s: GETRANGE s 0 1", "s: MGET n s", "s: APPEND s x",
	"s: SETRANGE s 1 x", `s: SETRANGE s 1 ""`,
	"n: INCR n", "n: INCRBYFLOAT n 0.5", "s: GETSET s other", "s: SET s other", "s: SET s other NX",
	"s: SET s x KEEPTTL", "s: SETNX s other",
	"s: GETEX s", "s: GETEX s EX 100", "s: MSET s other", "s: MSETNX s other", "s: EXISTS s", "s: TOUCH s",
	"s: TYPE s", "t: TTL t", "t: PTTL t",
	"t: EXPIRETIME t", "t: PEXPIRETIME t", "t: EXPIRE t 100", "t: EXPIRE t 100 NX", "t: PERSIST t",
	"s: PERSIST s", "s: OBJECT ENCODING s",
	"s: OBJECT IDLETIME s", "s: OBJECT FREQ s", "s: OBJECT REFCOUNT s", "s: DUMP s", "s: KEYS *", "s: SCAN 0",
	"s: SCAN 0 TYPE string", "s: WATCH s",
	"new: RENAME s new", "new: RENAMENX s new", "l: RENAMENX s l", "s: RENAMENX s l", "s: COPY s new",
	"new: COPY s new", "l: COPY s l", "l: COPY s l REPLACE",
	"s: LLEN s", "l: LLEN l", "l: LRANGE l 0 -1", "l: LINDEX l 0", "l: LPOS l a", "l: LPUSH l x",
	"l: LPUSHX l x", "l: LPOP l", "l: LTRIM l 0 1", "l: LREM l 0 x",
	"l: LSET l 0 x", "l: LINSERT l BEFORE a x", "l: LMOVE l new LEFT RIGHT", "new: LMOVE l new LEFT RIGHT",
	"l: RPOPLPUSH l l", "l: BLPOP l 0", "l: BLMOVE l new LEFT RIGHT 0",
	"i: SCARD i", "i: SISMEMBER i 1", "i: SMEMBERS i", "i: SADD i 1", "i: SREM i 9", "i: SPOP i",
	"i: SRANDMEMBER i", "i: SMOVE i m 9", "m: SMOVE i m 9", "m: SMOVE i m 1",
	"i: SUNION i m", "m: SINTERCARD 2 i m", "m: SDIFFSTORE m i", "i: SDIFFSTORE new i",
	"new: SDIFFSTORE new i", "i: SSCAN i 0", "i: SMISMEMBER i 1",
	"h: HGET h f", "h: HLEN h", "h: HGETALL h", "h: HSET h f v", "h: HSETNX h f v", "h: HDEL h none",
	"h: HINCRBY h g 1", "h: HSCAN h 0", "h: HRANDFIELD h", "h: HSTRLEN h f",
	"z: ZCARD z", "z: ZSCORE z a", "z: ZRANGE z 0 -1", "y: ZRANGEBYSCORE y 0 9", "z: ZADD z 1 a",
	"z: ZREM z none", "z: ZINCRBY z 1 a", "z: ZRANK z a", "z: ZCOUNT z 0 9",
	"y: ZPOPMIN y", "z: ZUNION 2 z y", "z: ZRANGESTORE new z 0 -1", "new: ZRANGESTORE new z 0 -1",
	"y: ZUNIONSTORE y 1 z", "z: ZREMRANGEBYRANK z 5 6", "z: ZMSCORE z a", "z: ZRANDMEMBER z",
	"z: ZSCAN z 0", "z: BZPOPMIN z 0",
	`s: EVAL "return 1" 1 s`, `s: EVAL "return redis.call('GET',KEYS[1])" 1 s`,
	`s: EVAL "return redis.call('TYPE',KEYS[1])" 1 s`,
	`s: EVAL "redis.call('RENAME',KEYS[1],'x') redis.call('RENAME','x',KEYS[1])" 1 s`,
	`r: RESTORE r 0 "\x00\x05value\x0a\x00\x92\xe8@\xa1\xf2P\xd1\xa3" IDLETIME 100`,
}

const idleStepMs = 10_000

// TestIdleTimesAreRedis compares what counts as a use of a key with redis-server.
func TestIdleTimesAreRedis(t *testing.T) {
	if *recordIdle {
		recordIdleFrom(t)
	}
	text, err := os.ReadFile(idleRecording)
	require.NoError(t, err)
	e, h := newEngine(t)
	s := newSession(t, e)
	got := idleTimes(t, func(line string) string { return show(s.Do(wordsOf(t, line))) },
		func(ms int64) { h.pass(ms) })
	require.Equal(t, string(text), got)
}

// idleTimes runs the calls, each after the setup, and lists the idle times.
func idleTimes(t *testing.T, ask func(line string) string, pass func(ms int64)) string {
	var out strings.Builder
	for _, c := range idleCalls {
		key, line, ok := strings.Cut(c, ": ")
		require.True(t, ok, c)
		for _, one := range idleSetup {
			ask(one)
		}
		if key == "r" { // with a payload that is good whatever the version of the format
			line = strings.Replace(line, line[len("RESTORE r 0 "):strings.LastIndex(line, "\"")+1],
				strconv.Quote(ask("DUMP s")), 1)
		}
		pass(idleStepMs)
		ask(line)
		pass(2000)
		fmt.Fprintf(&out, "%s %s\n", strings.SplitN(c, "\\", 2)[0], ask("OBJECT IDLETIME "+key))
		ask("UNWATCH")
	}
	return out.String()
}

func recordIdleFrom(t *testing.T) {
	// Redis reads the use clock from a copy that its cron renews.
	redis, err := oracle.Start(oracle.Options{
		NowMs: startNowMs,
		Args:  []string{"--hz", "500", "--dynamic-hz", "no"},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, redis.Close()) }()
	nc, err := net.Dial("tcp", redis.Addr())
	require.NoError(t, err)
	r := bufio.NewReader(nc)
	ask := func(line string) string {
		words := wordsOf(t, line)
		fmt.Fprintf(nc, "*%d\r\n", len(words))
		for _, w := range words {
			fmt.Fprintf(nc, "$%d\r\n%s\r\n", len(w), w)
		}
		return readLine(t, r)
	}
	nowMs := int64(startNowMs)
	pass := func(ms int64) {
		nowMs += ms
		require.NoError(t, redis.SetClock(nowMs))
		want := fmt.Sprintf("lru_clock:%d\r\n", nowMs/1000%(1<<24))
		for tries := 0; !strings.Contains(ask("INFO server"), want); tries++ {
			require.Less(t, tries, 100_000, want)
		}
	}
	require.NoError(t, os.WriteFile(idleRecording, []byte(idleTimes(t, ask, pass)), 0o644))
	require.NoError(t, nc.Close())
}

// readLine reads one reply: the text of a bulk string, a number, nil as (nil); of
// an array it is only that it ends.
func readLine(t *testing.T, r *bufio.Reader) string {
	first, err := r.Peek(1)
	require.NoError(t, err)
	if first[0] == '*' {
		readReply(t, r)
		return ""
	}
	if first[0] == '$' {
		if head, _ := r.Peek(3); string(head) == "$-1" {
			readReply(t, r)
			return "(nil)"
		}
		return readReply(t, r)
	}
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line[1:])
}

// TestIdleTimesDiffer checks that the recorded calls include uses and others.
func TestIdleTimesDiffer(t *testing.T) {
	text, err := os.ReadFile(idleRecording)
	require.NoError(t, err)
	require.Contains(t, string(text), "s: GET s 2\n")
	require.Contains(t, string(text), "s: TYPE s 12\n")
	require.Contains(t, string(text), "s: PING 12\n")
}
