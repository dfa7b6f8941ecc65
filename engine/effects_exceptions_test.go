package engine_test

// effectsExceptions are the recorded commands whose effects in our log differ, with those
// effects, separated by "; ".
var effectsExceptions = map[string]struct{ ours, why string }{
	"sets: ?> SPOP s 2": {"SREM s ? ?", "one SREM instead of one for each member: fewer bytes"},
	"sets: ?> SPOP s 9": {"SREM s ? ? ? ? ? ? ? ? ?", "as above"},

	"expired sources of stores: > ZUNIONSTORE d 1 z": {
		"MULTI; DEL z; DEL d; EXEC",
		"the destination was overdue, and the result is empty: Redis removes it without asking whether it " +
			"still lived",
	},
	"sorted: > SORT s BY w_* ALPHA STORE d": {
		"MULTI; DEL d; RPUSH d a b c; EXEC",
		"equal texts come in the order of a hash table, another on each server: what came of it is logged",
	},
	"sorted: > SORT s BY w_* ALPHA LIMIT 9 9 STORE d": {"DEL d", "as above"},

	"sorted: > SORT l STORE d2": {
		"MULTI; DEL l; DEL d2; EXEC", "the destination was overdue, as with ZUNIONSTORE",
	},

	`scripts: > EVAL "redis.set_repl(redis.REPL_NONE) redis.call('SET', KEYS[1], 2) return 1" 1 k`: {
		"SET k 2", "a script cannot keep what it does out of the log: it would be lost",
	},

	"bits of strings: > BITFIELD k OVERFLOW FAIL INCRBY u2 32 9": {
		"BITFIELD k OVERFLOW FAIL INCRBY u2 32 9",
		"the string has become longer though nothing was set; Redis forgets to log it, and has it shorter " +
			"after a restart",
	},
	"bits of strings: > BITFIELD nothing OVERFLOW FAIL SET u2 0 9": {
		"BITFIELD nothing OVERFLOW FAIL SET u2 0 9", "as above, of a key that has come into being",
	},
	"bits of strings: > BITOP OR t nosuch": {"DEL t", "the destination was overdue, as above"},
}
