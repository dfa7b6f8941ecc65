package commands

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/resp"
)

// recordIntrospection asks the redis-server on this machine anew:
//
//	go test ./commands -run TestRecordIntrospection -record-introspection
var recordIntrospection = flag.Bool("record-introspection", false,
	"record testdata/introspection.txt from redis-server")

const (
	introspectionFile = "testdata/introspection.txt"
	recordedVersion   = "7.0.15"
)

// An exchange is one recorded command and its answer, without Redis' sentences: see
// masked.
type exchange struct {
	server string // "standalone" or "cluster": who was asked
	proto  int
	args   [][]byte
	reply  resp.Value
}

func (e *exchange) String() string {
	words := make([]string, len(e.args))
	for i, a := range e.args {
		words[i] = strconv.Quote(string(a))
	}
	return e.server + " " + strconv.Itoa(e.proto) + " " + strings.Join(words, " ")
}

// isAbout reports whether the question is COMMAND sub, for INFO and DOCS of one
// name.
func (e *exchange) isAbout(sub string) bool {
	return len(e.args) == 3 && EqualFold(e.args[0], "command") && EqualFold(e.args[1], sub)
}

// issueCommands are the commands of Redis that zlimit has or is to have.
var issueCommands = strings.Fields(`
	append decr decrby get getdel getex getrange getset incr incrby incrbyfloat
	mget mset msetnx psetex set setex setnx setrange strlen
	setbit getbit bitcount bitpos bitop bitfield bitfield_ro wait lolwut module
	del exists expire expireat expiretime keys object persist pexpire pexpireat
	pexpiretime pttl randomkey rename renamenx scan touch ttl type unlink
	zadd zcard zcount zincrby zlexcount zmscore zpopmax zpopmin zrandmember
	zrange zrangebylex zrangebyscore zrank zrem zremrangebylex zremrangebyrank
	zremrangebyscore zrevrange zrevrangebylex zrevrangebyscore zrevrank zscan
	zscore
	zrangestore zunion zinter zdiff zunionstore zinterstore zdiffstore zintercard
	sadd srem scard sismember smismember smembers srandmember spop smove sscan
	sinter sunion sdiff sinterstore sunionstore sdiffstore sintercard
	copy move dump restore restore-asking sort sort_ro lcs substr
	lpush rpush lpushx rpushx lpop rpop llen lrange lindex lset ltrim lrem linsert
	lpos lmove rpoplpush blpop brpop blmove bzpopmin bzpopmax
	lmpop blmpop zmpop bzmpop brpoplpush
	hdel hexists hget hgetall hincrby hincrbyfloat hkeys hlen hmget hmset
	hrandfield hscan hset hsetnx hstrlen hvals
	multi exec discard watch unwatch
	eval evalsha eval_ro evalsha_ro script fcall fcall_ro function
	ping echo quit reset select hello auth client command
	save bgsave lastsave bgrewriteaof
	info config time dbsize flushdb flushall swapdb cluster shutdown debug role
	asking readonly readwrite memory
	subscribe unsubscribe psubscribe punsubscribe publish pubsub
	ssubscribe sunsubscribe spublish acl slowlog latency
	psync replconf replicaof slaveof sync failover
`)

