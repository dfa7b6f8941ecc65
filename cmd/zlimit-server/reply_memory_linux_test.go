package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// longReplies are calls that answer more than 64 KB, with the data of fillForReplies. A part before " | "
// makes what the call removes. Calls of the keyspace run in EXEC and in scripts, the others in EXEC.
var longReplies = []string{
	"GET v", "DUMP h", "DUMP l", "DUMP s", "DUMP z", "GETRANGE v 0 -1", "SUBSTR v 0 -1", "GETEX v PERSIST",
	"DUMP v", "MGET v v v v", "LCS v1 v1", "SET v2 x | GETSET v2 x", "COPY v v2 REPLACE | GETDEL v2",
	"COPY v v2 REPLACE | SET v2 x GET", "LRANGE l 0 -1", "LPOS l e COUNT 0",
	"COPY l l2 REPLACE | LPOP l2 1000000", "COPY l l2 REPLACE | RPOP l2 1000000",
	"COPY l l2 REPLACE | LMPOP 1 l2 LEFT COUNT 1000000",
	"COPY l l2 REPLACE | BLMPOP 0 1 l2 LEFT COUNT 1000000", "LINDEX l3 0", "COPY l3 l2 REPLACE | LPOP l2",
	"COPY l3 l2 REPLACE | RPOP l2", "LMOVE l3 l3 LEFT RIGHT", "RPOPLPUSH l3 l3",
	"BLMOVE l3 l3 LEFT RIGHT 0", "BRPOPLPUSH l3 l3 0", "COPY l3 l2 REPLACE | BLPOP l2 0",
	"COPY l3 l2 REPLACE | BRPOP l2 0", "SORT l ALPHA", "SORT l BY nosort GET # GET v1",
	"SORT_RO l BY nosort", "HGETALL h", "HKEYS h", "HVALS h", "HRANDFIELD h -6250 WITHVALUES",
	"HRANDFIELD h 100000", "HGET h2 f", "HMGET h2 f f f", "HSCAN h 0 COUNT 1000000", "SMEMBERS s",
	"SRANDMEMBER s -6250", "SRANDMEMBER s 100000", "COPY s s2 REPLACE | SPOP s2 4750", "SINTER s s",
	"SUNION s s", "SDIFF s none", "SSCAN s 0 COUNT 1000000", "ZRANGE z 0 -1 WITHSCORES",
	"ZREVRANGE z 0 -1", "ZRANGEBYSCORE z -inf inf", "ZREVRANGEBYSCORE z inf -inf", "ZRANGEBYLEX z - +",
	"ZREVRANGEBYLEX z + -", "ZUNION 2 z z WITHSCORES", "ZINTER 2 z z", "ZDIFF 1 z",
	"ZRANDMEMBER z -6250 WITHSCORES", "ZRANDMEMBER z 100000", "ZSCAN z 0 COUNT 1000000",
	"COPY z z2 REPLACE | ZPOPMIN z2 1000000", "COPY z z2 REPLACE | ZPOPMAX z2 1000000",
	"COPY z z2 REPLACE | ZMPOP 1 z2 MIN COUNT 1000000",
	"COPY z z2 REPLACE | BZMPOP 0 1 z2 MIN COUNT 1000000", "COPY z3 z2 REPLACE | BZPOPMIN z2 0",
	"COPY z3 z2 REPLACE | BZPOPMAX z2 0", "SELECT 1 | KEYS *", "SELECT 1 | SCAN 0 COUNT 1000000",
	"COMMAND", "COMMAND DOCS", "COMMAND INFO", "COMMAND LIST", "FUNCTION LIST WITHCODE", "FUNCTION DUMP",
	"ECHO " + strings.Repeat("e", 100_000), "PING " + strings.Repeat("p", 100_000),
	"EVAL_RO \"return redis.call('GET',KEYS[1])\" 1 v",
	"EVAL \"local t={} for i=1,20 do t[i]=ARGV[1] end return t\" 0 " + strings.Repeat("a", 10_000),
	"FCALL read 1 v", "FCALL_RO read 1 v",
}

