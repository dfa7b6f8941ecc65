package main

import "strings"

// connMakers generate the commands about the connection and the server, inline commands and invalid ones.
var connMakers = []maker{
	{6, func(g *generator) { g.command("PING") }},
	{3, func(g *generator) { g.command(pick(g.r, "PING", "ECHO"), pick(g.r, sampleStrings...)) }},
	{4, func(g *generator) { g.send("HELLO", pick(g.r, "2", "3")) }},
	{3, func(g *generator) {
		// No password is set: AUTH is refused, the default user may name itself with any.
		args := [][]string{
			{"HELLO"},
			{"HELLO", "1"},
			{"HELLO", "4"},
			{"HELLO", "x"},
			{"HELLO", ""},
			{"HELLO", "3", "SETNAME", "me"},
			{"HELLO", "2", "SETNAME", "with space"},
			{"HELLO", "3", "NOSUCH"},
			{"HELLO", "3", "AUTH", "default"},
			{"HELLO", "3", "AUTH", "nobody", "x"},
			{"HELLO", "2", "AUTH", "default", "x"},
			{"AUTH", "x"},
			{"AUTH", "nobody", "x"},
			{"AUTH", "default", "x"},
			{"AUTH"},
			{"AUTH", "a", "b", "c"},
			{"HELLO", "3", "SETNAME"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{2, func(g *generator) { g.send("RESET") }},
	{1, func(g *generator) { g.send("RESET", "x") }},
	{2, func(g *generator) {
		g.send("CLIENT", g.spell("SETNAME"), pick(g.r, "", "me", "a-b", "with space", "line\n", "\xff"))
	}},
	{2, func(g *generator) { g.send("CLIENT", g.spell("GETNAME")) }},
	{6, func(g *generator) {
		args := [][]string{
			{"CLIENT", "ID"},
			{"CLIENT", "INFO"},
			{"CLIENT", "LIST"},
			{"CLIENT", "LIST", "TYPE", "normal"},
			{"CLIENT", "LIST", "ID", "999999999"},
			{"CLIENT", "LIST", "TYPE", "nosuch"},
			{"CLIENT", "LIST", "NOSUCH", "x"},
			{"CLIENT", "LIST", "ID", "x"},
			{"CLIENT", "SETINFO", "lib-name", "redis-py"},
			{"CLIENT", "SETINFO", "LIB-VER", "5.0"},
			{"CLIENT", "SETINFO", "nosuch", "x"},
			{"CLIENT", "KILL", "ID", "999999999"},
			{"CLIENT", "KILL", "1.2.3.4:5"},
			{"CLIENT", "KILL", "ADDR", "1.2.3.4:5"},
			{"CLIENT", "KILL", "ID", "x"},
			{"CLIENT", "KILL", "TYPE", "nosuch"},
			{"CLIENT", "KILL", "NOSUCH", "x"},
			{"CLIENT", "KILL"},
			{"CLIENT", "KILL", "USER", "nobody"},
			{"CLIENT", "KILL", "ID", "999999999", "SKIPME", "yes"},
			{"CLIENT", "KILL", "ID", "999999999", "SKIPME", "x"},
			{"CLIENT", "NO-EVICT", "ON"},
			{"CLIENT", "NO-EVICT", "off"},
			{"CLIENT", "NO-EVICT", "x"},
			{"CLIENT", "NO-EVICT"},
			{"CLIENT", "NO-TOUCH", "ON"},
			{"CLIENT", "NO-TOUCH", "OFF"},
			{"CLIENT", "NO-TOUCH", "x"},
			{"CLIENT", "PAUSE", "x"},
			{"CLIENT", "PAUSE", "-1", "WRITE"},
			{"CLIENT", "PAUSE", "1.5"},
			{"CLIENT", "PAUSE", "9223372036854775808"},
			{"CLIENT", "PAUSE", "10", "x"},
			{"CLIENT", "PAUSE", "10", "ALL", "x"},
			{"CLIENT", "PAUSE"},
			{"CLIENT", "UNPAUSE"},
			{"CLIENT", "UNPAUSE", "x"},
			{"MONITOR", "x"},
			{"CLIENT", "REPLY", "x"},
			{"CLIENT", "REPLY"},
			{"CLIENT", "REPLY", "ON"},
			{"CLIENT"},
			{"CLIENT", "NOSUCH"},
			{"CLIENT", "NOSUCH", "x"},
			{"CLIENT", "ID", "x"},
			{"CLIENT", "SETNAME"},
			{"CLIENT", "GETNAME", "x"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{5, func(g *generator) {
		args := [][]string{
			{"COMMAND"},
			{"COMMAND", "COUNT"},
			{"COMMAND", "COUNT", "x"},
			{"COMMAND", "LIST"},
			{"COMMAND", "LIST", "FILTERBY", "PATTERN", "zadd"},
			{"COMMAND", "LIST", "FILTERBY", "NOSUCH", "x"},
			{"COMMAND", "DOCS", "get"},
			{"COMMAND", "DOCS", "nosuch"},
			{"COMMAND", "NOSUCH"},
			{"COMMAND", "INFO", pick(g.r, knownCommands...)},
			{"COMMAND", "INFO", pick(g.r, knownCommands...), "nosuch", pick(g.r, knownCommands...)},
			{"COMMAND", "INFO", pick(g.r, "client|id", "config|get", "object|encoding", "script|load",
				"client|nosuch", "get|x")},
			{"COMMAND", "GETKEYS"},
			{"COMMAND", "GETKEYS", "nosuch"},
			{"COMMAND", "GETKEYS", "PING"},
			{"COMMAND", "GETKEYS", "GET"},
			{"COMMAND", "GETKEYS", "EVAL", "return 1", "2", "a", "b", "c"},
			{"COMMAND", "GETKEYS", "EVAL", "return 1", "x", "a"},
			{"COMMAND", "GETKEYS", "EVAL", "return 1", "0", "a"},
			{"COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2"},
			append([]string{"COMMAND", "GETKEYS"}, g.dataCommand()...),
			append([]string{"COMMAND", "GETKEYS"}, g.dataCommand()...),
		}
		g.send(pick(g.r, args...)...)
	}},
	{4, func(g *generator) {
		args := [][]string{
			{"CONFIG", "GET", "maxclients"},
			{"CONFIG", "GET", "timeout"},
			{"CONFIG", "GET", "proto-max-bulk-len"},
			{"CONFIG", "GET", "client-query-buffer-limit"},
			{"CONFIG", "GET", "tcp-keepalive"},
			{"CONFIG", "GET", "nosuch"},
			{"CONFIG", "GET"},
			{"CONFIG", "GET", "Timeout", "maxclient[s]"},
			{"CONFIG", "GET", "databases"},
			{"CONFIG", "GET", "save"},
			{"CONFIG", "GET", "requirepass"},
			{"CONFIG", "GET", "client-output-buffer-limit"},
			{"CONFIG", "GET", "appendonly"},
			{"CONFIG", "SET", "timeout", "0"},
			{"CONFIG", "SET", "timeout", "x"},
			{"CONFIG", "SET", "timeout", "-1"},
			{"CONFIG", "SET", "nosuch", "1"},
			{"CONFIG", "SET", "timeout"},
			{"CONFIG", "SET", "timeout", "0", "timeout", "0"},
			{"CONFIG", "SET", "databases", "5"},
			{"CONFIG", "SET", "proto-max-bulk-len", "512mb"},
			{"CONFIG", "SET", "proto-max-bulk-len", "x"},
			{"CONFIG", "SET", "TCP-keepalive", "300"},
			{"CONFIG", "SET"},
			{"CONFIG", "RESETSTAT"},
			{"CONFIG", "RESETSTAT", "x"},
			{"CONFIG", "NOSUCH"},
			{"CONFIG"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{3, func(g *generator) {
		args := [][]string{
			{"INFO"},
			{"INFO", "server"},
			{"INFO", "nosuch"},
			{"INFO", "server", "clients"},
			{"TIME"},
			{"TIME", "x"},
			{"CLUSTER", "KEYSLOT", g.key()},
			{"CLUSTER", "KEYSLOT", "{a}{b}"},
			{"CLUSTER", "KEYSLOT", "x{}y"},
			{"CLUSTER", "KEYSLOT", "{{a}}"},
			{"CLUSTER", "KEYSLOT"},
			{"ECHO"},
			{"ECHO", "a", "b"},
			{"PING", "a", "b"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{2, func(g *generator) {
		args := [][]string{
			{"NOSUCH"},
			{"nosuch", "a", strings.Repeat("b", 200), "c"},
			{"a\r\nb"},
			{"\x00\xff"},
			{strings.Repeat("long", 60), "x"},
			{"get"},
			{"Zadd", "x"},
			{"NO SUCH", "with space"},
			{"", "x"},
			{"nosuch", "a\r\nb\x00", "'q'"},
		}
		g.send(pick(g.r, args...)...)
	}},
	{4, (*generator).inline},
	{2, (*generator).clientReply},
	{1, (*generator).hangUp},
}

// knownCommands are the commands whose rows COMMAND INFO compares.
var knownCommands = []string{
	"zadd", "ZADD", "zrem", "zcard", "zcount", "zscore", "zmscore", "zincrby", "zrank", "zrevrank", "zrange",
	"zrangebyscore",
	"zrevrange", "zrevrangebyscore", "zremrangebyscore", "zremrangebyrank", "zpopmin", "zpopmax",
	"zrandmember", "zscan", "del", "unlink",
	"exists", "type", "expire", "pexpire", "expireat", "pexpireat", "ttl", "pttl", "expiretime",
	"pexpiretime", "persist", "rename",
	"renamenx", "keys", "scan", "randomkey", "touch", "get", "set", "setex", "psetex", "setnx", "getset",
	"getdel", "getex", "mget",
	"mset", "msetnx", "incr", "decr", "incrby", "decrby", "incrbyfloat", "append", "strlen", "getrange",
	"setrange", "multi", "exec",
	"hset", "hsetnx", "hmset", "hget", "hmget", "hgetall", "hdel", "hexists", "hlen", "hstrlen", "hkeys",
	"hvals", "hincrby",
	"hincrbyfloat", "hrandfield", "hscan",
	"sadd", "srem", "scard", "sismember", "smismember", "smembers", "srandmember", "spop", "smove", "sinter",
	"sunion", "sdiff",
	"sinterstore", "sunionstore", "sdiffstore", "sintercard", "sscan", "zrangestore", "zunion", "zinter",
	"zdiff", "zunionstore",
	"zinterstore", "zdiffstore", "zintercard", "copy", "move",
	"discard", "watch", "unwatch", "eval", "evalsha", "eval_ro", "evalsha_ro", "ping", "echo", "quit",
	"reset", "select", "hello", "auth",
	"lpush", "rpush", "lpushx", "rpushx", "lpop", "rpop", "llen", "lrange", "lindex", "lset", "ltrim", "lrem",
	"linsert", "lpos", "lmove",
	"lmpop", "zmpop", "blmpop", "bzmpop", "brpoplpush", "sort", "sort_ro", "lcs", "substr",
	"rpoplpush", "blpop", "brpop", "blmove", "bzpopmin", "bzpopmax", "info", "time", "dbsize", "flushdb",
	"flushall", "swapdb", "shutdown",
}

// inline sends a command as a user of telnet does. Every line has exactly one reply, except the empty ones,
// which have none and precede one that has.
func (g *generator) inline() {
	k := pick(g.r, "plain", "n1", "s1")
	line := pick(g.r, "PING", "ping hello", "GET "+k, "SET "+k+" \"a \\x41\\n\\\"q\"", "SET "+k+" 'it\\'s'",
		"  GET   "+k+"  ", "\tTYPE\t"+k,
		"NOSUCH x", "EXISTS a b c", "SET "+k+" \"\"", "ECHO \"\\xff\\x00\"", "GET", "ECHO 'a'",
		"ZADD plainz 1 a 2 b", "ZCARD plainz")
	raw := line + pick(g.r, "\r\n", "\r\n", "\n")
	if g.chance(30) {
		raw = pick(g.r, "\r\n", "\n", "*0\r\n", "*-1\r\n", "   \r\n", "*-5\r\n") + raw
	}
	g.add(step{raw: raw})
}

// clientReply sends one group of glued steps: without its end, later replies would be waited for in vain.
func (g *generator) clientReply() {
	if g.conn != 0 || g.out == nil {
		return
	}
	g.add(step{args: []string{"RESET"}}) // ends an open MULTI, which would queue CLIENT REPLY
	quiet := func(silent bool, args ...string) { g.add(step{args: args, silent: silent, glue: true}) }
	if g.chance(50) {
		quiet(true, "CLIENT", "REPLY", "SKIP")
		quiet(true, g.dataCommand()...)
		quiet(false, "PING")
		return
	}
	quiet(true, "CLIENT", "REPLY", "OFF")
	for range g.between(0, 4) {
		quiet(true, g.dataCommand()...)
	}
	if g.chance(30) {
		quiet(true, "CLIENT", "REPLY", "SKIP")
	}
	quiet(false, "CLIENT", "REPLY", "ON")
	quiet(false, "PING")
}

// hangUp makes the servers close the connection, by QUIT or by a protocol error.
func (g *generator) hangUp() {
	if g.chance(40) {
		g.add(step{args: []string{pick(g.r, "QUIT", "quit")}, closes: true})
		return
	}
	g.add(step{
		closes: true, raw: pick(g.r,
			"*1\r\n$-5\r\n", "*1\r\n+PING\r\n", "*x\r\n", "*1\r\n$x\r\nPING\r\n", "*2147483648\r\n",
			"*1\r\n$536870913\r\n",
			"*1\r\n$99999999999999999999\r\n", "*1\r\n\r\n", "SET a \"unbalanced\r\n", "GET 'a'b\r\n",
			"*3\r\n$3\r\nSET\r\n$1\r\na\r\n:1\r\n",
			"PING\r\n*1\r\n$-1\r\n", "*1\r\n$4\r\nPING\r\n*abc\r\n", "*99999999999999999999\r\n", "*1 \r\n",
			"*\r\n", "*1\r\n$ 4\r\nPING\r\n",
			// Longer than a line may be, and without an end that a fast reader could see in time.
			strings.Repeat("x", 66_000), "*1"+strings.Repeat("1", 66_000),
			"*1\r\n$4"+strings.Repeat("4", 66_000)),
	})
}
