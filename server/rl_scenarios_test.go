package server_test

import (
	"fmt"
	"slices"
)

// rlScenarios returns the table for rl_paths_test.go. Replies are computed by hand
// from the rules of RL.ALLOW: a unit of millisecond m counts while now < m +
// window; a millisecond has room for 1,000 units, and further ones go into the next
// milliseconds.
func rlScenarios() []rlScenario {
	return slices.Concat(rlWindows(), rlCosts(), rlExpiry(), rlByHand(), rlRefusals(), rlForeignSets(),
		rlOptions(), rlAlgorithms(), rlStates(), rlSeveralKeys(), rlKeys(), rlThrottle(),
		rlNothing(), rlAdopt(),
		rlHolds(), rlLeases(), rlIncrEx(), rlTop(), rlSim(), rlExplain())
}

func rlWindows() []rlScenario {
	out := []rlScenario{
		{"two a second", nil, []rlStep{
			{0, "RL.ALLOW k 2 1000", "[1 2 1 0 1000]"},
			{0, "RL.ALLOW k 2 1000", "[1 2 0 0 1000]"},
			{0, "RL.ALLOW k 2 1000", "[0 2 0 1000 1000]"},
			{400, "RL.ALLOW k 2 1000", "[0 2 0 600 600]"},
			{999, "RL.ALLOW k 2 1000", "[0 2 0 1 1]"},
			{1000, "RL.ALLOW k 2 1000", "[1 2 1 0 1000]"},
			{1001, "rl.allow k 2 1000", "[1 2 0 0 1000]"},
			{1999, "RL.ALLOW k 2 1000", "[0 2 0 1 2]"},
			{2000, "RL.ALLOW k 2 1000", "[1 2 0 0 1000]"},
			{2000, "RL.ALLOW k 2 1000", "[0 2 0 1 1000]"},
			{2001, "RL.ALLOW k 2 1000", "[1 2 0 0 1000]"},
		}},
		{"keys are independent", nil, []rlStep{
			{0, "RL.ALLOW a 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW b 1 1s", "[1 1 0 0 1000]"},
			{0, `RL.ALLOW "" 1 1s`, "[1 1 0 0 1000]"},
			{0, `RL.ALLOW "a\x00\r\n" 1 1s`, "[1 1 0 0 1000]"},
			{0, "RL.ALLOW a 1 1s", "[0 1 0 1000 1000]"},
			{0, `RL.ALLOW "" 1 1s`, "[0 1 0 1000 1000]"},
			{0, "EXISTS a b", "2"},
		}},
		{"limits of one key may change", nil, []rlStep{
			{0, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW k 3 1s", "[1 3 1 0 1000]"},
			{0, "RL.ALLOW k 1 1s", "[0 1 0 1000 1000]"},
			{500, "RL.ALLOW k 3 1s", "[1 3 0 0 1000]"},
			// Above a lowered limit two of three must expire.
			{500, "RL.ALLOW k 2 1s", "[0 2 0 500 1000]"},
			{500, "RL.ALLOW k 1 1s", "[0 1 0 1000 1000]"},
		}},
		{"the clock steps back and nothing is freed", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{-500, "RL.ALLOW k 2 1s", "[1 2 0 0 1500]"},
			{-500, "RL.ALLOW k 2 1s", "[0 2 0 1500 1500]"},
			{-500, "ZRANGE k 0 -1", "[1700000000000000 1700000000000001]"},
			{999, "RL.ALLOW k 2 1s", "[0 2 0 1 1]"},
			{1000, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
		}},
		{"bursts of more than a millisecond has room for", nil, []rlStep{
			{0, "RL.ALLOW k 20000 1s COST 20000", "[20000 20000 0 0 1019]"},
			{1000, "RL.ALLOW k 20000 1s COST 20000", "[0 20000 1000 19 19]"},
			{1018, "RL.ALLOW k 20000 1s COST 20000", "[0 20000 19000 1 1]"},
			{1019, "RL.ALLOW k 20000 1s COST 20000", "[20000 20000 0 0 1019]"},
			{0, "RL.ALLOW l 100000 1s COST 100000", "[100000 100000 0 0 1099]"},
			{1098, "RL.ALLOW l 100000 1s COST 100000", "[0 100000 99000 1 1]"},
		}},
		{"the clock at the limits of a score", nil, []rlStep{
			{100_000_000_000 - startNowMs, "RL.ALLOW early 1 1s", "[1 1 0 0 1000]"},
			{100_000_000_000 - startNowMs, "ZRANGE early 0 -1", "[100000000000000]"},
			{
				9_007_199_254_740 - startNowMs, "RL.ALLOW late 5000 1s COST 993",
				"ERR the server's clock is outside the range of a log",
			},
			{9_007_199_254_740 - startNowMs, "RL.ALLOW late 5000 1s COST 992", "[992 5000 4008 0 1000]"},
			{9_007_199_254_740 - startNowMs, "ZRANGE late -1 -1", "[9007199254740991]"},
			{
				9_007_199_254_740 - startNowMs, "RL.ALLOW late 5000 1s",
				"ERR the server's clock is outside the range of a log",
			},
			{
				9_007_199_254_741 - startNowMs, "RL.ALLOW other 1 1s",
				"ERR the server's clock is outside the range of a log",
			},
		}},
	}
	for _, w := range []struct {
		text string
		ms   int64
	}{
		{"1", 1},
		{"7", 7},
		{"500ms", 500},
		{"10s", 10_000},
		{"1m", 60_000},
		{"2h", 7_200_000},
		{"1d", 86_400_000},
		{"36524d", 36_524 * 86_400_000},
		{"3155759999999", 3_155_759_999_999},
	} {
		out = append(out, rlScenario{"a window of " + w.text, nil, []rlStep{
			{0, "RL.ALLOW k 1 " + w.text, fmt.Sprintf("[1 1 0 0 %d]", w.ms)},
			{0, "PTTL k", fmt.Sprint(w.ms)},
			{0, "RL.ALLOW k 1 " + w.text, fmt.Sprintf("[0 1 0 %d %d]", w.ms, w.ms)},
			{w.ms - 1, "RL.ALLOW k 1 " + w.text, "[0 1 0 1 1]"},
			{w.ms, "RL.ALLOW k 1 " + w.text, fmt.Sprintf("[1 1 0 0 %d]", w.ms)},
			{w.ms, "ZCARD k", "1"},
		}})
	}
	return out
}

func rlCosts() []rlScenario {
	return []rlScenario{
		{"COST", nil, []rlStep{
			{0, "RL.ALLOW k 10 1s COST 4", "[4 10 6 0 1000]"},
			{0, "RL.ALLOW k 10 1s cost 7", "[0 10 6 1000 1000]"},
			{300, "RL.ALLOW k 10 1s CoSt 6", "[6 10 0 0 1000]"},
			// Up to 4 units wait for the first call's to expire, a fifth for the
			// second's.
			{300, "RL.ALLOW k 10 1s COST 4", "[0 10 0 700 1000]"},
			{300, "RL.ALLOW k 10 1s COST 5", "[0 10 0 1000 1000]"},
			{300, "RL.ALLOW k 10 1s COST 10", "[0 10 0 1000 1000]"},
			{999, "RL.ALLOW k 10 1s COST 4", "[0 10 0 1 301]"},
			{1000, "RL.ALLOW k 10 1s COST 4", "[4 10 0 0 1000]"},
			{1000, "ZCARD k", "10"},
		}},
		{"a COST above the limit can never fit", nil, []rlStep{
			{0, "RL.ALLOW k 3 1s COST 4", "[0 3 3 -1 0]"},
			{0, "EXISTS k", "0"},
			{0, "RL.ALLOW k 3 1s COST 2", "[2 3 1 0 1000]"},
			{100, "RL.ALLOW k 3 1s COST 4", "[0 3 1 -1 900]"},
			{100, "RL.ALLOW k 3 1s COST 1000001", "[0 3 1 -1 900]"},
			{100, "RL.ALLOW k 3 1s COST 9223372036854775807", "[0 3 1 -1 900]"},
		}},
		{"COST 0 does not admit", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s COST 0", "[1 2 2 0 0]"},
			{0, "EXISTS k", "0"},
			{0, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{10, "RL.ALLOW k 2 1s COST 0", "[1 2 1 0 990]"},
			{10, "RL.ALLOW k 2 1s", "[1 2 0 0 1000]"},
			{10, "RL.ALLOW k 2 1s COST 0", "[0 2 0 990 1000]"},
			{10, "ZCARD k", "2"},
			{1000, "RL.ALLOW k 2 1s COST 0", "[1 2 1 0 10]"},
			{1010, "RL.ALLOW k 2 1s COST 0", "[1 2 2 0 0]"},
			// COST 0 does not trim either.
			{1010, "ZCARD k", "2"},
		}},
		{"more than 1,000 units in a millisecond spill into the next", nil, []rlStep{
			{0, "RL.ALLOW k 2500 10 COST 1000", "[1000 2500 1500 0 10]"},
			{0, "RL.ALLOW k 2500 10 COST 1000", "[1000 2500 500 0 11]"},
			{0, "RL.ALLOW k 2500 10 COST 501", "[0 2500 500 10 11]"},
			{0, "RL.ALLOW k 2500 10 COST 500", "[500 2500 0 0 12]"},
			{0, "PTTL k", "12"},
			{9, "RL.ALLOW k 2500 10", "[0 2500 0 1 3]"},
			{10, "RL.ALLOW k 2500 10 COST 1000", "[1000 2500 0 0 10]"},
			{11, "RL.ALLOW k 2500 10 COST 1001", "[0 2500 1000 1 9]"},
			{11, "RL.ALLOW k 2500 10 COST 1000", "[1000 2500 0 0 10]"},
			{12, "ZCARD k", "2500"},
		}},
		{"a limit of as many units as the window has microseconds", nil, []rlStep{
			{0, "RL.ALLOW k 1000 1 COST 1000", "[1000 1000 0 0 1]"},
			{0, "RL.ALLOW k 1000 1", "[0 1000 0 1 1]"},
			{1, "RL.ALLOW k 1000 1 COST 1000", "[1000 1000 0 0 1]"},
			{1, "ZCARD k", "1000"},
		}},
		{"the largest COST", nil, []rlStep{
			{0, "RL.ALLOW k 16777216 1h COST 1000000", "[1000000 16777216 15777216 0 3600999]"},
			{0, "RL.ALLOW k 16777216 1h COST 1000001", "ERR COST must be at most 1000000" + insteadOfLog},
			{0, "ZCARD k", "1000000"},
			{0, "OBJECT ENCODING k", "skiplist"},
		}},
	}
}

func rlExpiry() []rlScenario {
	return []rlScenario{
		{"the key expires with its window", nil, []rlStep{
			{0, "RL.ALLOW k 1 500ms", "[1 1 0 0 500]"},
			{0, "PEXPIRETIME k", "1700000000500"},
			{499, "PTTL k", "1"},
			{500, "PTTL k", "0"},
			{500, "EXISTS k", "1"},
			{501, "EXISTS k", "0"},
			{501, "TYPE k", "none"},
			{501, "PTTL k", "-2"},
		}},
		{"a denied call does not prolong the key", nil, []rlStep{
			{0, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
			{900, "RL.ALLOW k 1 1s", "[0 1 0 100 100]"},
			{900, "PTTL k", "100"},
			{1001, "EXISTS k", "0"},
		}},
		{"a short window keeps units that a longer one needs", nil, []rlStep{
			{0, "RL.ALLOW k 5 10s", "[1 5 4 0 10000]"},
			{2000, "RL.ALLOW k 5 1s", "[1 5 4 0 1000]"},
			{2000, "ZCARD k", "2"},
			{2000, "PTTL k", "10000"},
			{3000, "RL.ALLOW k 5 10s", "[1 5 2 0 10000]"},
			{10_000, "RL.ALLOW k 5 10s COST 0", "[1 5 3 0 3000]"},
			{10_000, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{10_000, "ZCARD k", "3"},
			{10_000, "PTTL k", "10000"},
		}},
		{"a longer window counts from its first use", nil, []rlStep{
			{0, "RL.ALLOW k 5 1s", "[1 5 4 0 1000]"},
			{900, "RL.ALLOW k 5 10s", "[1 5 3 0 10000]"},
			{900, "PTTL k", "10000"},
			{10_000, "RL.ALLOW k 5 10s COST 0", "[1 5 4 0 900]"},
		}},
	}
}

func rlByHand() []rlScenario {
	return []rlScenario{
		{"the key is a sorted set", nil, []rlStep{
			{0, "RL.ALLOW k 500 1m COST 2", "[2 500 498 0 60000]"},
			{0, "TYPE k", "zset"},
			{0, "ZCARD k", "2"},
			{0, "ZRANGE k 0 -1", "[1700000000000000 1700000000000001]"},
			{0, "ZSCORE k 1700000000000001", "1700000000000001"},
			{0, "ZRANK k 1700000000000001", "1"},
			{0, "ZCOUNT k 1700000000000001 +inf", "1"},
			{0, "OBJECT ENCODING k", "listpack"},
			{0, "RL.ALLOW k 500 1m COST 126", "[126 500 372 0 60000]"},
			{0, "OBJECT ENCODING k", "listpack"},
			{0, "RL.ALLOW k 500 1m", "[1 500 371 0 60000]"},
			{0, "OBJECT ENCODING k", "skiplist"},
			{7, "RL.ALLOW k 500 1m", "[1 500 370 0 60000]"},
			{7, "ZRANGE k -1 -1", "[1700000000007000]"},
		}},
		{"a shorter EXPIRE frees units earlier", nil, []rlStep{
			{0, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
			{0, "EXPIRE k 3", "1"},
			{1000, "RL.ALLOW k 1 10s", "[0 1 0 2001 2001]"},
			{3000, "RL.ALLOW k 1 10s", "[0 1 0 1 1]"},
			{3001, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
		}},
		{"a longer EXPIRE is kept", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{0, "EXPIRE k 100", "1"},
			{1000, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{1000, "PTTL k", "100000"},
			{1000, "ZCARD k", "2"},
		}},
		{"PERSIST by hand", nil, []rlStep{
			{0, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
			{0, "PERSIST k", "1"},
			{999, "RL.ALLOW k 1 1s", "[0 1 0 1 1]"},
			{999, "PTTL k", "-1"},
			{1000, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
			{1000, "PTTL k", "1000"},
			{1000, "ZCARD k", "1"},
		}},
		{"ZREM by hand refunds units", nil, []rlStep{
			{0, "RL.ALLOW k 2 10s COST 2", "[2 2 0 0 10000]"},
			{0, "ZREM k 1700000000000000", "1"},
			{5, "RL.ALLOW k 2 10s", "[1 2 0 0 10000]"},
			{5, "ZREM k 1700000000000001 1700000000005000", "2"},
			{5, "EXISTS k", "0"},
			{5, "RL.ALLOW k 2 10s", "[1 2 1 0 10000]"},
		}},
		{"ZREMRANGEBYSCORE and ZPOPMAX by hand", nil, []rlStep{
			{0, "RL.ALLOW k 3 10s COST 2", "[2 3 1 0 10000]"},
			{4, "RL.ALLOW k 3 10s", "[1 3 0 0 10000]"},
			{4, "ZREMRANGEBYSCORE k -inf (1700000000004000", "2"},
			{4, "RL.ALLOW k 3 10s COST 0", "[1 3 2 0 10000]"},
			{4, "ZREMRANGEBYRANK k 0 -1", "1"},
			{4, "RL.ALLOW k 3 10s COST 0", "[1 3 3 0 0]"},
		}},
		{"DEL by hand", nil, []rlStep{
			{0, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
			{0, "RL.ALLOW k 1 10s", "[0 1 0 10000 10000]"},
			{0, "DEL k", "1"},
			{0, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
		}},
		{"RENAME keeps the units and the expiry", nil, []rlStep{
			{0, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
			{500, "RENAME k j", "OK"},
			{500, "RL.ALLOW j 1 10s", "[0 1 0 9500 9500]"},
			{500, "PTTL j", "9500"},
			{500, "RL.ALLOW k 1 10s", "[1 1 0 0 10000]"},
			{600, "RENAME k j", "OK"},
			{600, "RL.ALLOW j 1 10s", "[0 1 0 9900 9900]"},
		}},
		{"units added by hand count", nil, []rlStep{
			{0, "ZADD k 1700000000000000 1700000000000000", "1"},
			{0, "RL.ALLOW k 1 10s", "[0 1 0 10000 10000]"},
			{0, "PTTL k", "-1"},
			{0, "RL.ALLOW k 2 10s", "[1 2 0 0 10000]"},
			{0, "PTTL k", "10000"},
		}},
		{"units ahead of now count too", nil, []rlStep{
			{0, "ZADD k 1700000005000000 1700000005000000", "1"},
			{0, "RL.ALLOW k 2 1s", "[1 2 0 0 6000]"},
			{0, "RL.ALLOW k 2 1s", "[0 2 0 6000 6000]"},
			{0, "ZRANGE k 0 -1", "[1700000005000000 1700000005000001]"},
			{5999, "RL.ALLOW k 2 1s", "[0 2 0 1 1]"},
			{6000, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
		}},
		{"the scores that RL.ALLOW accepts as its own", nil, []rlStep{
			{0, "ZADD low 100000000000000 100000000000000", "1"},
			{0, "RL.ALLOW low 1 1s", "[1 1 0 0 1000]"},
			{0, "ZRANGE low 0 -1", "[1700000000000000]"},
			{0, "ZADD high 9007199254740991 9007199254740991", "1"},
			{0, "RL.ALLOW high 1 1s", "[0 1 0 7307199255740 7307199255740]"},
			{0, "RL.ALLOW high 2 1s", "ERR the server's clock is outside the range of a log"},
		}},
	}
}
