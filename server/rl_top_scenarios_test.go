package server_test

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
)

// rlTop is the scenarios of RL.TOP, with every decision counted but in the last.
func rlTop() []rlScenario {
	top := func(by string, windowMs, total, others int, keys string) string {
		note := ""
		if keys == "" {
			note = " note " + commands.CountedDecisions
		}
		return fmt.Sprintf("[by %s window_ms %d sampling 1 total %d skipped 0 others_at_most %d keys [%s]%s]",
			by, windowMs, total, others, keys, note)
	}
	const noBytes = "[by bytes window_ms (nil) sampling 1 total 0 skipped 0 others_at_most 0 keys []]"
	long := strings.Repeat("x", 257)
	exact := []string{"--rl-top-sampling", "1"}
	const wrongBy = " is not DENIED, HOT or BYTES"
	return []rlScenario{
		{"the keys with the most refusals and decisions", exact, []rlStep{
			{0, "RL.TOP DENIED 3", top("denied", 0, 0, 0, "")},
			{0, "RL.TOP HOT 3", top("hot", 0, 0, 0, "")},
			{0, "RL.ALLOW a 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW b 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW a 1 1s", "[0 1 0 1000 1000]"},
			{0, "RL.ALLOW a 1 1s PEEK", "[0 1 0 1000 1000]"},
			{10, "RL.TOP DENIED 3", top("denied", 10, 1, 0, "[a 1 0 1 1000]")},
			{10, "RL.TOP HOT 3", top("hot", 10, 4, 0, "[a 3 0 1 1000] [b 1 0 1 1000]")},
			{10, "rl.top hot 1", top("hot", 10, 4, 1, "[a 3 0 1 1000]")},
			{10, "RL.TOP HOT 3 MATCH b*", top("hot", 10, 4, 0, "[b 1 0 1 1000]")},
			{10, "RL.TOP HOT 3 MATCH c", top("hot", 10, 4, 0, "")},
			{10, "CL.THROTTLE c 0 1 60", "[0 1 0 -1 60]"},
			{10, "CL.THROTTLE c 0 1 60", "[1 1 0 60 60]"},
			{10, "RL.MALLOW 2 a 2 1s b 1 1s", "[2 0 1 0 990 990]"},
			{10, "RL.TOP DENIED 9", top("denied", 10, 3, 0, "[a 1 0 1 1000] [b 1 0 1 1000] [c 1 0 1 60000]")},
			{10, "RL.TOP HOT 9", top("hot", 10, 8, 0, "[a 4 0 1 1000] [b 2 0 1 1000] [c 2 0 1 60000]")},
		}},
		{"counts outlive the key", exact, []rlStep{
			{0, "RL.ALLOW a 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW a 1 1s", "[0 1 0 1000 1000]"},
			{0, "DEL a", "1"},
			{0, "RL.TOP DENIED 1", top("denied", 0, 1, 0, "[a 1 0 1 1000]")},
			{2000, "RL.TOP DENIED 1", top("denied", 2000, 1, 0, "[a 1 0 1 1000]")},
		}},
		{"a database of its own", exact, []rlStep{
			{0, "RL.ALLOW a 1 1s", "[1 1 0 0 1000]"},
			{0, "MOVE a 1", "1"},
			{0, "RL.TOP HOT 1", top("hot", 0, 1, 0, "[a 1 0 1 1000]")},
			{0, "RL.TOP BYTES 1", noBytes},
		}},
		{"windows", exact, []rlStep{
			{0, "RL.ALLOW a 9 1s", "[1 9 8 0 1000]"},
			{65_000, "RL.ALLOW b 9 1s", "[1 9 8 0 1000]"},
			{65_000, "RL.TOP HOT 9 WITHIN 1m", top("hot", 65_000, 2, 0, "[a 1 0 9 1000] [b 1 0 9 1000]")},
			{75_000, "RL.TOP HOT 9 WITHIN 1m", top("hot", 65_000, 1, 0, "[b 1 0 9 1000]")},
			{75_000, "RL.TOP HOT 9 WITHIN 1", top("hot", 5_000, 0, 0, "")},
			{75_000, "RL.TOP HOT 9 WITHIN 10m", top("hot", 75_000, 2, 0, "[a 1 0 9 1000] [b 1 0 9 1000]")},
			{4_900_000, "RL.TOP HOT 9 WITHIN 1h", top("hot", 3_900_000, 0, 0, "")},
			{4_900_000, "RL.TOP HOT 9", top("hot", 4_900_000, 2, 0, "[a 1 0 9 1000] [b 1 0 9 1000]")},
		}},
		{"keys with long names are not counted", exact, []rlStep{
			{0, "RL.ALLOW " + long + " 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.ALLOW " + long[1:] + " 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.TOP HOT 9", "[by hot window_ms 0 sampling 1 total 1 skipped 1 others_at_most 0 keys [[" +
				long[1:] + " 1 0 1 1000]]]"},
			{0, "RL.TOP DENIED 9", top("denied", 0, 0, 0, "")},
		}},
		{"RL.TOP's refusals", nil, []rlStep{
			{0, "RL.TOP COLD 3", "ERR syntax error, 'COLD'" + wrongBy},
			{0, `RL.TOP "" 3`, "ERR syntax error, ''" + wrongBy},
			{0, `RL.TOP "hot\x00" 3`, "ERR syntax error, 'hot'" + wrongBy},
			{0, "RL.TOP DENIED 0", "ERR n must be from 1 to 1000"},
			{0, "RL.TOP DENIED -1", "ERR n must be from 1 to 1000"},
			{0, "RL.TOP HOT 1001", "ERR n must be from 1 to 1000"},
			{0, "RL.TOP BYTES 1000000", "ERR n must be from 1 to 1000"},
			{0, "RL.TOP HOT ten", "ERR n is not an integer or out of range"},
			{0, "RL.TOP HOT 9223372036854775808", "ERR n is not an integer or out of range"},
			{0, "RL.TOP HOT 1 MATCH", "ERR syntax error, MATCH needs a pattern"},
			{0, "RL.TOP HOT 1 WITHIN", "ERR syntax error, WITHIN needs a window"},
			{0, "RL.TOP HOT 1 COUNT 3", "ERR syntax error, 'COUNT' is not an option here"},
			{0, "RL.TOP HOT 1 MATCH a MATCH b", "ERR syntax error, 'MATCH' is given twice"},
			{0, "RL.TOP HOT 1 WITHIN 0", "ERR WITHIN must be from 1ms to 1h"},
			{0, "RL.TOP HOT 1 WITHIN 3600001", "ERR WITHIN must be from 1ms to 1h"},
			{0, "RL.TOP HOT 1 WITHIN 9999999d", "ERR WITHIN must be from 1ms to 1h"},
			{
				0, "RL.TOP HOT 1 WITHIN 1w",
				"ERR WITHIN must be an integer in milliseconds or an integer with a unit (ms, s, m, h or d)",
			},
			{0, "RL.TOP BYTES 1 WITHIN 1m", "ERR WITHIN goes with DENIED and HOT, not with BYTES"},
			{
				0, "RL.TOP DENIED 1000 MATCH " + strings.Repeat("*a", 5000),
				top("denied", 0, 0, 0, ""),
			},
			{0, "RL.TOP BYTES 1000 MATCH [" + strings.Repeat("^-", 5000), noBytes},
		}},
		{"RL.TOP switched off", []string{"--rl-top", "no"}, []rlStep{
			{0, "RL.ALLOW a 1 1s", "[1 1 0 0 1000]"},
			{0, "RL.TOP HOT 1", "ERR DENIED and HOT are not counted: CONFIG SET rl-top yes"},
			{0, "RL.TOP BYTES 1 MATCH x", noBytes},
		}},
	}
}

