package server_test

import "fmt"

// Scenarios of the options, the algorithms and the other commands, computed by
// hand. startNowMs is a whole second.

// full returns the reply to FULL.
func full(allowed, limit, remaining, retry, reset, next, used int, algo string, window int) string {
	return fmt.Sprintf("[allowed %d limit %d remaining %d retry_after_ms %d reset_after_ms %d "+
		"next_after_ms %d used %d algo %s window_ms %d]",
		allowed, limit, remaining, retry, reset, next, used, algo, window)
}

func rlOptions() []rlScenario {
	return []rlScenario{
		{"several windows", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s 3 1m", "[1 2 1 0 1000]"},
			{100, "RL.ALLOW k 2 1s 3 1m", "[1 2 0 0 1000]"},
			{200, "RL.ALLOW k 2 1s 3 1m", "[0 2 0 800 900]"},
			{200, "RL.ALLOW k 3 1m 2 1s", "[0 2 0 800 900]"},
			// Both are full: the first named determines the reply.
			{1000, "RL.ALLOW k 2 1s 3 1m", "[1 2 0 0 1000]"},
			{2000, "RL.ALLOW k 2 1s 3 1m", "[0 3 0 58000 59000]"},
			{2000, "RL.ALLOW k 2 1s 3 1m PEEK", "[0 3 0 58000 59000]"},
			{2000, "RL.ALLOW k 2 1s 3 1m COST 3", "[0 2 2 -1 0]"},
			{2000, "PTTL k", "59000"},
			{59_999, "RL.ALLOW k 2 1s 3 1m", "[0 3 0 1 1001]"},
			{60_000, "RL.ALLOW k 2 1s 3 1m", "[1 3 0 0 60000]"},
			{60_000, "ZCARD k", "3"},
		}},
		{"sixteen windows", nil, []rlStep{
			{0, "RL.ALLOW k 16 1s 15 2s 14 3s 13 4s 12 5s 11 6s 10 7s 9 8s 8 9s 7 10s 6 11s 5 12s 4 " +
				"13s 3 14s 2 15s 1 16s", "[1 1 0 0 16000]"},
			{15_000, "RL.ALLOW k 16 1s 15 2s 14 3s 13 4s 12 5s 11 6s 10 7s 9 8s 8 9s 7 10s 6 11s 5 12s 4 " +
				"13s 3 14s 2 15s 1 16s", "[0 1 0 1000 1000]"},
		}},
		{"ATMOST", nil, []rlStep{
			{0, "RL.ALLOW k 5 1s COST 3 ATMOST", "[3 5 2 0 1000]"},
			{0, "RL.ALLOW k 5 1s ATMOST COST 3 PEEK", "[2 5 2 0 1000]"},
			{0, "RL.ALLOW k 5 1s ATMOST COST 3", "[2 5 0 0 1000]"},
			{0, "RL.ALLOW k 5 1s COST 3 ATMOST", "[0 5 0 1000 1000]"},
			{400, "RL.ALLOW k 5 1s COST 9 ATMOST", "[0 5 0 600 600]"},
			{400, "RL.ALLOW k 5 1s COST 9", "[0 5 0 -1 600]"},
			// The key expires with the second.
			{1000, "RL.ALLOW k 5 1s 3 1m COST 9223372036854775807 ATMOST", "[0 3 0 1 1]"},
			{1000, "RL.ALLOW k 5 1s 7 1m COST 9223372036854775807 ATMOST", "[2 7 0 0 60000]"},
		}},
		{"PEEK", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s PEEK", "[1 2 2 0 0]"},
			{0, "RL.ALLOW k 2 1s COST 2 PEEK", "[2 2 2 0 0]"},
			{0, "RL.ALLOW k 2 1s PEEK COST 3", "[0 2 2 -1 0]"},
			{0, "EXISTS k", "0"},
			{0, "RL.ALLOW k 2 1s", "[1 2 1 0 1000]"},
			{10, "RL.ALLOW k 2 1s PEEK COST 2", "[0 2 1 990 990]"},
			{10, "RL.ALLOW k 2 1s PEEK COST 0", "[1 2 1 0 990]"},
		}},
		{"FULL", nil, []rlStep{
			{0, "RL.ALLOW k 2 1s FULL PEEK", full(1, 2, 2, 0, 0, 0, 0, "LOG", 1000)},
			{0, "RL.ALLOW k 2 1s FULL", full(1, 2, 1, 0, 1000, 1000, 1, "LOG", 1000)},
			{300, "RL.ALLOW k 2 1s FULL", full(1, 2, 0, 0, 1000, 700, 2, "LOG", 1000)},
			{400, "RL.ALLOW k 2 1s FULL", full(0, 2, 0, 600, 900, 600, 2, "LOG", 1000)},
			// Under a lowered limit there is no capacity until both have expired.
			{400, "RL.ALLOW k 1 1s FULL", full(0, 1, 0, 900, 900, 900, 2, "LOG", 1000)},
			// The key expires first.
			{400, "RL.ALLOW k 9 1s 2 2s FULL", full(0, 2, 0, 901, 901, 901, 2, "LOG", 2000)},
			{0, "RL.ALLOW f 2 1s ALGO FIXED FULL", full(1, 2, 1, 0, 1000, 1000, 1, "FIXED", 1000)},
			{0, "RL.ALLOW g 10 1s ALGO GCRA 3 FULL COST 2", full(2, 10, 1, 0, 200, 100, 2, "GCRA", 1000)},
			{0, "RL.ALLOW b 3 1s ALGO BUCKETS 10 FULL", full(1, 3, 2, 0, 1099, 1099, 1, "BUCKETS", 1000)},
			{100, "RL.ALLOW b 3 1s FULL ALGO BUCKETS 10", full(1, 3, 1, 0, 1099, 999, 2, "BUCKETS", 1000)},
		}},
	}
}