// questions are the commands for a standalone server. Those that every server with the
// named rows answers alike come first.
func questions() [][]string {
	var out [][]string
	for _, name := range issueCommands {
		out = append(out, []string{"command", "info", name}, []string{"command", "docs", name})
	}
	for _, line := range strings.Split(strings.TrimSpace(`
		command foo
		COMMAND FOO bar
		command count 1
		command info nosuch
		command info get nosuch GET
		command info object|nosuch object|encoding|x get|x object|
		command info OBJECT|Encoding
		command docs nosuch
		command docs object|nosuch
		command getkeys
		command getkeys nosuch a
		command getkeys get
		command getkeys dbsize x
		command getkeys get a
		command getkeys GET a
		command getkeys get a b c
		command getkeys get|x y z
		command getkeys mset a 1 b 2
		command getkeys mset a b c
		command getkeys mget a b c
		command getkeys rename a b
		command getkeys object nosuch q
		command getkeys object encoding a
		command getkeys object encoding a b
		command getkeys object|encoding a b
		command getkeys object help a
		command getkeys command info get
		command getkeys command nosuch get
		command getkeys zadd k nx 1 a
		command getkeysandflags
		command getkeysandflags get a b c
		command getkeysandflags get a
		command getkeysandflags set a b
		command getkeysandflags set a b get
		command getkeysandflags set a b EX GET
		command getkeysandflags set a get
		command getkeysandflags rename a b
		command getkeysandflags mset a 1 b 2
		command getkeysandflags zrem k m
		command getkeysandflags del a a
		command getkeysandflags copy a b db 1
		command getkeysandflags sunionstore d a b
		command getkeysandflags smove a b c
		command getkeysandflags sintercard 2 a b limit 1
		command getkeysandflags zunionstore d 2 a b weights 1 2
		command getkeysandflags zunionstore d 3 a b
		command getkeysandflags zunionstore d 0 a b
		command getkeysandflags zunionstore d -1 a b
		command getkeysandflags zunionstore d x a b
		command getkeysandflags zunionstore d +2 a b
		command getkeysandflags zunionstore d 1x a b
		command getkeys zunionstore d +2 a b
		command getkeys zunionstore d 9 a b
		command getkeys zunion 1 a b
		command getkeys zunion +1 a b
		command getkeys zunion 0 a b
		command getkeys eval x
		command getkeysandflags eval x 2 a
		command getkeysandflags lmpop 2 a b left
		command getkeysandflags blmpop 0 2 a b left count 1
		command getkeysandflags bzmpop 0 3 a b min
		command getkeys zmpop 0 a min
		command getkeysandflags lcs a b idx
		command getkeys sort k
		command getkeysandflags sort k by w_* get # get x_*->f
		command getkeysandflags sort k limit 0 1 store d
		command getkeys sort k store d store e
		command getkeys sort k store
		command getkeys sort k store by x
		command getkeys sort k store store d
		command getkeys sort k limit store d e store f
		command getkeys sort k store limit alpha store d
		command getkeysandflags sort_ro k by w_* store d
		command list x
		command list filterby
		command list filterby pattern
		command list filterby pattern a b
		command list filterby foo bar
		command list filterby module x
		command list FILTERBY ACLCAT nosuch
		command list filterby aclcat @string
		command list filterby pattern nosuch*
		command list filterby pattern OBJECT|E*
		command list filterby pattern ge[t]
		command help x
		cluster
		cluster foo
		CLUSTER FOO
		cluster info
		cluster nodes
		cluster slots
		cluster shards
		cluster myid
		cluster help
		cluster countkeysinslot 1
		cluster countkeysinslot x
		cluster countkeysinslot
		cluster getkeysinslot 1 2
		cluster keyslot
		cluster keyslot a b
		cluster info x
		object
		object foo
		object encoding
		get
		GET a b
		zadd k 1
		nosuch
		nosuch a
		NoSuch arg1 arg2
		nosuch|x y
		|
		get| a
	`), "\n") {
		out = append(out, strings.Fields(line))
	}
	for _, count := range []string{
		"0", "1", "2", "3", "-1", "abc", "", "1abc", "+1", " 1", "-", "01", "1.5", "1e0", "\t2", "\v1",
		"1\x00", "0x1",
		"2147483647", "2147483648", "4294967295", "4294967296", "4294967297", "9223372036854775807",
		"9223372036854775808", "-9223372036854775808", "-9223372036854775807", "-9223372036854775809",
		"18446744073709551617", "-18446744073709551617", "-4294967295", "-4294967294",
	} {
		out = append(out,
			[]string{"command", "getkeys", "eval", "x", count, "a", "b"},
			[]string{"command", "getkeysandflags", "eval", "x", count, "a", "b"})
	}
	long := strings.Repeat("x", 200)
	return append(out,
		[]string{"command", "getkeysandflags", "set", "a", "b", "get\x00x"},
		[]string{"command", "info", ""},
		[]string{"command", "getkeys", "", "a"},
		[]string{long}, []string{long, long, long},
		[]string{"nosuch", long}, []string{"nosuch", strings.Repeat("y", 100), long},
		append([]string{"nosuch"}, strings.Fields(strings.Repeat("abcdefgh ", 40))...),
		[]string{"nosuch", strings.Repeat("y", 124), "z"},
		[]string{"nosuch", strings.Repeat("y", 125), "z"},
		[]string{"nosuch", strings.Repeat("y", 126), "z"},
		[]string{"no\x00such", "a\x00b", "c"},
		[]string{"no\r\nsuch", "a\r\nb", "c"},
		[]string{"", "a"},
		[]string{"object", long}, []string{"object", "no\x00such"}, []string{"object", ""},
	)
}

