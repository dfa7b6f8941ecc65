package server_test

import (
	"time"

	"github.com/stretchr/testify/require"
)

// sceneKeys are what the master of a scene has.
var sceneKeys = []string{
	"SET k v", "LPUSH l a", "HSET h f v", "SET gone v PX 60000", "SET stays v PX 600000",
	`FUNCTION LOAD "#!lua name=f\n` +
		`redis.register_function('w', function(k) return redis.call('set', k[1], 1) end)\n` +
		`redis.register_function('declared', function() return 1 end)\n` +
		`redis.register_function{function_name='ro', ` +
		`callback=function(k) return redis.call('get', k[1]) end, flags={'no-writes'}}\n` +
		`redis.register_function{function_name='stale', callback=function(k) return 1 end, ` +
		`flags={'no-writes', 'allow-stale'}}"`,
}

var writesAndReads = []string{
	"SET k w", "DEL k", "GET k", "EXPIRE k 10", "GETEX k", "GETEX k PERSIST", "SORT l ALPHA",
	"SORT l ALPHA STORE x",
	"SORT_RO l ALPHA", "BITFIELD k GET u8 0", "BITFIELD_RO k GET u8 0", "PUBLISH c m", "SPUBLISH c m",
	"BLPOP l 1", "BLMOVE l l LEFT LEFT 1", "FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "FUNCTION FLUSH",
	"FUNCTION DELETE f",
	"SCRIPT LOAD \"return 1\"", "SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "TOUCH k",
	"EVAL \"return 1\" 0", "EVAL \"return redis.call('get', KEYS[1])\" 1 k",
	"EVAL \"return redis.call('set', KEYS[1], 1)\" 1 k", "EVAL \"return redis.pcall('set', KEYS[1], 1)\" 1 k",
	"EVAL_RO \"return redis.call('get', KEYS[1])\" 1 k",
	"EVAL_RO \"return redis.call('set', KEYS[1], 1)\" 1 k",
	"EVAL \"#!lua\\nreturn 1\" 0", "EVAL \"#!lua flags=no-writes\\nreturn 1\" 0",
	"EVAL \"#!lua flags=no-writes,allow-stale\\nreturn 1\" 0",
	"EVAL \"#!lua flags=no-writes,allow-stale\\nreturn redis.call('get', 'k')\" 0",
	"EVAL \"#!lua flags=no-writes,allow-stale\\nreturn redis.call('echo', 'x')\" 0",
	"FCALL w 1 k", "FCALL declared 0", "FCALL ro 1 k", "FCALL_RO ro 1 k", "FCALL_RO w 1 k", "FCALL stale 0",
	"MULTI", "GET k", "SET k w", "EXEC", "MULTI", "GET k", "EXEC", "WATCH k", "UNWATCH",
	"MULTI", "EVAL \"return redis.call('set', KEYS[1], 1)\" 1 k", "EXEC", "DISCARD",
	"MULTI", "EVAL \"#!lua\\nreturn 1\" 0", "EXEC", "MULTI", "FCALL declared 0", "EXEC", "MULTI",
	"FCALL ro 1 k", "EXEC",
	"WAIT 0 1", "WAIT x 0", "CONFIG SET maxmemory-policy noeviction", "CLIENT SETNAME x", "PING", "ECHO x",
	"SELECT 1",
	"SELECT 0", "INFO nosuch", "ROLE", "COMMAND COUNT x", "TIME x", "OBJECT ENCODING k",
	"LATENCY RESET", "SLOWLOG RESET", "ACL WHOAMI", "PUBSUB CHANNELS", "SUBSCRIBE ch", "UNSUBSCRIBE ch",
	"DBSIZE",
	"LOLWUT x y z", "RESET", "MOVE k 1", "RESTORE k 0 x", "COPY k k2", "DEBUG SLEEP 0",
	"MEMORY USAGE nosuch", "KEYS k", "SCAN 0 MATCH k COUNT 1000", "CLIENT PAUSE 0", "CLIENT UNPAUSE",
	"BGREWRITEAOF x",
	"LASTSAVE x", "NOSUCH", "GET",
}

