package main

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestEveryExceptionCanFail has, for each row of the list, a reply that it must allow and one that it must
// reject. A row without a case fails the test.
func TestEveryExceptionCanFail(t *testing.T) {
	info := func(flags, categories string) string {
		return "*1\r\n*7\r\n$3\r\nget\r\n:2\r\n" + flags + ":1\r\n:1\r\n:1\r\n" + categories
	}
	hello := func(server, version, id string) string {
		return "*6\r\n$6\r\nserver\r\n$5\r\n" + server + "\r\n$7\r\nversion\r\n$6\r\n" + version +
			"\r\n$2\r\nid\r\n:" + id + "\r\n"
	}
	tests := map[string]struct{ args, ref, allowed, rejected string }{
		"CLIENT ID":     {"CLIENT ID", ":5\r\n", ":6\r\n", "$1\r\n5\r\n"},
		"CLIENT INFO":   {"CLIENT INFO", "$3\r\nabc\r\n", "$1\r\na\r\n", "$-1\r\n"},
		"CLIENT LIST":   {"CLIENT LIST", "$3\r\nabc\r\n", "$1\r\na\r\n", "*0\r\n"},
		"COMMAND":       {"COMMAND", "*1\r\n:1\r\n", "*0\r\n", "*-1\r\n"},
		"COMMAND COUNT": {"COMMAND COUNT", ":240\r\n", ":120\r\n", "-ERR no\r\n"},
		"COMMAND DOCS":  {"COMMAND DOCS", "*0\r\n", "*2\r\n$1\r\na\r\n*0\r\n", "%0\r\n"},
		"COMMAND LIST":  {"COMMAND LIST", "*0\r\n", "*1\r\n$1\r\na\r\n", ":0\r\n"},
		"COMMAND INFO": {
			"COMMAND INFO get", info("*2\r\n+a\r\n+b\r\n", "*1\r\n+@x\r\n"),
			info("*2\r\n+b\r\n+a\r\n", "*1\r\n+@x\r\n"), info("*2\r\n+a\r\n+c\r\n", "*1\r\n+@x\r\n"),
		},
		"HELLO": {
			"HELLO", hello("redis", "7.0.15", "3"), hello("redis", "7.0.99", "4"),
			hello("other", "7.0.15", "3"),
		},
		"ACL GETUSER": {
			"ACL GETUSER u", "*1\r\n$21\r\n-@all +@set +get +del\r\n",
			"*1\r\n$31\r\n-@all +@set +del -rl.allow +get\r\n",
			"*1\r\n$22\r\n-@all +@set +get +incr\r\n",
		},
		"ACL LIST": {
			"ACL LIST", "*1\r\n$28\r\nuser u ~* %R~a -@all +a (+b)\r\n",
			"*1\r\n$31\r\nuser u ~* -@all +increx +a (+b)\r\n",
			"*1\r\n$23\r\nuser u ~* -@all +b (+a)\r\n",
		},
		"SLOWLOG GET": {
			"SLOWLOG GET 1",
			"*1\r\n*6\r\n:1\r\n:2\r\n:3\r\n*1\r\n$3\r\nget\r\n$1\r\na\r\n$0\r\n\r\n",
			"*1\r\n*6\r\n:4\r\n:5\r\n:6\r\n*1\r\n$3\r\nget\r\n$1\r\nb\r\n$0\r\n\r\n",
			"*1\r\n*6\r\n:1\r\n:2\r\n:3\r\n*1\r\n$3\r\nset\r\n$1\r\na\r\n$0\r\n\r\n",
		},
		"MEMORY USAGE": {"MEMORY USAGE k", ":5\r\n", ":6\r\n", "$-1\r\n"},
		"MEMORY STATS": {
			"MEMORY STATS", "*2\r\n$1\r\na\r\n:1\r\n", "*2\r\n$1\r\na\r\n:2\r\n",
			"*2\r\n$1\r\nb\r\n:1\r\n",
		},
		"MEMORY DOCTOR":       {"MEMORY DOCTOR", "$1\r\na\r\n", "$2\r\nab\r\n", ":1\r\n"},
		"LATENCY DOCTOR":      {"LATENCY DOCTOR", "$1\r\na\r\n", "$2\r\nab\r\n", ":1\r\n"},
		"MEMORY MALLOC-STATS": {"MEMORY MALLOC-STATS", "$1\r\na\r\n", "$2\r\nab\r\n", ":1\r\n"},
		"INFO":                {"INFO", "$1\r\na\r\n", "$2\r\nab\r\n", "=5\r\ntxt:a\r\n"},
		"CONFIG GET": {
			"CONFIG GET *", "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			"*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			"*4\r\n$1\r\na\r\n$1\r\n2\r\n$1\r\nb\r\n$1\r\n1\r\n",
		},
		"TIME": {
			"TIME", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n", "*2\r\n$1\r\n1\r\n$1\r\n3\r\n",
			"*1\r\n$1\r\n1\r\n",
		},
		"TTL":        {"TTL a", ":1000\r\n", ":1001\r\n", ":1010\r\n"},
		"EXPIRETIME": {"EXPIRETIME a", ":1700000000\r\n", ":1700000001\r\n", ":-1\r\n"},
		"PTTL":       {"PTTL a", ":1000000\r\n", ":1000900\r\n", ":1009000\r\n"},
		"PEXPIRETIME": {
			"PEXPIRETIME a", ":1700000000000\r\n", ":1700000000900\r\n",
			":1700000009000\r\n",
		},
		"KEYS": {
			"KEYS *", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\na\r\n",
		},
		"HGETALL": {
			"HGETALL h", "*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			"*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			"*4\r\n$1\r\na\r\n$1\r\n2\r\n$1\r\nb\r\n$1\r\n1\r\n",
		},
		"HKEYS": {
			"HKEYS h", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\na\r\n",
		},
		"HVALS": {
			"HVALS h", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\na\r\n",
		},
		"SCAN": {
			"SCAN 0", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n",
			"*2\r\n$1\r\n7\r\n*1\r\n$1\r\nb\r\n", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n",
		},
		"HSCAN": {
			"HSCAN h 0",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$1\r\n2\r\n$1\r\nb\r\n$1\r\n1\r\n",
		},
		"SORT": {
			"SORT s BY x", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\na\r\n",
		},
		"SORT_RO": {
			"SORT_RO s BY w_* ALPHA", "*2\r\n$1\r\na\r\n$1\r\nb\r\n",
			"*2\r\n$1\r\nb\r\n$1\r\na\r\n", "*1\r\n$1\r\na\r\n",
		},
		"SMEMBERS": {
			"SMEMBERS s", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\na\r\n",
		},
		"SINTER": {
			"SINTER s t", "~2\r\n$1\r\na\r\n$1\r\nb\r\n", "~2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\nb\r\n$1\r\na\r\n",
		},
		"SUNION": {
			"SUNION s t", "~2\r\n$1\r\na\r\n$1\r\nb\r\n", "~2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"~1\r\n$1\r\nb\r\n",
		},
		"SDIFF": {
			"SDIFF s t", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			"*2\r\n$1\r\na\r\n$1\r\nc\r\n",
		},
		"SSCAN": {
			"SSCAN s 0", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n",
			"*2\r\n$1\r\n0\r\n*2\r\n$1\r\nb\r\n$1\r\na\r\n", "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n",
		},
		"ZSCAN": {
			"ZSCAN z 0",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			"*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$1\r\n2\r\n$1\r\nb\r\n$1\r\n1\r\n",
		},
		"RANDOMKEY": {"RANDOMKEY", "$1\r\na\r\n", "$1\r\nb\r\n", "$-1\r\n"},
		"HRANDFIELD": {
			"HRANDFIELD h 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nc\r\n$1\r\nb\r\n",
			"*2\r\n$1\r\nc\r\n$1\r\nc\r\n",
		},
		"SPOP": {
			"SPOP s 2", "~2\r\n$1\r\na\r\n$1\r\nb\r\n", "~2\r\n$1\r\nc\r\n$1\r\nb\r\n",
			"~2\r\n$1\r\nc\r\n$1\r\nc\r\n",
		},
		"SRANDMEMBER": {
			"SRANDMEMBER s 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nc\r\n$1\r\nb\r\n",
			"*1\r\n$1\r\nc\r\n",
		},
		"ZRANDMEMBER": {
			"ZRANDMEMBER z 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\nc\r\n$1\r\nb\r\n",
			"*2\r\n$1\r\nc\r\n$1\r\nc\r\n",
		},
		"CLIENT NO-TOUCH": {"CLIENT NO-TOUCH on", "-ERR unknown subcommand\r\n", "+OK\r\n", ":1\r\n"},
		"CLIENT SETINFO": {
			"CLIENT SETINFO lib-name x", "-ERR unknown subcommand\r\n", "+OK\r\n",
			"$2\r\nOK\r\n",
		},
		"CLUSTER KEYSLOT": {"CLUSTER KEYSLOT 123456789", "-ERR no cluster\r\n", ":12739\r\n", ":12738\r\n"},
	}
	for name := range exceptions {
		if _, ok := tests[name]; !ok {
			t.Errorf("%s: no case", name)
		}
	}
	for name, test := range tests {
		s := step{args: strings.Fields(test.args)}
		if got := commandName(s.args); got != name {
			t.Fatalf("case %s tests %s", name, got)
		}
		compare := func(ours string) string {
			j := checker{runningClock: true}
			return j.check(s, reply{raw: []byte(test.ref)}, reply{raw: []byte(ours)})
		}
		if d := compare(test.ref); d != "" {
			t.Errorf("%s: equal bytes differ: %s", name, d)
		}
		if d := compare(test.allowed); d != "" {
			t.Errorf("%s: %q is not allowed: %s", name, test.allowed, d)
		}
		if strict := new(checker); exceptions[name].when == runningClock &&
			strict.check(s, reply{raw: []byte(test.ref)}, reply{raw: []byte(test.allowed)}) == "" {
			t.Errorf("%s: allowed although the clocks are held", name)
		}
		if d := compare(test.rejected); d == "" {
			t.Errorf("%s: %q is accepted for %q", name, test.rejected, test.ref)
		}
	}
}

