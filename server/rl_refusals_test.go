package server_test

import (
	"fmt"
	"strings"
)

const (
	errLimit       = "ERR limit must not be negative"
	errLimitNumber = "ERR limit is not an integer or out of range"
	insteadOfLog   = "; use ALGO BUCKETS or ALGO GCRA for more"
	errLimitUnits  = "ERR limit must be at most rl-log-max-units (16777216)" + insteadOfLog
	errLimitWindow = "ERR limit must be at most 1000 per millisecond of its window" + insteadOfLog
	errCostMissing = "ERR syntax error, COST needs a number"
	errWindow      = "ERR window must be an integer in milliseconds or an integer with a unit (ms, s, m, " +
		"h or d)"
	errWindowShort = "ERR window must be at least 1 millisecond"
	errWindowLong  = "ERR window must be below 100 years"
	errCost        = "ERR COST must not be negative"
	errCostNumber  = "ERR COST is not an integer or out of range"
	errForeign     = "ERR key holds a sorted set that RL.ALLOW did not write"
	errWrongType   = "WRONGTYPE Operation against a key holding the wrong kind of value"
)

// rlRefusals makes every malformed call on a key with units, on one of another
// type, and on a missing one.
func rlRefusals() []rlScenario {
	refusals := []struct{ args, want string }{
		{"-1 1s", errLimit},
		{"-9223372036854775808 1s", errLimit},
		{"9223372036854775808 1s", errLimitNumber},
		{"-9223372036854775809 1s", errLimitNumber},
		{`"" 1s`, errLimitNumber},
		{`"\x201" 1s`, errLimitNumber},
		{"+1 1s", errLimitNumber},
		{"01 1s", errLimitNumber},
		{"1.0 1s", errLimitNumber},
		{"1e3 1s", errLimitNumber},
		{"inf 1s", errLimitNumber},
		{"ten 1s", errLimitNumber},
		{`"1\x00" 1s`, errLimitNumber},
		{"16777217 1d", errLimitUnits},
		{"9223372036854775807 1d", errLimitUnits},
		{"1001 1", errLimitWindow},
		{"1000001 1s", errLimitWindow},

		{"1 0", errWindowShort},
		{"1 -1", errWindowShort},
		{"1 0s", errWindowShort},
		{"1 -5d", errWindowShort},
		{"1 -9223372036854775809", errWindowShort},
		{"1 -0", errWindow},
		{`1 ""`, errWindow},
		{"1 s", errWindow},
		{"1 -", errWindow},
		{"1 1S", errWindow},
		{"1 1sec", errWindow},
		{"1 1w", errWindow},
		{"1 1.5s", errWindow},
		{"1 1e3", errWindow},
		{"1 01s", errWindow},
		{"1 +1s", errWindow},
		{`1 "1\x20s"`, errWindow},
		{`1 "1s\x20"`, errWindow},
		{`1 "1s\x00"`, errWindow},
		{"1 1s1ms", errWindow},
		{"1 3155760000000", errWindowLong},
		{"1 36525d", errWindowLong},
		{"1 876600h", errWindowLong},
		{"1 9223372036854775807", errWindowLong},
		{"1 9223372036854775808", errWindowLong},
		{"1 9223372036854775807d", errWindowLong},
		{"1 213503982334602d", errWindowLong},
		{"1 21350398233461d", errWindowLong}, // in milliseconds it wraps around int64 to a short window
		{"1 99999999999999999999999999", errWindowLong},

		{"1 1s COST -1", errCost},
		{"1 1s COST -9223372036854775808", errCost},
		{"1 1s COST 9223372036854775808", errCostNumber},
		{`1 1s COST ""`, errCostNumber},
		{"1 1s COST 1.5", errCostNumber},
		{"1 1s COST COST", errCostNumber},
		{"1 1s COST", errCostMissing},
		{"1 1s COST 1 COST 1", "ERR syntax error, 'COST' is given twice"},
		{"1 1s COST 1 COST", "ERR syntax error, 'COST' is given twice"},
		{"1 1s COST 1 1", "ERR syntax error, '1' is not an option here"},
		{"1 1s COST 1 10 1m", "ERR syntax error, '10' is not an option here"},
		{"1 1s 1", "ERR syntax error, the limit '1' has no window"},
		{"1 1s 10 1m 100", "ERR syntax error, the limit '100' has no window"},
		{"1 1s 10 COST 1", errWindow},
		{`1 1s ""`, "ERR syntax error, '' is neither a limit nor an option"},
		{"1 1s COSTS 1", "ERR syntax error, 'COSTS' is neither a limit nor an option"},
		{"1 1s NOSUCH", "ERR syntax error, 'NOSUCH' is neither a limit nor an option"},
		{
			"1 1s " + strings.Repeat("y", 1000),
			"ERR syntax error, '" + strings.Repeat("y", 64) + "...' is neither a limit nor an option",
		},
		{"1 1s" + strings.Repeat(" 9 1m", 99), "ERR the number of limits must be from 1 to 16"},
		{"1 1s PEEK COST 2 peek", "ERR syntax error, 'peek' is given twice"},
		{"1 1s ALGO GCRA -1", "ERR burst must not be negative"},
		{"1 1s 10 1m ALGO FIXED", "ERR several limits and windows require ALGO LOG"},
		{"2000000 1h COST 1000001", "ERR COST must be at most 1000000" + insteadOfLog},
		{"2000000 1h COST 9223372036854775807 ATMOST", "ERR COST must be at most 1000000" + insteadOfLog},

		// Of several errors, the first argument's is returned.
		{"0 0 COST -1", errWindowShort},
		{"x y COST z", errLimitNumber},
		{"1 y COST z", errWindow},
		{"0 1s COST z", errCostNumber},
	}
	units := []rlStep{{0, "RL.ALLOW k 3 1m COST 2", "[2 3 1 0 60000]"}}
	text := []rlStep{{0, "SET k text", "OK"}}
	var none []rlStep
	for _, r := range refusals {
		step := rlStep{250, "RL.ALLOW k " + r.args, r.want}
		units, text, none = append(units, step), append(text, step), append(none, step)
	}
	units = append(units, rlStep{250, "RL.ALLOW k 3 1m", "[1 3 0 0 60000]"})
	text = append(text, rlStep{250, "RL.ALLOW k 1 1s", errWrongType},
		rlStep{250, "RL.ALLOW k 1 1s COST 0", errWrongType},
		rlStep{250, "RL.ALLOW k 1 1s COST 2", errWrongType}, rlStep{250, "GET k", "text"})
	none = append(none, rlStep{250, "EXISTS k", "0"})
	return []rlScenario{
		{"malformed calls to a key with units", nil, units},
		{"malformed calls to a string", nil, text},
		{"malformed calls to no key", nil, none},
		{"rl-log-max-units", []string{"--rl-log-max-units", "100"}, []rlStep{
			{0, "RL.ALLOW k 101 1m", "ERR limit must be at most rl-log-max-units (100)" + insteadOfLog},
			{0, "RL.ALLOW k 100 1m", "[1 100 99 0 60000]"},
		}},
		{"rl-max-keys-per-prefix", []string{"--rl-max-keys-per-prefix", `k 1 "k\"\r\n " 0`}, []rlStep{
			{0, "RL.ALLOW k1 9 1m", "[1 9 8 0 60000]"},
			{0, "RL.ALLOW k2 9 1m", "LIMITKEYS prefix 'k' has reached its limit of 1 keys"},
			{0, "RL.ALLOW k2 9 1m PEEK", "[1 9 9 0 0]"},
			{0, "RL.ALLOW k1 9 1m", "[1 9 7 0 60000]"},
			{0, "RL.RESET k1", "1"},
			{0, "RL.ALLOW k2 9 1m", "[1 9 8 0 60000]"},
		}},
	}
}

