package doctor

import "slices"

// A rule is a problem: the commands that show it, how, and what to write instead.
type rule struct {
	problem  string
	commands []string // full names
	observe  func(r *rule, o *call)
	advice   string
	index    int // in rules
}

// Commands that several rules look at.
var (
	counting = []string{"incr", "incrby", "decr", "decrby"}
	setting  = []string{"set", "setex", "psetex"}
	expiring = []string{"expire", "pexpire", "expireat", "pexpireat"}
)

// rules are all problems. Some learn what later ones use: clock-skew a key's window,
// constant-member whether it counts before it adds, check-then-add its hits, and
// renewed-expiry its deadline.
var rules = tableOfRules()

func tableOfRules() []rule {
	table := []rule{
		{
			problem: "merged-hits", commands: []string{"zadd"}, observe: mergedHits,
			advice: "Hits of one instant have one member and count once, so more than the limit are " +
				"admitted. Make each member unique, or call RL.ALLOW key limit window.",
		},
		{
			problem:  "renewed-expiry",
			commands: slices.Concat(counting, setting, expiring), observe: renewedExpiry,
			advice: "Each call puts the counter's deadline off, so a caller that goes on is denied for " +
				"ever. Set EXPIRE only if INCR answers 1, in one script, or call RL.ALLOW key limit window " +
				"ALGO FIXED.",
		},
		{
			problem: "clock-skew", observe: clockSkew,
			commands: slices.Concat([]string{"zadd", "zremrangebyscore", "zcount"}, setting, expiring),
			advice: "The client's clock differs from the server's by more than a tenth of the window. " +
				"Synchronize it, or call RL.ALLOW key limit window, which uses the server's clock.",
		},
		{
			problem:  "constant-member",
			commands: []string{"zadd", "zcard", "zcount"}, observe: constantMember,
			advice: "Each hit has the same member, so the set has one hit at most and no call is ever " +
				"denied. Make each member unique, or call RL.ALLOW key limit window.",
		},
		{
			problem: "counts-denied-calls", observe: countsDenied,
			commands: []string{"zcard", "zcount", "zrem", "zremrangebyrank", "zpopmax"},
			advice: "The hit is added before hits are counted, so denied calls count, and a caller that " +
				"goes on is denied for ever. Count first, in one script, or call RL.ALLOW key limit window.",
		},
		{
			problem:  "untrimmed-window",
			commands: []string{"zadd", "zremrangebyscore", "zcard", "zcount", "expire", "pexpire"},
			observe:  untrimmedWindow,
			advice: "The sorted set keeps hits of more than ten windows. Call ZREMRANGEBYSCORE before each " +
				"ZADD, or RL.ALLOW key limit window, which removes old hits.",
		},
		{
			problem:  "counter-without-expiry",
			commands: slices.Concat(counting, expiring, []string{"set", "getset", "persist"}),
			observe:  keyWithoutExpiry,
			advice: "The counter has no deadline and is never reset: its EXPIRE was lost. Send INCR and " +
				"EXPIRE in one script or MULTI, or call RL.ALLOW key limit window ALGO FIXED.",
		},
		{
			problem: "key-without-expiry", observe: keyWithoutExpiry,
			commands: []string{"zadd", "sadd", "hset", "hincrby", "lpush", "rpush"},
			advice: "The key stays when its caller does not come back. Send EXPIRE with the window in the " +
				"script or MULTI that changes it, or call RL.ALLOW key limit window.",
		},
		{
			problem: "expiry-unit", commands: slices.Concat(setting, expiring), observe: expiryUnit,
			advice: "The time to live is a thousand times what it should be, or a thousandth, or is an " +
				"instant. EXPIRE and EX take seconds, PEXPIRE and PX milliseconds.",
		},
		{
			problem:  "check-then-add",
			commands: []string{"zcard", "zcount", "zrange", "zrangebyscore", "get", "zadd", "incr", "incrby"},
			observe:  checkThenAdd,
			advice: "Another client's hit came between this client's check and its hit, so both had the " +
				"last place. Check and add in one script, or call RL.ALLOW key limit window.",
		},
		{
			problem: "lost-update", commands: slices.Concat([]string{"get"}, setting), observe: lostUpdate,
			advice: "Another client changed the counter between this client's GET and its SET, and that " +
				"change is lost. Call INCR, or RL.ALLOW key limit window.",
		},
		{
			problem: "cross-slot", observe: crossSlot,
			commands: slices.Concat(counting, []string{
				"zadd", "hincrby", "eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro",
			}),
			advice: "A cluster refuses this: keys of a script or transaction are in several slots, or the " +
				"script was not given all it uses in KEYS. Give them one hash tag, as in limit:{user}:a.",
		},
		{
			problem: "keys-in-a-loop", commands: []string{"keys"}, observe: keysInALoop,
			advice: "KEYS visits every key of the server each time. Call SCAN, or RL.INFO for one key.",
		},
		{
			problem: "eval-each-time", commands: []string{"eval", "eval_ro", "evalsha", "evalsha_ro"},
			observe: evalEachTime,
			advice: "The text of the script is sent and hashed for each call. Send EVALSHA, and EVAL only " +
				"after NOSCRIPT; or call RL.ALLOW key limit window.",
		},
	}
	for i := range table {
		table[i].index = i
	}
	return table
}