func rlAlgorithms() []rlScenario {
	return []rlScenario{
		{"FIXED", nil, []rlStep{
			{200, "RL.ALLOW k 2 1s ALGO FIXED", "[1 2 1 0 800]"},
			{200, "PTTL k", "800"},
			{200, "GET k", "1"},
			{900, "RL.ALLOW k 2 1s ALGO FIXED PEEK", "[1 2 1 0 100]"},
			{900, "RL.ALLOW k 2 1s algo fixed", "[1 2 0 0 100]"},
			{999, "RL.ALLOW k 2 1s ALGO FIXED", "[0 2 0 1 1]"},
			{999, "RL.ALLOW k 3 1s ALGO FIXED", "[1 3 0 0 1]"},
			{999, "RL.ALLOW k 2 1s COST 3 ALGO FIXED", "[0 2 0 -1 1]"},
			{1000, "RL.ALLOW k 2 1s ALGO FIXED PEEK", "[1 2 2 0 0]"},
			{1000, "RL.ALLOW k 9 1s COST 12 ATMOST ALGO FIXED", "[9 9 0 0 1000]"},
			{1000, "GET k", "9"},
			// A longer window keeps the count; a clock that steps back frees
			// nothing.
			{1000, "RL.ALLOW k 10 1m ALGO FIXED", "[1 10 0 0 39000]"},
			{500, "RL.ALLOW k 11 1s ALGO FIXED", "[1 11 0 0 39500]"},
			{40_000, "RL.ALLOW k 1 1s ALGO FIXED", "[1 1 0 0 1000]"},
		}},
		{"GCRA", nil, []rlStep{
			{0, "RL.ALLOW k 10 1s ALGO GCRA 3", "[1 10 2 0 100]"},
			{0, "RL.ALLOW k 10 1s ALGO GCRA 3 COST 2", "[2 10 0 0 300]"},
			{0, "RL.ALLOW k 10 1s ALGO GCRA 3", "[0 10 0 100 300]"},
			{0, "RL.ALLOW k 10 1s ALGO GCRA 3 COST 3", "[0 10 0 300 300]"},
			{0, "RL.ALLOW k 10 1s ALGO GCRA 3 COST 4", "[0 10 0 -1 300]"},
			{99, "RL.ALLOW k 10 1s ALGO GCRA 3", "[0 10 0 1 201]"},
			{100, "RL.ALLOW k 10 1s ALGO GCRA 3", "[1 10 0 0 300]"},
			{100, "GET k", "gcra 1700000000400000"},
			{100, "PTTL k", "300"},
			{250, "RL.ALLOW k 10 1s ALGO GCRA 3 COST 3 ATMOST", "[1 10 0 0 250]"},
			// A clock that steps back frees nothing, and waits become longer.
			{150, "RL.ALLOW k 10 1s ALGO GCRA 3", "[0 10 0 150 350]"},
			{250, "RL.ALLOW k 10 1s ALGO GCRA 4", "[1 10 0 0 350]"},
			{250, "PEXPIRE k 20", "1"},
			{250, "RL.ALLOW k 10 1s ALGO GCRA 4", "[0 10 0 21 21]"},
			{271, "RL.ALLOW k 3 1s ALGO GCRA 2", "[1 3 1 0 334]"}, // 333,334 us each
			{271, "RL.ALLOW k 3 1s ALGO GCRA 2", "[1 3 0 0 667]"},
			{271, "RL.ALLOW k 3 1s ALGO GCRA 2", "[0 3 0 334 667]"},
		}},
		{"BUCKETS", nil, []rlStep{
			{50, "RL.ALLOW k 3 1s ALGO BUCKETS 10", "[1 3 2 0 1049]"},
			{50, "HGETALL k", "[width 100 n 10 newest 1700000000000 counts 1]"},
			{50, "PTTL k", "1049"},
			{250, "RL.ALLOW k 3 1s COST 2 ALGO BUCKETS 10", "[2 3 0 0 1049]"},
			{250, "HGET k counts", "2 0 1"},
			{250, "RL.ALLOW k 3 1s ALGO BUCKETS 10", "[0 3 0 849 1049]"},
			{250, "RL.ALLOW k 3 1s COST 2 ALGO BUCKETS 10", "[0 3 0 1049 1049]"},
			{250, "RL.ALLOW k 3 1s COST 4 ALGO BUCKETS 10", "[0 3 0 -1 1049]"},
			{
				250, "RL.ALLOW k 3 2s ALGO BUCKETS 10",
				"ERR key holds BUCKETS state of 10 buckets of 100ms, not 10 of 200ms",
			},
			{
				250, "RL.ALLOW k 3 1s ALGO BUCKETS 20",
				"ERR key holds BUCKETS state of 10 buckets of 100ms, not 20 of 50ms",
			},
			// The clock steps back: units go into the newest bucket, ahead of it.
			{-150, "RL.ALLOW k 4 1s ALGO BUCKETS 10", "[1 4 0 0 1449]"},
			{-150, "HGET k counts", "3 0 1"},
			{1098, "RL.ALLOW k 4 1s ALGO BUCKETS 10", "[0 4 0 1 201]"},
			{1099, "RL.ALLOW k 4 1s ALGO BUCKETS 10 COST 2 ATMOST", "[1 4 0 0 1000]"},
			{1099, "HGET k counts", "1 0 0 0 0 0 0 0 3 0 1"},
			{1299, "RL.ALLOW k 4 1s ALGO BUCKETS 10", "[1 4 2 0 1000]"},
			{1299, "PERSIST k", "1"},
			{9999, "RL.ALLOW k 4 1s ALGO BUCKETS 10", "[1 4 3 0 1000]"},
			{9999, "HGETALL k", "[width 100 n 10 newest 1700000009900 counts 1]"},
			{9999, "PTTL k", "1000"},
		}},
		{"COUNTER", nil, []rlStep{
			{100, "RL.ALLOW k 4 1s ALGO COUNTER COST 4", "[4 4 0 0 1900]"},
			{100, "GET k", "counter 1000 1700000000000 4 0"},
			{100, "PTTL k", "1900"},
			{900, "RL.ALLOW k 4 1s ALGO COUNTER", "[0 4 0 350 1100]"}, // 3 of the 4 count at 1250
			{900, "RL.ALLOW k 4 1s ALGO COUNTER COST 5", "[0 4 0 -1 1100]"},
			{
				900, "RL.ALLOW k 4 2s ALGO COUNTER",
				"ERR key holds COUNTER state of a window of 1000ms, not 2000ms",
			},
			{1249, "RL.ALLOW k 4 1s ALGO COUNTER", "[0 4 0 1 751]"},
			{1250, "RL.ALLOW k 4 1s ALGO counter FULL", full(1, 4, 0, 0, 1750, 250, 4, "COUNTER", 1000)},
			{1250, "GET k", "counter 1000 1700000001000 1 4"},
			// The clock steps back: units of the previous slice count in full.
			{900, "RL.ALLOW k 4 1s ALGO COUNTER", "[0 4 0 600 2100]"},
			{900, "RL.ALLOW k 9 1s ALGO COUNTER COST 9 ATMOST", "[4 9 0 0 2100]"},
			{900, "GET k", "counter 1000 1700000001000 5 4"},
			{2500, "RL.ALLOW k 9 1s ALGO COUNTER PEEK", "[1 9 6 0 500]"},
			{2500, "PERSIST k", "1"},
			{9000, "RL.ALLOW k 9 1s ALGO COUNTER", "[1 9 8 0 2000]"},
			{9000, "GET k", "counter 1000 1700000009000 1 0"},
		}},
		{"COUNTER with large numbers", nil, []rlStep{
			{
				0, "RL.ALLOW k 9007199254740991 36524d ALGO COUNTER COST 9007199254740990",
				"[9007199254740990 9007199254740991 1 0 4611347200000]",
			},
			{
				0, "RL.ALLOW k 9007199254740991 36524d ALGO COUNTER COST 2",
				"[0 9007199254740991 1 1455673600001 4611347200000]",
			},
		}},
		{"more BUCKETS than milliseconds, and a limit above any log's", nil, []rlStep{
			{
				0, "RL.ALLOW k 9007199254740991 3 ALGO BUCKETS 9 COST 9007199254740990",
				"[9007199254740990 9007199254740991 1 0 3]",
			},
			{0, "RL.ALLOW k 9007199254740991 3 ALGO BUCKETS 9 COST 2", "[0 9007199254740991 1 3 3]"},
			{1, "RL.ALLOW k 9007199254740991 3 ALGO BUCKETS 9", "[1 9007199254740991 0 0 3]"},
			{
				3, "RL.ALLOW k 9007199254740991 3 ALGO BUCKETS 9 PEEK",
				"[1 9007199254740991 9007199254740990 0 1]",
			},
		}},
	}
}

