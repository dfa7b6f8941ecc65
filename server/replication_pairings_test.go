package server_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// pairingKeys are keys of all types, which a copy or the stream carries.
func pairingKeys(prefix string) []string {
	return []string{
		"SET " + prefix + "s v", "SET " + prefix + "int 42", "SET " + prefix + "px v PX 100000001",
		"SET " + prefix + "pxat v PXAT 33000000000123", "SETEX " + prefix + "ex 100000 v",
		"APPEND " + prefix + "s \"\\x00\\r\\nbytes\"", "INCRBYFLOAT " + prefix + "float 3.25",
		"SETBIT " + prefix + "bits 77 1", "SETRANGE " + prefix + "range 10 x",
		"HSET " + prefix + "h a 1 b 2 c 3", "HINCRBYFLOAT " + prefix + "h a 0.5", "HDEL " + prefix + "h b",
		"PEXPIRE " + prefix + "h 200000003",
		"RPUSH " + prefix + "l a b c d", "LPOP " + prefix + "l", "LINSERT " + prefix + "l BEFORE c x",
		"EXPIRE " + prefix + "l 300000",
		"SADD " + prefix + "set a b c d e f g h i", "SADD " + prefix + "ints 1 2 3",
		"SPOP " + prefix + "set", "SPOP " + prefix + "set 3",
		"ZADD " + prefix + "z 1.5 a -2 b 1e300 c", "ZINCRBY " + prefix + "z 0.1 a", "ZPOPMIN " + prefix + "z",
		"GETEX " + prefix + "ex PX 400000005", "GETDEL " + prefix + "range",
		"COPY " + prefix + "z " + prefix + "copy", "RENAME " + prefix + "float " + prefix + "renamed",
		"SET " + prefix + "kept v EX 500000", "SET " + prefix + "kept w KEEPTTL", "PERSIST " + prefix + "px",
		"SINTERSTORE " + prefix + "inter " + prefix + "set " + prefix + "set",
		"ZUNIONSTORE " + prefix + "union 2 " + prefix + "z " + prefix + "copy WEIGHTS 2 3",
		"SELECT 3", "SET " + prefix + "three v PX 600000007", "MOVE " + prefix + "three 5", "SELECT 15",
		"LPUSH " + prefix + "last v", "SELECT 0", "COPY " + prefix + "z " + prefix + "z DB 7",
	}
}

// pairingEffects are commands whose effects must not be computed again.
var pairingEffects = []string{
	"MULTI", "SET m1 a", "INCR m2", "SELECT 2", "SET m3 b PX 700000009", "SELECT 0", "EXEC",
	"MULTI", "SET m4 a", "LPUSH s no", "SET m5 a", "EXEC",
	`EVAL "for i=1,20 do redis.call('sadd', KEYS[1], i) end return redis.call('spop', KEYS[1], 7)" 1 lua`,
	`EVAL "redis.call('set', KEYS[1], redis.call('time')[2]) redis.call('expire', KEYS[1], 800001)" 1 now`,
	`EVAL "redis.call('select', 4) redis.call('set', KEYS[1], 1) return redis.call('incr', KEYS[1])" 1 four`,
	`EVAL "redis.call('set', KEYS[1], 1) pcall(redis.call, 'lpush', KEYS[1], 1)" 1 half`,
	`FUNCTION LOAD "#!lua name=f\n` +
		`redis.register_function('ff', function(k) return redis.call('incr', k[1]) end)"`,
	"FCALL ff 1 counted", "FCALL ff 1 counted",
	`FUNCTION LOAD "#!lua name=g\nredis.register_function('gg', function() return 7 end)"`,
	"FUNCTION DELETE g",
	"SCRIPT FLUSH", "BITOP NOT nbits a:bits", "SORT a:l ALPHA STORE sorted",
	"LMOVE a:l b:l LEFT RIGHT", "SMOVE a:ints a:set 2",
	"BITFIELD bf SET u8 0 255 INCRBY i5 100 1", "MSETNX x 1 y 2",
	"RESTORE re 900000013 \"\\x00\\x01v\\n\\x00" +
		"\\x39\\x9e\\x3d\\xcb\\x7d\\xc7\\x35\\x4b\"",
}

// requireSameFunctions compares libraries one by one: Redis lists them in any order.
func requireSameFunctions(t *testing.T, a, b *node) {
	t.Helper()
	for _, name := range []string{"f", "g", "before"} {
		line := "FUNCTION LIST WITHCODE LIBRARYNAME " + name
		require.Equal(t, a.do(t, line), b.do(t, line))
	}
}

// TestReplicationPairings: whichever kind the master and the replica are, both hold the same.
func TestReplicationPairings(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		master.fill(t, pairingKeys("a:")...)
		master.fill(t,
			`FUNCTION LOAD "#!lua name=before\nredis.register_function('b', function() return 9 end)"`)
		replica.fill(t, "SET replica's v", "LPUSH a:s other")
		f.follow(replica, master)
		f.requireSame(replica, master, "the copy")
		requireSameFunctions(t, master, replica)

		master.fill(t, pairingKeys("b:")...)
		for _, line := range pairingEffects {
			master.do(t, line)
		}
		f.requireSame(replica, master, "the stream")
		requireSameFunctions(t, master, replica)

		for _, line := range []string{
			"SWAPDB 0 5", "SELECT 5", "FLUSHDB", "SELECT 0", "DEL a:three", "SWAPDB 7 15", "SET k v",
			"FLUSHALL",
		} {
			master.fill(t, line)
			selected := line == "SELECT 5"
			if !selected && line != "SELECT 0" {
				f.requireSame(replica, master, line)
				master.do(t, "SELECT 0")
			}
			if selected {
				master.fill(t, "SET five v")
			}
		}
		require.Equal(t, ":0", replica.do(t, "DBSIZE"))
	})
}