// otherReplies are the commands whose reply is short, or grows only with the arguments, the clients, the
// topics, the operator's files or a log that a directive bounds. A container stands for its subcommands.
const otherReplies = `
acl append asking auth bgrewriteaof bgsave bitcount bitfield bitfield_ro bitop bitpos cl.throttle
client cluster config copy dbsize debug decr decrby del discard exec exists expire expireat
expiretime evalsha evalsha_ro failover flushall flushdb getbit hdel hello hexists hincrby
hincrbyfloat hlen hmset hset hsetnx hstrlen incr incrby incrbyfloat increx info lastsave latency
linsert llen lolwut lpush lpushx lrem lset ltrim memory module monitor move mset msetnx multi object
persist pexpire pexpireat pexpiretime pfadd psetex psubscribe psync pttl publish pubsub punsubscribe
quit randomkey readonly readwrite rename renamenx replconf replicaof reset restore restore-asking
rl.acquire rl.adopt rl.allow rl.cancel rl.check rl.doctor rl.explain rl.help rl.info rl.mallow rl.mcancel
rl.mreserve rl.msettle rl.policy rl.refund rl.release rl.renew rl.reserve rl.reset rl.settle rl.sim rl.stats
rl.throttle rl.top rl.trace role script select rpush
rpushx sadd save scard sdiffstore setbit setex setnx setrange shutdown sintercard sinterstore
sismember slaveof slowlog smismember smove spublish srem ssubscribe strlen subscribe sunionstore
sunsubscribe swapdb sync time touch ttl type unlink unsubscribe unwatch wait waitaof watch zadd
zcard zcount zdiffstore zincrby zintercard zinterstore zlexcount zmscore zrangestore zrank zrem
zremrangebylex zremrangebyrank zremrangebyscore zrevrank zscore zunionstore`

// incompressible returns n bytes without repetitions.
func incompressible(n int) string {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = 'a' + byte(x>>24%26)
	}
	return string(b)
}

const replyElements = 5_000

// fillForReplies stores values of about 250 KB, whose elements differ in all but their order. What the test
// costs is in proportion to them.
func fillForReplies(t *testing.T, c *replyClient) {
	t.Helper()
	long := incompressible(250_000)
	c.do(t, "SET", "v", long)
	c.do(t, "SET", "v1", long[:3000])
	c.do(t, "RPUSH", "l3", long)
	c.do(t, "HSET", "h2", "f", long)
	c.do(t, "ZADD", "z3", "1", long)
	c.do(t, "FUNCTION", "LOAD", "#!lua name=lib\n-- "+strings.Repeat("-", 100_000)+
		"\nredis.register_function{function_name='read',flags={'no-writes'},"+
		"callback=function(k) return redis.call('GET',k[1]) end}")
	for i := 0; i < replyElements; i += 100 {
		list, hash := []string{"RPUSH", "l"}, []string{"HSET", "h"}
		set, sorted := []string{"SADD", "s"}, []string{"ZADD", "z"}
		keys := []string{"MSET"}
		for j := i; j < i+100; j++ {
			name := fmt.Sprintf("element:%032d", j)
			list, set = append(list, name), append(set, name)
			hash, sorted = append(hash, name, "value"), append(sorted, "0", name)
			keys = append(keys, name, "")
		}
		for _, words := range [][]string{list, hash, set, sorted, {"SELECT", "1"}, keys, {"SELECT", "0"}} {
			c.do(t, words...)
		}
		c.do(t, "RPUSH", "l", "e")
	}
}

// A replyClient reads replies without keeping them.
type replyClient struct {
	net.Conn
	r *bufio.Reader
}

func newReplyClient(t *testing.T, p *process) *replyClient {
	t.Helper()
	nc, err := net.Dial("tcp", p.addr)
	require.NoError(t, err)
	t.Cleanup(func() { nc.Close() })
	return &replyClient{nc, bufio.NewReaderSize(nc, 1<<20)}
}

const replyMark = "+the end of the replies"

// send sends input and reads until it is answered. It returns how many bytes that were, and whether the
// server closed the connection instead.
func (c *replyClient) send(t *testing.T, input []byte) (read int64, closed bool) {
	t.Helper()
	go func() {
		script := "return redis.status_reply('" + replyMark[1:] + "')"
		_, _ = c.Write(append(input, encodeCommand("EVAL", script, "0")...))
	}()
	for {
		line, err := c.r.ReadSlice('\n')
		read += int64(len(line))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
			return read, true
		case bytes.HasPrefix(line, []byte(replyMark)):
			return read, false
		}
		// Not by require: this is every line, and require looks up its callers each time.
		if read < 1000 && line[0] == '-' && !bytes.HasPrefix(line, []byte("-ERR not enough memory")) {
			t.Fatalf("refused: %s", line)
		}
	}
}