// rlStates calls every algorithm on a key of another: refused, and unchanged.
func rlStates() []rlScenario {
	calls := map[string]string{
		"LOG": "3 1s", "FIXED": "3 1s ALGO FIXED", "GCRA": "3 1s ALGO GCRA 3",
		"BUCKETS": "3 1s ALGO BUCKETS 4", "COUNTER": "3 1s ALGO COUNTER",
	}
	var out []rlScenario
	for held, call := range calls {
		steps := []rlStep{{0, "RL.ALLOW k " + call, ""}}
		steps[0].want = map[string]string{
			"LOG": "[1 3 2 0 1000]", "FIXED": "[1 3 2 0 1000]",
			"GCRA": "[1 3 2 0 334]", "BUCKETS": "[1 3 2 0 1249]", "COUNTER": "[1 3 2 0 2000]",
		}[held]
		for asked, call := range calls {
			if asked != held {
				steps = append(steps, rlStep{
					10, "RL.ALLOW k " + call + " FULL PEEK",
					"ERR key holds " + held + " state, not " + asked,
				})
			}
		}
		if held != "LOG" {
			steps = append(steps, rlStep{
				10, "RL.MALLOW 2 j 1 1s k 1 1s",
				"ERR key holds " + held + " state, not LOG",
			}, rlStep{10, "EXISTS j", "0"})
		}
		if held != "GCRA" {
			steps = append(steps,
				rlStep{10, "CL.THROTTLE k 1 1 1", "ERR key holds " + held + " state, not GCRA"})
		}
		out = append(out, rlScenario{"a key that holds " + held, nil, steps})
	}
	return out
}