// rlSim is the scenarios of RL.SIM and RL.TRACE.
func rlSim() []rlScenario {
	key := func(calls, lost, first, last, admitted, denied, waitMs int) string {
		firstMs, lastMs := "(nil)", "(nil)"
		if calls > 0 {
			firstMs, lastMs = fmt.Sprint(startNowMs+first), fmt.Sprint(startNowMs+last)
		}
		return fmt.Sprintf("[from key calls %d lost %d from_empty (nil) first_ms %s last_ms %s admitted %d "+
			"denied %d units %d longest_wait_ms %d never 0 was_admitted %d was_denied (nil) changed %d]",
			calls, lost, firstMs, lastMs, admitted, denied, admitted, waitMs, calls, denied)
	}
	const syntax = "ERR syntax error, "
	const from = syntax + "FROM KEY n or FROM TRACE n must come last"
	return []rlScenario{
		{"a key's hits under another limit", nil, []rlStep{
			{0, "RL.SIM k 2 1s FROM KEY 9", key(0, 0, 0, 0, 0, 0, 0)},
			{0, "RL.ALLOW k 3 1s", "[1 3 2 0 1000]"},
			{100, "RL.ALLOW k 3 1s COST 2", "[2 3 0 0 1000]"},
			{150, "RL.ALLOW k 3 1s", "[0 3 0 850 950]"},
			{200, "RL.SIM k 3 1s FROM KEY 9", key(3, 0, 0, 100, 3, 0, 0)},
			{200, "RL.SIM k 2 1s FROM KEY 9", key(3, 0, 0, 100, 2, 1, 900)},
			{200, "RL.SIM k 9 1s 2 100 from key 9", key(3, 0, 0, 100, 3, 0, 0)},
			{200, "RL.SIM k 9 1s 1 50 FROM KEY 9", key(3, 0, 0, 100, 2, 1, 50)},
			{200, "RL.SIM k 1 1s FROM KEY 2", key(2, 1, 100, 100, 1, 1, 1000)},
			{200, "RL.SIM k 1 1s ALGO FIXED FROM KEY 9", key(3, 0, 0, 100, 1, 2, 900)},
			{200, "RL.SIM k 1 1s ALGO GCRA 2 FROM KEY 9", key(3, 0, 0, 100, 2, 1, 900)},
			{200, "RL.SIM k 2 1s ALGO BUCKETS 10 FROM KEY 9", key(3, 0, 0, 100, 2, 1, 999)},
			{200, "RL.SIM k 2 1s ALGO COUNTER FROM KEY 9", key(3, 0, 0, 100, 2, 1, 1400)},
			{200, "ZCARD k", "3"},
		}},
		{"RL.SIM's refusals", nil, []rlStep{
			{0, "SET s x", "OK"},
			{0, "ZADD z 5 five", "1"},
			{0, "RL.ALLOW f 1 1s ALGO FIXED", "[1 1 0 0 1000]"},
			{0, "RL.SIM k 1 1s FROM TRACE 9", "ERR key is not traced: RL.TRACE ON key n"},
			{0, "RL.SIM s 1 1s FROM KEY 9", errWrongType},
			{0, "RL.SIM z 1 1s FROM KEY 9", errForeign},
			{0, "RL.SIM f 1 1s FROM KEY 9", "ERR key holds FIXED state, not LOG"},
			{0, "RL.SIM k -1 1s FROM KEY 9", errLimit},
			{0, "RL.SIM k 1 0 FROM KEY 9", errWindowShort},
			{0, "RL.SIM k 1 1s FROM KEY 0", "ERR n must be from 1 to 10000"},
			{0, "RL.SIM k 1 1s FROM KEY 1000000", "ERR n must be from 1 to 10000"},
			{0, "RL.SIM k 1 1s FROM KEY x", "ERR n is not an integer or out of range"},
			{0, "RL.SIM k 1 1s FROM LOCK 9", syntax + "'LOCK' is not KEY or TRACE"},
			{0, "RL.SIM k 1 1s KEY 9 FROM", from},
			{0, "RL.SIM k 1 1s TO KEY 9", from},
			{0, "RL.SIM k 1 1s 2 FROM KEY 9", syntax + "the limit '2' has no window"},
			{0, "RL.SIM k 1 1s COST 2 FROM KEY 9", syntax + "'COST' is neither a limit nor an option"},
			{
				0, "RL.SIM k 1 1s ALGO FROM KEY 9",
				syntax + "ALGO needs LOG, FIXED, GCRA burst, BUCKETS n or COUNTER",
			},
			{0, "RL.SIM k 1 1s ALGO FIXED PEEK FROM KEY 9", syntax + "'PEEK' is not an option here"},
			{
				0, "RL.SIM k 1 1s 2 2s ALGO FIXED FROM KEY 9",
				"ERR several limits and windows require ALGO LOG",
			},
		}},
	}
}