var replicationScenes = []replicationScene{
	{name: "read only", commands: writesAndReads},
	{
		name: "stale", directives: []string{"--replica-serve-stale-data", "no"}, commands: writesAndReads,
		prepare: loseMaster,
	},
	{
		name:     "stale and served",
		commands: []string{"GET k", "SET k v", "EVAL \"return 1\" 0", "FCALL ro 1 k"},
		prepare:  loseMaster,
	},
	{
		name: "writable", directives: []string{"--replica-read-only", "no"}, commands: append([]string{
			"SET own v", "GET own", "SET short v PX 1000000",
			"EVAL \"return redis.call('set', KEYS[1], 1)\" 1 k",
			"FCALL w 1 k", "master: GET k", "master: GET own", "INFO replication",
		}, writesAndReads...),
	},
	{
		name: "replicaof", commands: []string{
			"REPLICAOF", "REPLICAOF NO", "REPLICAOF NO ONE x", "REPLICAOF 127.0.0.1 x",
			"REPLICAOF 127.0.0.1 -1",
			"REPLICAOF 127.0.0.1 65536", "REPLICAOF 127.0.0.1 1.5", "REPLICAOF 127.0.0.1 $MASTER",
			"SLAVEOF 127.0.0.1 $MASTER", "SLAVEOF 127.0.0.1 \"\"", "slaveof no one", "REPLICAOF no ONE",
			"CONFIG GET replicaof", "CONFIG GET slaveof", "CONFIG SET replicaof \"127.0.0.1 1\"", "ROLE",
			"MULTI", "REPLICAOF 127.0.0.1 $MASTER", "EXEC", "CONFIG GET replicaof",
			"EVAL \"return redis.call('replicaof', 'no', 'one')\" 0",
			"EVAL \"return redis.call('wait', 0, 0)\" 0",
			"EVAL \"return redis.call('role')\" 0", "EVAL \"return redis.call('replconf')\" 0",
			"REPLICAOF NO ONE",
		},
	},
	{
		name: "replconf", commands: []string{
			"master: REPLCONF", "master: REPLCONF x", "master: REPLCONF x y",
			"master: REPLCONF listening-port x",
			"master: REPLCONF listening-port 1", "master: REPLCONF LISTENING-PORT 99999999",
			"master: REPLCONF capa x",
			"master: REPLCONF capa eof capa psync2", "master: REPLCONF capa eof capa",
			"master: REPLCONF ip-address x",
			"master: REPLCONF rdb-only x", "master: REPLCONF rdb-only 1", "master: REPLCONF rdb-only 0",
			"master: REPLCONF rdb-filter-only x", "master: REPLCONF rdb-filter-only \"\"",
			"master: PSYNC", "master: PSYNC ?", "master: PSYNC ? x", "master: SYNC x", "master: MULTI",
			"master: PSYNC ? -1",
			"master: SYNC", "master: REPLCONF listening-port 2", "master: WAIT 0 0", "master: EXEC",
			"master: WAIT 0 0", "master: WAIT 1 0", "master: WAIT 0 -1", "master: WAIT 0 x",
			"master: WAIT x 0", "master: WAIT -1 0",
			"master: WAIT 1.5 0", "master: WAIT 2 1", "master: WAIT", "master: INFO replication",
			"INFO replication",
			"master: CLIENT KILL TYPE x", "master: ROLE x", "ROLE",
		},
	},
	{
		name: "expired", held: true, jump: 2 * time.Minute, commands: []string{
			"GET gone", "EXISTS gone stays", "TTL gone", "PTTL gone", "PEXPIRETIME gone", "EXPIRETIME gone",
			"TYPE gone",
			"OBJECT ENCODING gone", "OBJECT FREQ gone", "DUMP gone", "KEYS gone", "STRLEN gone",
			"MGET gone k", "TOUCH gone",
			"SCAN 0 MATCH gone COUNT 1000", "SCAN 0 MATCH gone COUNT 1000 TYPE string", "DBSIZE",
			"EVAL_RO \"return redis.call('get', KEYS[1])\" 1 gone",
			"EVAL_RO \"return redis.call('exists', KEYS[1])\" 1 gone",
			"COPY gone other", "RENAME gone other", "GETRANGE gone 0 -1", "BITCOUNT gone", "SORT_RO gone",
			"WATCH gone",
			"MULTI", "GET gone", "EXISTS gone", "EXEC",
			"master: GET gone", "master: PERSIST gone", "master: WAIT 1 0", "GET gone", "TTL gone",
			"master: PEXPIREAT gone 1", "master: EXISTS gone", "master: WAIT 1 0", "DBSIZE",
		},
	},
	{
		name: "expired and writable", held: true, jump: 2 * time.Minute,
		directives: []string{"--replica-read-only", "no"}, commands: []string{
			"GET gone", "DBSIZE", "SET gone w", "GET gone", "TTL gone", "DBSIZE", "SET own v PXAT 1",
			"GET own", "DBSIZE",
			"SET own v PX 1000", "DEL gone", "EXISTS gone", "DBSIZE",
		},
	},
}

// loseMaster makes the replica follow a master that nobody reaches any more.
func loseMaster(f *fabric, master, replica *node) {
	f.follow(replica, master)
	master.end()
	f.nodes = f.nodes[1:]
	f.until(func() bool { return replica.field(f.t, "master_link_status") != "up" })
	require.NotEqual(f.t, "up", replica.field(f.t, "master_link_status"))
}