func rlSeveralKeys() []rlScenario {
	return []rlScenario{
		{"malformed calls of RL.MALLOW", nil, []rlStep{
			{0, "RL.ALLOW u 5 1s", "[1 5 4 0 1000]"},
			{0, "SET s text", "OK"},
			{10, "RL.MALLOW 2 u 5 1s u 9 1m", "ERR key 'u' is named twice"},
			{10, "RL.MALLOW 2 t 5 1s s 5 1s", errWrongType},
			{10, "RL.MALLOW 2 u 5 1s t 5 36525d", errWindowLong},
			{10, "EXISTS t", "0"},
		}},
		{"RL.MALLOW", nil, []rlStep{
			{0, "RL.MALLOW 2 u 2 1s t 3 1m PEEK", "[1 1 2 2 0 0]"},
			{0, "RL.MALLOW 2 u 2 1s t 3 1m", "[1 1 2 1 0 1000]"},
			{0, "RL.MALLOW 2 u 2 1s t 3 1m", "[1 1 2 0 0 1000]"},
			{0, "RL.MALLOW 2 u 2 1s t 3 1m", "[1 0 2 0 1000 1000]"},
			{0, "ZCARD t", "2"},
			{1000, "RL.MALLOW 2 u 2 1s t 3 1m COST 0", "[2 1 3 1 0 59000]"},
			{1000, "RL.MALLOW 2 u 2 1s t 3 1m", "[2 1 3 0 0 60000]"},
			{1001, "RL.MALLOW 2 u 2 1s t 3 1m", "[2 0 3 0 58999 59999]"},
			{1001, "RL.MALLOW 2 t 3 1m u 2 1s", "[1 0 3 0 58999 59999]"},
			{1001, "RL.MALLOW 2 u 2 1s t 3 1m COST 3", "[1 0 2 1 -1 999]"},
			{1001, "RL.ALLOW u 2 1s PEEK", "[1 2 1 0 999]"},
			{1001, "RL.MALLOW 1 peek 1 1s", "[1 1 1 0 0 1000]"},
			{1001, "ZCARD peek", "1"},
		}},
	}
}

