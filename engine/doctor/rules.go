package doctor

// A rule is a problem: the commands that show it, how, and what to write instead.
type rule struct {
	problem  string
	commands []string // full names
	observe  func(r *rule, o *call)
	advice   string
	index    int // in rules
}

// rules are all problems. Clock-skew precedes untrimmed-window and check-then-add, because
// it learns a key's window.
var rules = tableOfRules()

func tableOfRules() []rule {
	table := []rule{
		{
			problem: "merged-hits", commands: []string{"zadd"}, observe: mergedHits,
			advice: "Hits of one instant have one member and count once, so more than the limit are " +
				"admitted. Make each member unique, or call RL.ALLOW key limit window.",
		},
		{
			problem: "clock-skew", commands: []string{"zadd", "zremrangebyscore", "zcount"},
			observe: clockSkew,
			advice: "The client's clock differs from the server's by more than a tenth of the window. " +
				"Synchronize it, or call RL.ALLOW key limit window, which uses the server's clock.",
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
			commands: []string{"incr", "incrby", "expire", "pexpire", "expireat", "pexpireat"},
			observe:  counterWithoutExpiry,
			advice: "The counter has no deadline and is never reset: its EXPIRE was lost. Send INCR and " +
				"EXPIRE in one script or MULTI, or call RL.ALLOW key limit window ALGO FIXED.",
		},
		{
			problem:  "check-then-add",
			commands: []string{"zcard", "zcount", "zrange", "zrangebyscore", "get", "zadd", "incr", "incrby"},
			observe:  checkThenAdd,
			advice: "Another client's hit came between this client's check and its hit, so both had the " +
				"last place. Check and add in one script, or call RL.ALLOW key limit window.",
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