// slotQuestions are sent to a cluster, the only one to answer them.
func slotQuestions() [][]string {
	var out [][]string
	for _, key := range []string{
		"", "a", "foo", "123456789", "foo{}", "{}", "{}{bar}", "{", "}", "}{", "{a", "a}", "{{bar}}",
		"{bar}{zap}", "foo{bar}{zap}", "foo{{bar}}zap", "rate_limit:{user_123}:/api/login", "{user_123}",
		"user_123", "rate_limit:{user_123", "a{b}c", "b", "{b}", "{ }", "{\x00}", "\x00", "\xff\xfe{\x80}x",
		"a}b{c}d", "c", strings.Repeat("k", 1000),
	} {
		out = append(out, []string{"cluster", "keyslot", key})
	}
	return out
}

func TestRecordIntrospection(t *testing.T) {
	if !*recordIntrospection {
		t.Skip("only with -record-introspection: it needs redis-server " + recordedVersion)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out,
		"# Answers of redis-server %s, recorded by TestRecordIntrospection with -record-introspection.\n",
		recordedVersion)
	fmt.Fprintf(&out,
		"# Who was asked, in which protocol, what; below it the answer. Texts that Redis words are masked.\n")
	record := func(server string, proto int, questions [][]string, flags ...string) {
		ask := startRedis(t, proto, flags...)
		for _, q := range questions {
			e := exchange{server: server, proto: proto}
			for _, word := range q {
				e.args = append(e.args, []byte(word))
			}
			e.reply = ask(q)
			e.reply = masked(&e)
			fmt.Fprintf(&out, "\n%s\n%q\n", &e, resp.Append(nil, &e.reply, proto))
		}
	}
	record("standalone", resp.RESP2, questions())
	record("standalone", resp.RESP3, questions())
	record("cluster", resp.RESP2, slotQuestions(), "--cluster-enabled", "yes")
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(introspectionFile, out.Bytes(), 0o644))
}

// startRedis starts a redis-server for one test, and returns a function that sends it a
// command.
func startRedis(t *testing.T, proto int, flags ...string) func(args []string) resp.Value {
	t.Helper()
	server, err := oracle.Start(oracle.Options{
		RealTime: true, Args: append([]string{"--cluster-port", "0"}, flags...),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	conn, err := server.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	in := bufio.NewReader(conn)
	ask := func(args []string) resp.Value {
		request := fmt.Appendf(nil, "*%d\r\n", len(args))
		for _, a := range args {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(a), a)
		}
		_, err := conn.Write(request)
		require.NoError(t, err)
		reply, err := readReply(in)
		require.NoError(t, err, "%q", args)
		return reply
	}
	hello := ask([]string{"HELLO", strconv.Itoa(proto)})
	at := slices.IndexFunc(hello.Elems(), func(v resp.Value) bool { return v.Str() == "version" })
	require.Equal(t, recordedVersion, hello.Elems()[at+1].Str())
	return ask
}

// recorded reads the recording.
func recorded(t *testing.T) []exchange {
	t.Helper()
	text, err := os.ReadFile(introspectionFile)
	require.NoError(t, err)
	var out []exchange
	for _, block := range strings.Split(string(text), "\n\n")[1:] {
		question, answer, ok := strings.Cut(strings.TrimSpace(block), "\n")
		require.True(t, ok, "%q", block)
		var e exchange
		_, err := fmt.Sscan(question, &e.server, &e.proto)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(question, " ")
		_, rest, _ = strings.Cut(rest, " ")
		e.args, err = oracle.Words(rest)
		require.NoError(t, err, "%q", question)
		raw, err := strconv.Unquote(answer)
		require.NoError(t, err)
		e.reply, err = readReply(bufio.NewReader(strings.NewReader(raw)))
		require.NoError(t, err)
		out = append(out, e)
	}
	require.NotEmpty(t, out)
	return out
}