func (c *replyClient) do(t *testing.T, words ...string) {
	t.Helper()
	_, closed := c.send(t, encodeCommand(words...))
	require.False(t, closed, words[:2])
}

// words splits a call, whose quotes hold the sources of scripts.
func callWords(call string) (words []string) {
	for i, part := range strings.Split(call, `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// inExec returns a transaction that makes a call n times.
func inExec(call string, n int) []byte {
	b := append(encodeCommand("MULTI"), calls(call, n)...)
	return append(append(b, encodeCommand("EXEC")...), encodeCommand("SELECT", "0")...)
}

// inPipeline returns a call n times, one after the other.
func inPipeline(call string, n int) []byte {
	return append(calls(call, n), encodeCommand("SELECT", "0")...)
}

// calls returns a call n times.
func calls(call string, n int) (b []byte) {
	before, call, prepared := cutCall(call)
	for range n {
		if prepared {
			b = append(b, encodeCommand(callWords(before)...)...)
		}
		b = append(b, encodeCommand(callWords(call)...)...)
	}
	return b
}

// inScript returns a script that does, or nil if scripts may not call it.
func inScript(call string, n int) []byte {
	before, call, prepared := cutCall(call)
	for _, no := range []string{"COMMAND", "EVAL", "FCALL", "FUNCTION", "BL", "BR", "BZ"} {
		if strings.HasPrefix(call, no) {
			return nil
		}
	}
	script := "local t={} for i=1,ARGV[1] do "
	if prepared {
		script += "redis.call(" + luaWords(before) + ") "
	}
	script += "t[i]=redis.call(" + luaWords(call) + ") end return t"
	return encodeCommand("EVAL", script, "0", fmt.Sprint(n))
}

func cutCall(call string) (before, main string, prepared bool) {
	if before, main, prepared = strings.Cut(call, " | "); !prepared {
		return "", before, false
	}
	return before, main, true
}

func luaWords(call string) string { return "'" + strings.Join(callWords(call), "','") + "'" }

// TestRepliesResident makes every call that answers much so often that its replies pass
// client-output-buffer-limit, in EXEC and in a script: that takes 16 MB at most, and the client is closed.
// Without a limit the replies of EXEC are sent: of each form some twenty megabytes, which take at most 1.5
// times their size, beside what the collector lets a heap grow by. A script also takes what lua-memory-limit
// allows it, which bounds its reply.
func TestRepliesResident(t *testing.T) {
	if race.Enabled {
		t.Skip("the measured process is built without the race detector: make test has measured it")
	}
	for name, m := range map[string]struct {
		outputMB, roomMB int
		calls            []string
		times            int
	}{
		"limited":   {4, 16, longReplies, 24},
		"unlimited": {0, 8, replyForms, 80}, // a second copy is more than the room
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const scriptMB = 4
			words, _ := anyPort(t)
			p := runForReplies(t, m.outputMB, append(words, "--busy-reply-threshold", "0",
				"--lua-memory-limit", fmt.Sprintf("%dmb", scriptMB))...)
			for _, call := range m.calls {
				p.requireResident(t, "EXEC "+call, inExec(call, m.times), m.outputMB, m.roomMB)
				if script := inScript(call, m.times); script != nil && m.outputMB > 0 {
					p.requireResident(t, "EVAL "+call, script, m.outputMB, scriptMB+m.roomMB)
				}
			}
		})
	}
}

// runForReplies runs a server with a limit of replies in MB, 0 for none, and fills it. Its collector runs
// often, so that what it lags behind is little beside what is measured.
func runForReplies(t *testing.T, outputMB int, words ...string) *process {
	t.Helper()
	limit := fmt.Sprintf("normal %dmb 0 0", outputMB)
	p := prepare(t, append(words, "--client-output-buffer-limit", limit)...)
	p.cmd.Env = append(os.Environ(), "GOGC=25")
	p.run(t)
	p.readGreeting(t, p.stdout)
	fillForReplies(t, newReplyClient(t, p))
	return p
}

// requireResident requires that a client's input takes roomMB at most; without a limit of replies, outputMB,
// also 1.5 times what is answered. How far the collector lags behind depends on what else the machine does.
func (p *process) requireResident(t *testing.T, what string, input []byte, outputMB, roomMB int) {
	t.Helper()
	var most, replyMB, bound int
	for range 4 {
		newReplyClient(t, p).do(t, "MEMORY", "PURGE")
		before := p.residentMB(t, "VmRSS")
		peak := fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid)
		require.NoError(t, os.WriteFile(peak, []byte("5"), 0))
		c := newReplyClient(t, p)
		read, closed := c.send(t, input)
		c.Close()
		require.False(t, outputMB == 0 && closed, "%.60s", what)
		most, replyMB = p.residentMB(t, "VmHWM")-before, int(read>>20)
		if outputMB > 0 && !strings.HasPrefix(what, "pipeline") {
			require.LessOrEqual(t, replyMB, outputMB, "%.60s passed the limit", what)
		}
		if bound = roomMB; outputMB == 0 {
			bound += replyMB * 3 / 2
		}
		if most <= bound {
			break
		}
	}
	t.Logf("%.60s: %d MB at most, replies of %d MB", what, most, replyMB)
	require.LessOrEqual(t, most, bound, "%.60s", what)
}

// replyForms are long replies of each form: one text, texts of a request, of a reply that is built, sorted,
// scanned, popped, nested.
var replyForms = []string{
	"GET v", "MGET v v v v", "HGETALL h", "SORT l BY nosort GET # GET v1", "SELECT 1 | KEYS *",
	"COPY z z2 REPLACE | ZMPOP 1 z2 MIN COUNT 1000000", "COMMAND DOCS",
}

// TestGatewayRepliesResident is TestRepliesResident for what a gateway takes, which passes on bytes, whatever
// the command. Its upstream has no limit.
func TestGatewayRepliesResident(t *testing.T) {
	if race.Enabled {
		t.Skip("the measured process is built without the race detector: make test has measured it")
	}
	words, _ := anyPort(t)
	up := start(t, words...)
	for name, m := range map[string]struct {
		outputMB, roomMB   int
		inExec, inPipeline []string
	}{
		"limited":   {4, 16, replyForms, replyForms},
		"unlimited": {0, 8, replyForms, nil},
	} {
		t.Run(name, func(t *testing.T) {
			words, _ := anyPort(t)
			newReplyClient(t, up).do(t, "FLUSHALL", "SYNC")
			newReplyClient(t, up).do(t, "FUNCTION", "FLUSH")
			p := runForReplies(t, m.outputMB, append(words,
				"--upstream", "redis+single://"+up.addr, "--upstream-timeout", "60000")...)
			for _, call := range m.inExec {
				p.requireResident(t, "EXEC "+call, inExec(call, 24), m.outputMB, m.roomMB)
			}
			for _, call := range m.inPipeline {
				p.requireResident(t, "pipeline "+call, inPipeline(call, 24), m.outputMB, m.roomMB)
			}
		})
	}
}

// TestEveryReplyIsBounded requires that each command is one of those that answer much, or known to answer
// little.
func TestEveryReplyIsBounded(t *testing.T) {
	words, _ := anyPort(t)
	p := start(t, words...)
	c := newReplyClient(t, p)
	_, err := c.Write(encodeCommand("COMMAND", "LIST"))
	require.NoError(t, err)
	known := map[string]bool{}
	for _, call := range longReplies {
		_, call, _ = cutCall(call)
		known[strings.ToLower(strings.Fields(call)[0])] = true
	}
	for _, name := range strings.Fields(otherReplies) {
		require.False(t, known[name], name)
		known[name] = true
	}
	var n int
	_, err = fmt.Fscanf(c.r, "*%d\r\n", &n)
	require.NoError(t, err)
	require.Greater(t, n, 200)
	for range n {
		var length int
		_, err = fmt.Fscanf(c.r, "$%d\r\n", &length)
		require.NoError(t, err)
		name := make([]byte, length+2)
		_, err = io.ReadFull(c.r, name)
		require.NoError(t, err)
		command, _, _ := strings.Cut(string(name[:length]), "|")
		require.True(t, known[command],
			"%s: is its reply long? Then it belongs into longReplies, otherwise into otherReplies", command)
	}
}