func TestChecker(t *testing.T) {
	const random = "*1\r\n$1\r\nb\r\n"
	fields := func(line string) []string { return strings.Fields(line) }
	invalidation := func(key string) string {
		return ">2\r\n$10\r\ninvalidate\r\n*1\r\n$" + itoa(len(key)) + "\r\n" + key + "\r\n"
	}
	type exchange struct {
		s         step
		ref, ours string
	}
	queued := func(line string) exchange {
		return exchange{step{args: fields(line)}, "+QUEUED\r\n", "+QUEUED\r\n"}
	}
	exec := func(ref, ours string) exchange { return exchange{step{args: fields("EXEC")}, ref, ours} }
	multi := exchange{step{args: fields("MULTI")}, "+OK\r\n", "+OK\r\n"}
	nested := exchange{step{args: fields("MULTI")}, "-ERR nested\r\n", "-ERR nested\r\n"}
	interpreter := func(text string) string {
		return "-ERR user_script:1: " + text +
			" script: 1234567890123456789012345678901234567890, on @user_script:1.\r\n"
	}
	bulk := func(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
	sorted := func(encoding, command string) []exchange {
		return []exchange{
			{step{args: fields("OBJECT ENCODING k")}, bulk(encoding), bulk(encoding)},
			{
				step{args: fields(command), glue: true},
				"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
				"*2\r\n$1\r\nb\r\n$1\r\na\r\n",
			},
		}
	}
	tests := []struct {
		name      string
		exchanges []exchange
		same      bool
	}{
		{"a missing message", []exchange{{step{args: fields("PING"), pushes: true}, invalidation("a") +
			invalidation("b") + "+PONG\r\n", invalidation("b") + "+PONG\r\n"}}, false},
		{"an extra message", []exchange{{
			step{args: fields("PING"), pushes: true},
			"+PONG\r\n",
			invalidation("b") + "+PONG\r\n",
		}}, false},
		{"messages in a different order", []exchange{{
			step{args: fields("PING"), pushes: true},
			invalidation("a") + invalidation("b") + "+PONG\r\n", invalidation("b") + invalidation("a") +
				"+PONG\r\n",
		}}, false},
		{"an extra message about a key that a script has named", []exchange{
			{step{args: fields("EVAL x 0 key")}, ":1\r\n", ":1\r\n"},
			{step{args: fields("PING"), pushes: true}, invalidation("a") + "+PONG\r\n", invalidation("a") +
				invalidation("key") + "+PONG\r\n"},
		}, true},
		{"an extra message about a key that a function was called with", []exchange{
			{step{args: fields("FCALL f 1 a GET key")}, ":1\r\n", ":1\r\n"},
			{step{args: fields("PING"), pushes: true}, "+PONG\r\n", invalidation("key") + "+PONG\r\n"},
		}, true},
		{"different bytes", []exchange{{step{args: fields("GET a")}, "$1\r\na\r\n", "$1\r\nb\r\n"}}, false},
		{
			"null string for null array",
			[]exchange{{step{args: fields("GET a")}, "$-1\r\n", "*-1\r\n"}},
			false,
		},
		{"a different error of a command of the list", []exchange{{
			step{args: fields("KEYS")},
			"-ERR a\r\n",
			"-ERR b\r\n",
		}}, false},
		{"KEYS in EXEC", []exchange{multi, queued("KEYS *"), exec("*1\r\n*2\r\n+a\r\n+b\r\n",
			"*1\r\n*2\r\n+b\r\n+a\r\n")}, true},
		{"KEYS in EXEC after a nested MULTI", []exchange{
			multi, queued("KEYS *"), nested,
			exec("*1\r\n*2\r\n+a\r\n+b\r\n", "*1\r\n*2\r\n+b\r\n+a\r\n"),
		}, true},
		{"GET in EXEC", []exchange{multi, queued("GET a"), exec("*1\r\n*2\r\n+a\r\n+b\r\n",
			"*1\r\n*2\r\n+b\r\n+a\r\n")}, false},
		{"a missing reply in EXEC", []exchange{
			multi, queued("KEYS *"), queued("KEYS *"),
			exec("*2\r\n*0\r\n*0\r\n", "*1\r\n*0\r\n"),
		}, false},
		{"KEYS by a script", []exchange{{
			step{args: fields("EVAL x 0"), inner: fields("KEYS *")},
			"*2\r\n+a\r\n+b\r\n", "*2\r\n+b\r\n+a\r\n",
		}}, true},
		{"a choice of a member that exists", []exchange{
			{
				step{args: fields("ZRANGE z 0 -1 WITHSCORES")},
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			},
			{step{args: fields("ZRANDMEMBER z 1"), glue: true}, "*1\r\n$1\r\na\r\n", random},
		}, true},
		{"a choice of a member that does not exist", []exchange{
			{
				step{args: fields("ZRANGE z 0 -1 WITHSCORES")},
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nc\r\n$1\r\n2\r\n",
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nc\r\n$1\r\n2\r\n",
			},
			{step{args: fields("ZRANDMEMBER z 1"), glue: true}, "*1\r\n$1\r\na\r\n", random},
		}, false},
		{"a choice with another member's score", []exchange{
			{
				step{args: fields("ZRANGE z 0 -1 WITHSCORES")},
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			},
			{
				step{args: fields("ZRANDMEMBER z 1 WITHSCORES"), glue: true},
				"*2\r\n$1\r\na\r\n$1\r\n1\r\n",
				"*2\r\n$1\r\nb\r\n$1\r\n1\r\n",
			},
		}, false},
		{"a different order of a set by a constant", sorted("hashtable", "SORT s BY x"), true},
		{"a different order of a sorted set by a constant", sorted("skiplist", "SORT z BY x"), false},
		{"a different order of a sorted set by texts", sorted("skiplist", "SORT z BY w_* ALPHA"), true},
		{"a different order of an intset by texts", sorted("intset", "SORT i BY w_* ALPHA"), false},
		{"a different order of a list by texts", sorted("quicklist", "SORT l BY w_* ALPHA"), false},
		{"a different order of a set by numbers", sorted("hashtable", "SORT s BY w_*"), false},
		{"a different order of a set's texts", sorted("hashtable", "SORT s ALPHA"), false},
		{"a different order of a set's texts, with GET", sorted("hashtable", "SORT s ALPHA GET w_*"), true},
		{"a different order of a listpack", []exchange{
			{step{args: fields("OBJECT ENCODING h")}, "$8\r\nlistpack\r\n", "$8\r\nlistpack\r\n"},
			{
				step{args: fields("HGETALL h"), glue: true},
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
				"*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			},
		}, false},
		{"a different order of a hashtable", []exchange{
			{step{args: fields("OBJECT ENCODING h")}, "$9\r\nhashtable\r\n", "$9\r\nhashtable\r\n"},
			{
				step{args: fields("HGETALL h"), glue: true},
				"*4\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
				"*4\r\n$1\r\nb\r\n$1\r\n2\r\n$1\r\na\r\n$1\r\n1\r\n",
			},
		}, true},
		{"a choice of a field of a RESP3 hash", []exchange{
			{
				step{args: fields("HGETALL h")},
				"%2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
				"%2\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n2\r\n",
			},
			{step{args: fields("HRANDFIELD h 1"), glue: true}, "*1\r\n$1\r\na\r\n", random},
		}, true},
		{"a different order of an intset", []exchange{
			{step{args: fields("OBJECT ENCODING s")}, "$6\r\nintset\r\n", "$6\r\nintset\r\n"},
			{
				step{args: fields("SMEMBERS s"), glue: true},
				"~2\r\n$1\r\n1\r\n$1\r\n2\r\n",
				"~2\r\n$1\r\n2\r\n$1\r\n1\r\n",
			},
		}, false},
		{"a choice of members of a RESP3 set", []exchange{
			{
				step{args: fields("SMEMBERS s")},
				"~2\r\n$1\r\na\r\n$1\r\nb\r\n",
				"~2\r\n$1\r\na\r\n$1\r\nb\r\n",
			},
			{
				step{args: fields("SRANDMEMBER s -3"), glue: true},
				"*3\r\n$1\r\na\r\n$1\r\na\r\n$1\r\nb\r\n",
				"*3\r\n$1\r\nb\r\n$1\r\nb\r\n$1\r\nb\r\n",
			},
		}, true},
		{"a pop of a member that does not exist", []exchange{
			{
				step{args: fields("SMEMBERS s")},
				"~2\r\n$1\r\na\r\n$1\r\nb\r\n",
				"~2\r\n$1\r\na\r\n$1\r\nb\r\n",
			},
			{step{args: fields("SPOP s 1"), glue: true}, "~1\r\n$1\r\na\r\n", "~1\r\n$1\r\nc\r\n"},
		}, false},
		{"a choice of a field that does not exist", []exchange{
			{step{args: fields("HGETALL h")}, "%1\r\n$1\r\na\r\n$1\r\n1\r\n", "%1\r\n$1\r\na\r\n$1\r\n1\r\n"},
			{step{args: fields("HRANDFIELD h 1"), glue: true}, "*1\r\n$1\r\na\r\n", random},
		}, false},
		{"an error of the interpreter", []exchange{{
			step{args: fields("EVAL x 0")},
			interpreter("attempt to index a nil value"), interpreter("cannot index nil"),
		}}, true},
		{
			"an error of the interpreter on a different line",
			[]exchange{{
				step{args: fields("EVAL x 0")},
				interpreter("attempt to index a nil value"),
				strings.Replace(interpreter("x"), ":1:", ":2:", 1),
			}},
			false,
		},
		{"an error of Redis in a script", []exchange{{
			step{args: fields("EVAL x 0")},
			interpreter("Script attempted to access nonexistent global variable 'x'"),
			interpreter("no global x"),
		}}, false},
		{"an error of the script itself", []exchange{{
			step{args: fields("EVAL x 0")},
			interpreter("mine"),
			interpreter("yours"),
		}}, false},
		{"no reply", []exchange{{step{args: fields("GET a")}, "+OK\r\n", ""}}, false},
	}
	for _, test := range tests {
		var j checker
		different := ""
		for _, e := range test.exchanges {
			ours := reply{raw: []byte(e.ours)}
			if e.ours == "" {
				ours.fail = "connection closed"
			}
			different += j.check(e.s, reply{raw: []byte(e.ref)}, ours)
		}
		if (different == "") != test.same {
			t.Errorf("%s: %q", test.name, different)
		}
	}
}

func TestAppendReply(t *testing.T) {
	whole := []string{
		"+OK\r\n", "-ERR x\r\n", ":1\r\n", "$-1\r\n", "$0\r\n\r\n", "$4\r\na\r\nb\r\n", "*-1\r\n", "*0\r\n",
		"*2\r\n:1\r\n*1\r\n$1\r\na\r\n", "_\r\n", "#t\r\n", ",1.5\r\n",
		"(123\r\n", "!5\r\nERR x\r\n", "=5\r\ntxt:a\r\n", "%1\r\n+a\r\n:1\r\n", "~2\r\n+a\r\n+b\r\n",
		">1\r\n+a\r\n", "|1\r\n+a\r\n:1\r\n:2\r\n",
	}
	for _, raw := range whole {
		r := bufio.NewReader(strings.NewReader(raw + "+next\r\n"))
		got, err := appendReply(nil, r, 0)
		if err != nil || string(got) != raw {
			t.Errorf("%q: %q, %v", raw, got, err)
		}
		if rest, _ := appendReply(nil, r, 0); string(rest) != "+next\r\n" {
			t.Errorf("%q: what follows is %q", raw, rest)
		}
		if raw[0] != '|' {
			if _, err := parse([]byte(raw)); err != nil {
				t.Errorf("%q: %v", raw, err)
			}
		}
	}
	for _, raw := range []string{
		"", "\r\n", "+OK\n", "?\r\n", "$x\r\n", "$-2\r\n", "$2\r\nabc\r\n",
		"$2\r\nab", "*x\r\n", "*-2\r\n", "*2\r\n:1\r\n", strings.Repeat("*1\r\n", 100) + ":1\r\n",
	} {
		if got, err := appendReply(nil, bufio.NewReader(strings.NewReader(raw)), 0); err == nil {
			t.Errorf("%q is accepted as %q", raw, got)
		}
	}
}

func TestRoundsAreDeterministic(t *testing.T) {
	for number := range 5 {
		a, b := generate(7, number, 500, plan{}), generate(7, number, 500, plan{})
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("round %d is not deterministic", number)
		}
		if reflect.DeepEqual(a, generate(8, number, 500, plan{})) ||
			reflect.DeepEqual(a, generate(7, number+1, 500, plan{})) {
			t.Fatalf("round %d does not depend on seed and number", number)
		}
		last := roundStartMs(number)
		for _, s := range a {
			if s.clockMs != 0 && s.clockMs <= last {
				t.Fatalf("round %d: the clock goes from %d to %d", number, last, s.clockMs)
			}
			last = max(last, s.clockMs)
		}
		if last >= roundStartMs(number+1) {
			t.Fatalf("round %d ends at %d, after the next begins", number, last)
		}
	}
}

// TestClockMovesHitDeadlines checks that some moves end at a deadline, a millisecond before and a millisecond
// after.
func TestClockMovesHitDeadlines(t *testing.T) {
	met := map[int64]int{}
	for number := range 40 {
		nowMs := roundStartMs(number)
		due := map[int64]bool{}
		for _, s := range generate(3, number, 500, plan{}) {
			if s.clockMs > 0 {
				for d := int64(-1); d <= 1; d++ {
					if due[s.clockMs-d] {
						met[d]++
					}
				}
				nowMs = s.clockMs
			}
			if len(s.args) > 2 && strings.EqualFold(s.args[0], "PEXPIRE") {
				if v, err := parse([]byte(":" + s.args[2] + "\r\n")); err == nil && len(v.text) < 12 {
					var ms int64
					for _, c := range v.text {
						ms = ms*10 + int64(c-'0')
					}
					due[nowMs+ms] = true
				}
			}
		}
	}
	for d := int64(-1); d <= 1; d++ {
		if met[d] == 0 {
			t.Errorf("no clock move ends %d ms from a deadline: %v", d, met)
		}
	}
}

func TestRunningClockRoundsAvoidDeadlines(t *testing.T) {
	for number := range 20 {
		for _, s := range generate(5, number, 500, plan{runningClock: true}) {
			if s.clockMs > 0 {
				t.Fatalf("round %d moves a clock that cannot be held", number)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a": "a", "a b": `"a b"`, "\x00\"\\": `"\x00\"\\"`,
		"\r\n": `"\x0d\n"`, "0100": "0100",
	} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if got := (step{args: []string{"SET", "a b", ""}}).String(); got != `SET "a b" ""` {
		t.Error(got)
	}
}

func TestFlags(t *testing.T) {
	for _, argv := range [][]string{
		{},
		{"-seed", "x", "-self"},
		{"-family", "nosuch", "-self"},
		{"-nosuch"},
	} {
		var out, errOut bytes.Buffer
		if code := run(argv, &out, &errOut); code != 2 || errOut.Len() == 0 {
			t.Errorf("%v: exit %d, %q", argv, code, errOut.String())
		}
	}
}