func rlKeys() []rlScenario {
	return []rlScenario{
		{"RL.REFUND", nil, []rlStep{
			{0, "RL.REFUND k 1", "0"},
			{0, "RL.ALLOW k 5 1s COST 3", "[3 5 2 0 1000]"},
			{10, "RL.ALLOW k 5 1s", "[1 5 1 0 1000]"},
			{10, "RL.REFUND k 0", "0"},
			{10, "RL.REFUND k -1", "ERR n must not be negative"},
			{10, "RL.REFUND k 2", "2"},
			{10, "ZRANGE k 0 -1", "[1700000000000000 1700000000000001]"},
			{10, "PTTL k", "990"},
			{10, "RL.ALLOW k 5 1s PEEK", "[1 5 3 0 990]"},
			{10, "RL.REFUND k 9223372036854775807", "2"},
			{10, "EXISTS k", "0"},
		}},
		{"RL.REFUND keeps the retention", nil, []rlStep{
			{0, "RL.ALLOW k 5 10s", "[1 5 4 0 10000]"},
			{2000, "RL.ALLOW k 5 1s", "[1 5 4 0 1000]"},
			{2500, "RL.REFUND k 1", "1"},
			{2500, "PTTL k", "7500"},
			{2500, "RL.ALLOW k 1 10s", "[0 1 0 7500 7500]"},
			{2500, "PERSIST k", "1"},
			{99_000, "RL.ALLOW k 5 1s PEEK", "[1 5 5 0 0]"},
			{99_000, "RL.REFUND k 1", "1"},
			{99_000, "EXISTS k", "0"},
		}},
		{"RL.REFUND of the other algorithms", nil, []rlStep{
			{0, "RL.ALLOW f 5 1s ALGO FIXED COST 3", "[3 5 2 0 1000]"},
			{0, "RL.REFUND f 2", "2"},
			{0, "GET f", "1"},
			{0, "PTTL f", "1000"},
			{0, "RL.REFUND f 2", "1"},
			{0, "EXISTS f", "0"},
			{0, "RL.ALLOW g 5 1s ALGO GCRA 3", "[1 5 2 0 200]"},
			{0, "RL.REFUND g 1", "ERR key holds GCRA state, which RL.REFUND does not support"},
			{0, "RL.ALLOW b 5 1s ALGO BUCKETS 10 COST 2", "[2 5 3 0 1099]"},
			{250, "RL.ALLOW b 5 1s ALGO BUCKETS 10 COST 2", "[2 5 1 0 1049]"},
			{250, "RL.REFUND b 1", "1"},
			{250, "HGET b counts", "1 0 2"},
			{250, "RL.REFUND b 2", "2"},
			{250, "HGETALL b", "[width 100 n 10 newest 1700000000000 counts 1]"},
			{250, "PTTL b", "849"},
			{1050, "RL.ALLOW b 5 1s ALGO BUCKETS 10 PEEK", "[1 5 4 0 49]"},
			{1050, "RL.REFUND b 9", "1"},
			{1050, "EXISTS b", "0"},
			{1050, "RL.ALLOW c 5 1s ALGO COUNTER COST 3", "[3 5 2 0 1950]"},
			{2100, "RL.ALLOW c 5 1s ALGO COUNTER", "[1 5 1 0 1900]"},
			{2100, "RL.REFUND c 2", "2"},
			{2100, "GET c", "counter 1000 1700000002000 0 2"},
			{2100, "PTTL c", "1900"},
			{2000, "RL.ALLOW f 5 1s ALGO FIXED COST 3", "[3 5 2 0 1000]"},
			{3000, "RL.REFUND c 9", "0"}, // they no longer count
			{3000, "RL.ALLOW c 5 1s ALGO COUNTER COST 3", "[3 5 2 0 2000]"},
			{4200, "RL.REFUND c 1", "1"},
			{4200, "GET c", "counter 1000 1700000003000 2 0"},
			{4200, "RL.REFUND c 9", "2"},
			{4200, "EXISTS c", "0"},
			{3000, "RL.REFUND f 2", "0"}, // the slice ends with it
		}},
		{"RL.RESET", nil, []rlStep{
			{0, "RL.RESET k j", "0"},
			{0, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW f 1 1s ALGO FIXED", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW g 1 1s ALGO GCRA 1", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW b 1 1s ALGO BUCKETS 1", "[1 1 0 0 1999]"},
			{0, "RL.ALLOW c 1 1s ALGO COUNTER", "[1 1 0 0 2000]"},
			{0, "RL.RESET k k none f", "2"},
			{0, "EXISTS k f g b c", "3"},
			{0, "RL.RESET g b c", "3"},
			{0, "RL.ALLOW k 1 1s", "[1 1 0 0 1000]"},
		}},
		{"RL.INFO of no key", nil, []rlStep{{0, "RL.INFO k", "[]"}}},
	}
}

func rlThrottle() []rlScenario {
	return []rlScenario{
		{"CL.THROTTLE", nil, []rlStep{
			{0, "CL.THROTTLE k 15 30 60 1", "[0 16 15 -1 2]"},
			{0, "CL.THROTTLE k 15 30 60", "[0 16 14 -1 4]"},
			{0, "CL.THROTTLE k 15 30 60 0", "[0 16 14 -1 4]"},
			{1, "CL.THROTTLE k 15 30 60 0", "[0 16 14 -1 4]"}, // 3.999 s
			{1, "CL.THROTTLE k 15 30 60 17", "[1 16 14 -1 4]"},
			{1, "CL.THROTTLE k 15 30 60 15", "[1 16 14 2 4]"},
			{1, "CL.THROTTLE k 15 30 60 14", "[0 16 0 -1 32]"},
			{1, "CL.THROTTLE k 15 30 60", "[1 16 0 2 32]"},
			{1, "TYPE k", "string"},
			{1, "GET k", "gcra 1700000032000000"},
			{1, "RL.ALLOW k 30 1m ALGO GCRA 16", "[0 30 0 1999 31999]"},
			{1, "CL.THROTTLE k 3 30 60 0", "[1 4 0 24 32]"}, // a lowered burst
		}},
		{"CL.THROTTLE at the edge", nil, []rlStep{
			{0, "CL.THROTTLE k 0 1 2", "[0 1 0 -1 2]"},
			{0, "CL.THROTTLE k 0 1 2", "[1 1 0 2 2]"},
			{1, "CL.THROTTLE k 0 1 2", "[1 1 0 2 2]"},
			{1000, "CL.THROTTLE k 0 1 2", "[1 1 0 1 1]"},
			{1999, "CL.THROTTLE k 0 1 2", "[1 1 0 1 1]"},
			{2000, "CL.THROTTLE k 0 1 2", "[0 1 0 -1 2]"},
		}},
	}
}

// rlAdopt has sets of scripts that become logs, and the way back.
func rlAdopt() []rlScenario {
	return []rlScenario{{"RL.ADOPT", nil, []rlStep{
		{0, "ZADD k 1700000000 a 1700000000 b", "2"},
		{0, "PEXPIRE k 5000", "1"},
		{0, "RL.ALLOW k 3 5s", "ERR key holds a sorted set that RL.ALLOW did not write"},
		{0, "RL.ADOPT k", "2"},
		{0, "RL.ADOPT k", "0"},
		{0, "PTTL k", "5000"},
		{0, "RL.ALLOW k 3 5s", "[1 3 0 0 5999]"},
		{0, "RL.ALLOW k 3 5s", "[0 3 0 5999 5999]"},
		{1, "RL.ADOPT k BACK ms", "3"},
		{
			1, "ZRANGEBYSCORE k 1700000000999 1700000000999",
			"[zlimit:1700000000999000 zlimit:1700000000999001 zlimit:1700000000999002]",
		},
		{1, "RL.ALLOW k 3 5s", "ERR key holds a sorted set that RL.ALLOW did not write"},
		{1, "RL.ADOPT k BACK s", "ERR key holds a sorted set that RL.ALLOW did not write"},
		{1, "ZADD z 5 a", "1"},
		{
			1, "RL.ADOPT z",
			"ERR key holds a sorted set whose scores are not all unix times of 1973 to 2255 in s, ms, " +
				"us or ns",
		},
		{1, "RL.ADOPT none", "0"},
	}}}
}

// rlNothing has what denies every call: limits, bursts and numbers of slots of 0.
func rlNothing() []rlScenario {
	return []rlScenario{
		{"limit 0", nil, []rlStep{
			{0, "RL.ALLOW k 0 1s", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s PEEK", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s COST 0", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s ATMOST COST 3 FULL", full(0, 0, 0, -1, 0, 0, 0, "LOG", 1000)},
			{0, "RL.ALLOW k 0 1s ALGO FIXED", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s ALGO COUNTER", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s ALGO BUCKETS 10", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 0 1s ALGO GCRA 5", "[0 0 0 -1 0]"},
			{0, "RL.ALLOW k 5 1s ALGO GCRA 0", "[0 5 0 -1 0]"},
			{0, "RL.MALLOW 2 k 5 1s l 0 1s", "[2 0 0 0 -1 0]"},
			{0, "RL.RESERVE k 0 1s 1 HOLD 1s ID a", "[0 0 0 -1 0]"},
			{0, "RL.ACQUIRE k 0 LEASE 1s ID a", "[0 0 0 -1]"},
			{0, "CL.THROTTLE k -1 1 2", "[1 0 0 -1 0]"},
			{0, "CL.THROTTLE k 5 0 2", "[1 0 0 -1 0]"},
			{0, "EXISTS k l k:hold:a", "0"},
			{0, "RL.ALLOW k -1 1s", "ERR limit must not be negative"},
		}},
		{"limit 0 on a key in use", nil, []rlStep{
			{0, "RL.ALLOW k 3 1s COST 2", "[2 3 1 0 1000]"},
			{100, "RL.ALLOW k 0 1s FULL", full(0, 0, 0, -1, 900, 0, 2, "LOG", 1000)},
			{100, "RL.ALLOW k 3 1s 0 2s", "[0 0 0 -1 901]"}, // the key ends before the window
			{100, "RL.ALLOW k 3 1s PEEK", "[1 3 1 0 900]"},
			{0, "RL.ALLOW f 3 1s ALGO FIXED", "[1 3 2 0 1000]"},
			{100, "RL.ALLOW f 0 1s ALGO FIXED FULL", full(0, 0, 0, -1, 900, 0, 1, "FIXED", 1000)},
			{100, "RL.ALLOW g 4 1s ALGO GCRA 4", "[1 4 3 0 250]"},
			{100, "RL.ALLOW g 0 1s ALGO GCRA 4 FULL", full(0, 0, 0, -1, 250, 0, 1, "GCRA", 1000)},
			{100, "RL.ALLOW c 3 1s ALGO COUNTER", "[1 3 2 0 1900]"},
			{100, "RL.ALLOW c 0 1s ALGO COUNTER FULL", full(0, 0, 0, -1, 1900, 0, 1, "COUNTER", 1000)},
			{100, "RL.ALLOW b 3 1s ALGO BUCKETS 10", "[1 3 2 0 1099]"},
			{100, "RL.ALLOW b 0 1s ALGO BUCKETS 10 FULL", full(0, 0, 0, -1, 1099, 0, 1, "BUCKETS", 1000)},
			// Slots that are held stay so until their leases end, but are not renewed.
			{100, "RL.ACQUIRE s 1 LEASE 1s ID a", "[1 1 1 1000]"},
			{200, "RL.ACQUIRE s 0 LEASE 1s ID a", "[0 1 0 -1]"},
			{200, "RL.ACQUIRE s 1 LEASE 1s ID b", "[0 1 1 900]"},
		}},
	}
}