// TestReplicationOfLimiters: every algorithm's state is the same on a replica.
func TestReplicationOfLimiters(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		master, replica := f.node(ours), f.node(k)
		decide := func(key string) (lines []string) {
			for _, algo := range []string{"LOG", "FIXED", "GCRA 50", "BUCKETS 8", "COUNTER"} {
				name := key + algo[:3]
				lines = append(lines,
					"RL.ALLOW "+name+" 100 60000 ALGO "+algo,
					"RL.ALLOW "+name+" 100 60000 COST 3 ALGO "+algo,
					"RL.ALLOW "+name+"many 100000 3600000 COST 64 ALGO "+algo,
					"RL.ALLOW "+name+"many 100000 3600000 COST 65 ALGO "+algo,
					"RL.ALLOW "+name+"more 100000 3600000 COST 2000 ATMOST ALGO "+algo,
					"RL.ALLOW "+name+"denied 1 3600000 ALGO "+algo,
					"RL.ALLOW "+name+"denied 1 3600000 ALGO "+algo,
					"RL.ALLOW "+name+"peek 1 3600000 PEEK ALGO "+algo,
				)
			}
			return append(lines,
				"RL.ALLOW "+key+"two 5 60s 100 1h", "RL.MALLOW 2 "+key+"m1 5 60s "+key+"m2 9 1h COST 2",
				"RL.REFUND "+key+"two 1", "RL.RESERVE "+key+"tokens 1000 1h 300 HOLD 60000 ID a",
				"RL.RESERVE "+key+"tokens 1000 1h 300 HOLD 60000 ID b", "RL.SETTLE "+key+"tokens a 70",
				"RL.CANCEL "+key+"tokens b", "RL.RESERVE "+key+"tokens 1000 1h 30 HOLD 60000 ID c",
				"RL.ACQUIRE "+key+"jobs 3 LEASE 600000 ID a",
				"RL.ACQUIRE "+key+"jobs 3 LEASE 600000 ID b",
				"RL.RENEW "+key+"jobs a LEASE 900000", "RL.RELEASE "+key+"jobs b",
				"RL.ALLOW "+key+"gone 5 60s", "RL.RESET "+key+"gone",
				`EVAL "return redis.call('RL.ALLOW', KEYS[1], 5, '1m')" 1 `+key+"lua",
			)
		}
		master.fill(t, decide("copy:")...)
		f.follow(replica, master)
		f.requireSame(replica, master)
		master.fill(t, decide("copy:")...)
		master.fill(t, decide("stream:")...)
		require.Equal(t, ":1", f.wait(master.wire, "1", "0"))
		f.requireSame(replica, master)
		if k != ours {
			return
		}
		// The promoted replica decides as the master would have.
		require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
		for _, n := range []*node{master, replica} {
			require.Contains(t, n.do(t, "RL.ALLOW stream:LOG 100 60000 COST 97 ALGO LOG"),
				":0\r\n:100\r\n")
			require.Contains(t, n.do(t, "RL.ALLOW stream:LOG 100 60000 COST 92 ALGO LOG"),
				":100\r\n:4\r\n")
		}
	})
}

// TestReplicatedMessages: what is published reaches the subscribers of a replica, in order with the keys.
func TestReplicatedMessages(t *testing.T) {
	t.Parallel()
	pairings(t, func(t *testing.T, f *fabric, master, replica *node) {
		f.follow(replica, master)
		// A redis-server sends its stream only after a confirmation, which takes ticks.
		master.do(t, "SET k 0")
		f.requireSame(replica, master)
		listener := replica.dial(t)
		doLine(t, listener, "SUBSCRIBE news")
		doLine(t, listener, "PSUBSCRIBE n*")
		doLine(t, listener, "SSUBSCRIBE shard")
		require.Equal(t, ":0", master.do(t, "PUBLISH news hello"))
		require.Equal(t, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello", listener.reply(t))
		require.Equal(t, "*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$5\r\nhello", listener.reply(t))
		master.do(t, "SPUBLISH shard s")
		require.Equal(t, "*3\r\n$8\r\nsmessage\r\n$5\r\nshard\r\n$1\r\ns", listener.reply(t))
		master.fill(t, "MULTI", "SET k v", "PUBLISH news tx", "EXEC",
			`EVAL "redis.call('set', 'k', 'w') redis.call('publish', 'news', 'lua')" 1 k`)
		for _, want := range []string{"tx", "lua"} {
			size := strconv.Itoa(len(want))
			require.Equal(t, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$"+size+"\r\n"+want, listener.reply(t))
			require.Contains(t, listener.reply(t), "pmessage")
		}
		f.requireSame(replica, master)
	})
}
