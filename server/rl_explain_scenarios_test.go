package server_test

import "fmt"

// Scenarios of RL.EXPLAIN. Replies are computed by hand, as in rl_scenarios_test.go.

// explainedAs formats a reply of RL.EXPLAIN at an instant: the fields before the
// windows, then those of each window.
func explainedAs(head string, windows ...string) string {
	text := "[" + head + " windows ["
	for i, w := range windows {
		if i > 0 {
			text += " "
		}
		text += "[" + w + "]"
	}
	return text + "]]"
}

// at is a line of a header: the algorithm at an instant since startNowMs.
func headAt(algorithm string, atMs, ttlMs int64) string {
	return fmt.Sprintf("algorithm %s now_ms %d ttl_ms %d", algorithm, startNowMs+atMs, ttlMs)
}

func rlExplain() []rlScenario {
	const (
		unknownFixed = " unknown instants of hits: a FIXED key " +
			"holds one count, which ends with its slice of time"
		unknownGCRA = " unknown instants of hits: a GCRA key " +
			"holds one instant, at which the burst is full again"
		unknownCounter = " unknown instants of hits: a COUNTER key holds the counts of two slices of time"
	)
	const empty = "used 0 remaining 3 tenths [0 0 0 0 0 0 0 0 0 0] leave_after_ms [] fits_after_ms 0"
	return []rlScenario{
		{"RL.EXPLAIN of a log", nil, []rlStep{
			{
				0, "RL.EXPLAIN k 3 1s",
				explainedAs(headAt("LOG", 0, -2), "limit 3 window_ms 1000 "+empty+
					" double [limit 6 allowed 1 remaining 6 retry_after_ms 0]"),
			},
			{0, "RL.ALLOW k 3 1s", "[1 3 2 0 1000]"},
			{150, "RL.ALLOW k 3 1s COST 2", "[2 3 0 0 1000]"},
			{
				400, "RL.EXPLAIN k 3 1s COST 3",
				explainedAs(headAt("LOG", 400, 750),
					"limit 3 window_ms 1000 used 3 remaining 0 "+
						"oldest_ms 1700000000000 oldest_age_ms 400 "+
						"newest_ms 1700000000150 newest_age_ms 250 "+
						"tenths [0 0 0 0 0 1 0 2 0 0] leave_after_ms [600 750 750] fits_after_ms 600 "+
						"cost 3 cost_fits_after_ms 750 "+
						"double [limit 6 allowed 3 remaining 3 retry_after_ms 0]"),
			},
			{
				400, "RL.EXPLAIN k 3 1s COST 4",
				explainedAs(headAt("LOG", 400, 750),
					"limit 3 window_ms 1000 used 3 remaining 0 "+
						"oldest_ms 1700000000000 oldest_age_ms 400 "+
						"newest_ms 1700000000150 newest_age_ms 250 "+
						"tenths [0 0 0 0 0 1 0 2 0 0] leave_after_ms [600 750 750] fits_after_ms 600 "+
						"cost 4 cost_fits_after_ms -1 "+
						"double [limit 6 allowed 0 remaining 3 retry_after_ms 600]"),
			},
			{
				1000, "rl.explain k 3 1s 1 100 cost 0",
				explainedAs(headAt("LOG", 1000, 150),
					"limit 3 window_ms 1000 used 2 remaining 1 "+
						"oldest_ms 1700000000150 oldest_age_ms 850 "+
						"newest_ms 1700000000150 newest_age_ms 850 "+
						"tenths [0 2 0 0 0 0 0 0 0 0] leave_after_ms [150 150] fits_after_ms 0 "+
						"cost 1 cost_fits_after_ms 0 "+
						"double [limit 6 allowed 1 remaining 4 retry_after_ms 0]",
					"limit 1 window_ms 100 used 0 remaining 1 tenths [0 0 0 0 0 0 0 0 0 0] "+
						"leave_after_ms [] fits_after_ms 0 cost 1 cost_fits_after_ms 0 "+
						"double [limit 2 allowed 1 remaining 2 retry_after_ms 0]"),
			},
			{2000, "EXISTS k", "0"},
		}},
		{"RL.EXPLAIN shows ten departures, units ahead of the clock and a deadline", nil, []rlStep{
			{0, "RL.ALLOW k 20 1s COST 12", "[12 20 8 0 1000]"},
			{
				-300, "RL.EXPLAIN k 10 1s",
				explainedAs(headAt("LOG", -300, 1300),
					"limit 10 window_ms 1000 used 12 remaining 0 "+
						"oldest_ms 1700000000000 oldest_age_ms -300 "+
						"newest_ms 1700000000000 newest_age_ms -300 "+
						"tenths [0 0 0 0 0 0 0 0 0 12] "+
						"leave_after_ms [1300 1300 1300 1300 1300 1300 1300 1300 1300 1300] "+
						"fits_after_ms 1300 "+
						"double [limit 20 allowed 1 remaining 8 retry_after_ms 0]"),
			},
			{0, "PEXPIRE k 500", "1"},
			{
				100, "RL.EXPLAIN k 12 5",
				explainedAs(headAt("LOG", 100, 400),
					"limit 12 window_ms 5 used 0 remaining 12 tenths [0 0 0 0 0 0 0 0 0 0] "+
						"leave_after_ms [] fits_after_ms 0 "+
						"double [limit 24 allowed 1 remaining 24 retry_after_ms 0]"),
			},
			{
				100, "RL.EXPLAIN k 11 1s",
				explainedAs(headAt("LOG", 100, 400),
					"limit 11 window_ms 1000 used 12 remaining 0 "+
						"oldest_ms 1700000000000 oldest_age_ms 100 "+
						"newest_ms 1700000000000 newest_age_ms 100 "+
						"tenths [0 0 0 0 0 0 0 0 12 0] "+
						"leave_after_ms [401 401 401 401 401 401 401 401 401 401] fits_after_ms 401 "+
						"double [limit 22 allowed 1 remaining 10 retry_after_ms 0]"),
			},
		}},
		{"RL.EXPLAIN of other algorithms", nil, []rlStep{
			{100, "RL.ALLOW f 3 1s ALGO FIXED COST 2", "[2 3 1 0 900]"},
			{
				200, "RL.EXPLAIN f 3 1s COST 2",
				explainedAs(headAt("FIXED", 200, 800)+
					unknownFixed,
					"limit 3 window_ms 1000 used 2 remaining 1 leave_after_ms [800 800] fits_after_ms 0 "+
						"cost 2 cost_fits_after_ms 800 "+
						"double [limit 6 allowed 2 remaining 4 retry_after_ms 0]"),
			},
			{100, "RL.ALLOW g 10 1s ALGO GCRA 3 COST 3", "[3 10 0 0 300]"},
			{
				150, "RL.EXPLAIN g 10 1s ALGO GCRA 3",
				explainedAs(headAt("GCRA", 150, 250)+" burst 3"+
					unknownGCRA,
					"limit 10 window_ms 1000 used 3 remaining 0 "+
						"leave_after_ms [50 150 250] fits_after_ms 50 "+
						"double [limit 20 allowed 1 remaining 1 retry_after_ms 0]"),
			},
			{ // the burst is not in the key: the limit
				150, "RL.EXPLAIN g 10 1s",
				explainedAs(headAt("GCRA", 150, 250)+" burst 10"+
					unknownGCRA,
					"limit 10 window_ms 1000 used 3 remaining 7 leave_after_ms [50 150 250] fits_after_ms 0 "+
						"double [limit 20 allowed 1 remaining 15 retry_after_ms 0]"),
			},
			{100, "RL.ALLOW b 3 1s ALGO BUCKETS 4 COST 2", "[2 3 1 0 1149]"},
			{
				300, "RL.EXPLAIN b 3 1s",
				explainedAs(headAt("BUCKETS", 300, 949)+" resolution_ms 250",
					"limit 3 window_ms 1000 used 2 remaining 1 "+
						"oldest_ms 1700000000249 oldest_age_ms 51 "+
						"newest_ms 1700000000249 newest_age_ms 51 "+
						"tenths [0 0 0 0 0 0 0 0 0 2] leave_after_ms [949 949] fits_after_ms 0 "+
						"double [limit 6 allowed 1 remaining 4 retry_after_ms 0]"),
			},
			{300, "RL.EXPLAIN b 3 2s", "ERR key holds BUCKETS state of 4 buckets of 250ms, not 4 of 500ms"},
			{
				300, "RL.EXPLAIN b 3 1s ALGO BUCKETS 5",
				"ERR key holds BUCKETS state of 4 buckets of 250ms, not 5 of 200ms",
			},
			{100, "RL.ALLOW c 4 1s ALGO COUNTER COST 4", "[4 4 0 0 1900]"},
			{
				1500, "RL.EXPLAIN c 4 1s COST 4",
				explainedAs(headAt("COUNTER", 1500, 500)+
					unknownCounter,
					"limit 4 window_ms 1000 used 2 remaining 2 leave_after_ms [250 500] fits_after_ms 0 "+
						"cost 4 cost_fits_after_ms 500 "+
						"double [limit 8 allowed 4 remaining 6 retry_after_ms 0]"),
			},
			{1500, "RL.EXPLAIN c 4 2s", "ERR key holds COUNTER state of a window of 1000ms, not 2000ms"},
			{1500, "RL.EXPLAIN c 4 1s 5 1s", "ERR several limits and windows require ALGO LOG"},
			{1500, "RL.EXPLAIN c 4 1s ALGO LOG", "ERR key holds COUNTER state, not LOG"},
			{1500, "RL.EXPLAIN c 4 1s ALGO FIXED", "ERR key holds COUNTER state, not FIXED"},
			{
				1500, "RL.EXPLAIN none 4 1s ALGO COUNTER",
				explainedAs(headAt("COUNTER", 1500, -2)+
					unknownCounter,
					"limit 4 window_ms 1000 used 0 remaining 4 leave_after_ms [] fits_after_ms 0 "+
						"double [limit 8 allowed 1 remaining 8 retry_after_ms 0]"),
			},
			{1500, "RL.RESERVE h 9 1m 3 HOLD 1m ID a", "[3 9 6 0 60000]"},
			{1500, "RL.EXPLAIN h:hold:a 4 1s", "ERR key holds HOLD state, not LOG"},
			{1500, "RL.ACQUIRE l 1 LEASE 1m ID a", "[1 1 1 60000]"},
			{1500, "RL.EXPLAIN l 4 1s", "ERR key holds LEASES state, not LOG"},
		}},
		rlExplainForeign(),
		{"RL.EXPLAIN refuses", nil, []rlStep{
			{0, "RL.EXPLAIN k -1 1s", errLimit},
			{0, "RL.EXPLAIN k x 1s", errLimitNumber},
			{0, "RL.EXPLAIN k 1 0", errWindowShort},
			{0, "RL.EXPLAIN k 1 36525d", errWindowLong},
			{0, "RL.EXPLAIN k 1 x", errWindow},
			{0, "RL.EXPLAIN k 1 1s 2", "ERR syntax error, the limit '2' has no window"},
			{0, "RL.EXPLAIN k 1 1s 2 0", errWindowShort},
			{0, "RL.EXPLAIN k 1 1s -1 1s", errLimit},
			{0, "RL.EXPLAIN k 1001 1", errLimitWindow},
			{0, "RL.EXPLAIN k 16777217 1d", errLimitUnits},
			{0, "RL.EXPLAIN k 1 1s COST", errCostMissing},
			{0, "RL.EXPLAIN k 1 1s COST x", errCostNumber},
			{0, "RL.EXPLAIN k 1 1s COST -1", errCost},
			{0, "RL.EXPLAIN k 1 1s COST 1 COST 1", "ERR syntax error, 'COST' is given twice"},
			{0, "RL.EXPLAIN k 1 1s FULL", "ERR syntax error, 'FULL' is neither a limit nor an option"},
			{0, "RL.EXPLAIN k 1 1s COST 1 PEEK", "ERR syntax error, 'PEEK' is not an option here"},
			{
				0, "RL.EXPLAIN k 1 1s ALGO",
				"ERR syntax error, ALGO needs LOG, FIXED, GCRA burst, BUCKETS n or COUNTER",
			},
			{0, "RL.EXPLAIN k 1 1s ALGO X", "ERR ALGO 'X' is not LOG, FIXED, GCRA, BUCKETS or COUNTER"},
			{0, "RL.EXPLAIN k 1 1s ALGO GCRA -1", "ERR burst must not be negative"},
			{0, "RL.EXPLAIN k 1 1s ALGO BUCKETS 0", "ERR the number of BUCKETS must be from 1 to 1000"},
			{0, "RPUSH list a", "1"},
			{0, "RL.EXPLAIN list 1 1s", errWrongType},
			{0, "SET text a", "OK"},
			{0, "RL.EXPLAIN text 1 1s", "ERR key holds a string that RL.ALLOW did not write"},
			{0, "HSET hash a b", "1"},
			{0, "RL.EXPLAIN hash 1 1s", "ERR key holds a hash that RL.ALLOW did not write"},
		}},
	}
}