// rlForeignSets has sorted sets that were not written by RL.ALLOW: they stay as
// they are.
func rlForeignSets() []rlScenario {
	var out []rlScenario
	for name, members := range map[string]string{
		"seconds":              "1700000000 1700000000",
		"milliseconds":         "1700000000000 1700000000000",
		"unique members":       "1700000000000 a",
		"a member of our size": "1700000000000000 a",
		"fractions":            "1.5 1.5",
		"negative":             "-1700000000000000 -1700000000000000",
		"just below":           "99999999999999 99999999999999",
		"just above":           "9007199254740992 9007199254740992",
		"one of ours, one not": "1700000000000000 1700000000000000 1700000000 1700000000",
		"infinite":             "inf inf",
	} {
		steps := []rlStep{{0, "ZADD k " + members, fmt.Sprint(len(strings.Fields(members)) / 2)}}
		for _, call := range []string{"1 1s", "100 1d COST 5", "1 1s COST 0", "1 1s COST 2"} {
			steps = append(steps, rlStep{10, "RL.ALLOW k " + call, errForeign})
		}
		steps = append(steps,
			rlStep{20, "DEL k", "1"},
			rlStep{20, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"})
		out = append(out, rlScenario{"a sorted set of another limiter: " + name, nil, steps})
	}
	return out
}
