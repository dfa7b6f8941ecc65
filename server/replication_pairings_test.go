package server_test

import (
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