// rlExplainForeign is the sorted sets of limiters that are scripts.
func rlExplainForeign() rlScenario {
	const none = "used 0 remaining 2 tenths [0 0 0 0 0 0 0 0 0 0] leave_after_ms [] fits_after_ms 0 " +
		"double [limit 4 allowed 1 remaining 4 retry_after_ms 0]"
	return rlScenario{"RL.EXPLAIN of sorted sets that others wrote", nil, []rlStep{
		{0, "ZADD s 1699999990 a 1699999995.25 b 1699999999.9994 c 1699999999.9994 d", "4"},
		{
			0, "RL.EXPLAIN s 2 10s",
			explainedAs(headAt("ZSET", 0, -1)+" score_unit s",
				"limit 2 window_ms 10000 used 3 remaining 0 "+
					"oldest_ms 1699999995250 oldest_age_ms 4750 "+
					"newest_ms 1700000000000 newest_age_ms 0 "+
					"tenths [0 0 0 0 0 1 0 0 0 2] leave_after_ms [5250 10000 10000] fits_after_ms 10000 "+
					"double [limit 4 allowed 1 remaining 1 retry_after_ms 0]"),
		},
		{0, "RL.ALLOW s 2 10s", errForeign},
		{0, "RL.EXPLAIN s 2 10s ALGO LOG", errForeign},
		{0, "ZADD ms 1699999999000 1699999999000 1700000000500 x", "2"},
		{0, "PEXPIRE ms 800", "1"},
		{
			0, "RL.EXPLAIN ms 1 2s 2 1s COST 2",
			explainedAs(headAt("ZSET", 0, 800)+" score_unit ms",
				"limit 1 window_ms 2000 used 2 remaining 0 "+
					"oldest_ms 1699999999000 oldest_age_ms 1000 "+
					"newest_ms 1700000000500 newest_age_ms -500 "+
					"tenths [0 0 0 0 1 0 0 0 0 1] leave_after_ms [801 801] fits_after_ms 801 "+
					"cost 2 cost_fits_after_ms -1 double [limit 2 allowed 0 remaining 0 retry_after_ms 801]",
				"limit 2 window_ms 1000 used 1 remaining 1 "+
					"oldest_ms 1700000000500 oldest_age_ms -500 "+
					"newest_ms 1700000000500 newest_age_ms -500 "+
					"tenths [0 0 0 0 0 0 0 0 0 1] leave_after_ms [801] fits_after_ms 0 "+
					"cost 2 cost_fits_after_ms 801 double [limit 4 allowed 2 remaining 3 retry_after_ms 0]"),
		},
		{0, "ZADD us 1699999999000001 x", "1"},
		{
			0, "RL.EXPLAIN us 2 1s",
			explainedAs(headAt("ZSET", 0, -1)+" score_unit us",
				"limit 2 window_ms 1000 used 1 remaining 1 "+
					"oldest_ms 1699999999001 oldest_age_ms 999 "+
					"newest_ms 1699999999001 newest_age_ms 999 "+
					"tenths [1 0 0 0 0 0 0 0 0 0] leave_after_ms [1] fits_after_ms 0 "+
					"double [limit 4 allowed 1 remaining 3 retry_after_ms 0]"),
		},
		{
			1, "RL.EXPLAIN us 2 1s",
			explainedAs(headAt("ZSET", 1, -1)+" score_unit us", "limit 2 window_ms 1000 "+none),
		},
		{0, "ZADD ns 1699999998000000000 x", "1"},
		{
			0, "RL.EXPLAIN ns 2 1s",
			explainedAs(headAt("ZSET", 0, -1)+" score_unit ns", "limit 2 window_ms 1000 "+none),
		},
		// No time, or times of several units.
		{0, "ZADD board 1 a 250 b", "2"},
		{0, "RL.EXPLAIN board 2 1s", errForeign},
		{0, "ZADD mixed 1699999999 a 1699999999000 b", "2"},
		{0, "RL.EXPLAIN mixed 2 1s", errForeign},
		{0, "ZADD ends -inf a +inf b", "2"},
		{0, "RL.EXPLAIN ends 2 1s", errForeign},
		{0, "ZADD early 99999999 a", "1"},
		{0, "RL.EXPLAIN early 2 1s", errForeign},
	}}
}
