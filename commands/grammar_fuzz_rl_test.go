package commands_test

import (
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

func FuzzRLAllowGrammar(f *testing.F) {
	sixteen := strings.Repeat("9 1s ", 15) + "9 1s"
	seed(f,
		"5 1s", "0 1s", "-1 1s", "x 1s", "5 0", "5 1", "5 1ms", "5 1m COST 2", "5 1h COST 0", "5 1d COST -1",
		"5 1s COST", "5 1s COST 1 COST 1",
		"5 1s FOO", "5001 1m", "1001 1", "9223372036854775807 9223372036854775807d", "5 3155760000000",
		"5 3155759999999", "5 36525d", "5 36524d",
		"5 01s", "5 -0", "5 +1", "5  ", " 1s", "5 1s COST 9223372036854775807",
		"5 1s COST 9223372036854775808", "5 1.5s", "5 1S", "2000 1h COST 1500",
		"5 9223372036854775808", "5 21350398233461d", "5 -9223372036854775809s", "5 1sCOST 1",
		"5000 5 COST 5000", "5 1d cost 5",
		"5 1s 9 1m", "5 1s 9", "5 1s 9 1x", "5 1s -9 1m", "5 1s 0 1m PEEK", sixteen, sixteen+" 9 1s",
		"5 1s 9 1m COST 3 7 1h", "9 1s 3 1m COST 4 ATMOST",
		"5 1s peek atmost full cost 3", "5 1s PEEK PEEK", "5 1s FULL FULL", "5 1s ATMOST ATMOST",
		"5 1s ALGO LOG ALGO LOG", "5 1s COST 0 ATMOST FULL",
		"5 1s ALGO", "5 1s ALGO NONE", "5 1s ALGO FIXED", "5 1s ALGO FIXED COST 9",
		"5 1s ALGO FIXED COST 9 ATMOST", "5 1s 9 1m ALGO FIXED", "9999 1 ALGO FIXED FULL",
		"5 1s ALGO GCRA", "5 1s ALGO GCRA 0", "5 1s ALGO GCRA 3", "5 1s ALGO GCRA 3 COST 4",
		"5 1s ALGO GCRA x", "1 36524d ALGO GCRA 9", "9223372036854775807 1s ALGO GCRA 9223372036854775807",
		"5 1s ALGO BUCKETS", "5 1s ALGO BUCKETS 0", "5 1s ALGO BUCKETS 10", "5 1s ALGO BUCKETS 10 PEEK FULL",
		"5 2s ALGO BUCKETS 10", "5 1s ALGO BUCKETS 1001", "5 1s ALGO BUCKETS 1000",
		"9223372036854775807 1s ALGO BUCKETS 7 COST 9223372036854775807",
		"9223372036854775807 1s ALGO FIXED COST 9223372036854775807", "0 1s ALGO FIXED",
		"5 1s ALGO COUNTER", "5 1s ALGO COUNTER 3", "5 1s 9 1m ALGO COUNTER",
		"9223372036854775807 1d ALGO counter COST 7 FULL", "5 1s COST -1 ALGO BUCKETS 2")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		words := append([]string{"RL.ALLOW", "k"}, split(line)...)
		b, reply, changed := fuzzCall(t, state, proto, words)
		want, call := rlFault(words)
		if want != "" {
			require.Equal(t, "ERR "+want, reply.Str(), "%q", words)
			return
		}
		if reply.IsError() { // the arguments were good, so it is what the key holds
			require.Regexp(t, heldOtherwise, reply.Str(), "%q", words)
			return
		}
		n := rlNumbers(t, reply, call.full)
		allowed, limit, remaining, retryMs, resetMs := n[0], n[1], n[2], n[3], n[4]
		require.Contains(t, call.limits, limit)
		require.True(t, 0 <= remaining && resetMs >= 0 && retryMs >= -1, "%q: %v", words, n)
		require.True(t, remaining <= limit || call.algo == "gcra", "%q: %v", words, n)
		require.Equal(t, allowed > 0, retryMs == 0, "%q: %v", words, n)
		require.LessOrEqual(t, retryMs, max(resetMs, 0), "%q: %v", words, n)
		require.Equal(t, allowed > 0 && !call.looks, changed, "%q: %v", words, n)
		if changed {
			require.Equal(t, call.kind(), b.wire("TYPE", "k"))
		}
		if call.full {
			require.LessOrEqual(t, n[5], resetMs, "next after, %q: %v", words, n)
			require.Equal(t, n[5] == 0, n[6] == 0, "%q: %v", words, n)
		}
	})
}

// heldOtherwise are the errors for keys that hold something else.
var heldOtherwise = regexp.MustCompile(`^(WRONGTYPE .*|ERR key holds .*)$`)

// rlNumbers parses a reply of RL.ALLOW: the five integers, and with FULL those of
// next_after_ms and used.
func rlNumbers(t *testing.T, reply resp.Value, full bool) (n [7]int64) {
	elems, names := reply.Elems(), []string{
		"allowed", "limit", "remaining", "retry_after_ms",
		"reset_after_ms", "next_after_ms", "used",
	}
	if !full {
		require.Len(t, elems, 5)
		for i, e := range elems {
			require.Equal(t, resp.KindInteger, e.Kind())
			n[i] = e.Int()
		}
		return n
	}
	require.Equal(t, resp.KindMap, reply.Kind())
	require.Len(t, elems, 18)
	for i, name := range names {
		require.Equal(t, name, elems[2*i].Str())
		require.Equal(t, resp.KindInteger, elems[2*i+1].Kind())
		n[i] = elems[2*i+1].Int()
	}
	require.Equal(t, []string{"algo", "window_ms"}, []string{elems[14].Str(), elems[16].Str()})
	return n
}

// FuzzRLOthers calls the other commands with any arguments. fuzzCall checks that calls
// that are refused, or that declare that they only read, change nothing.
func FuzzRLOthers(f *testing.F) {
	for _, line := range []string{
		"RL.MALLOW 2 k 5 1s l 9 1m", "RL.MALLOW 2 k 5 1s k 9 1m", "RL.MALLOW 1 k 5 1s PEEK",
		"RL.MALLOW 1 PEEK 5 1s", "RL.MALLOW 2 l 5 1s k 1 1m COST 0",
		"RL.MALLOW 0 k 5 1s", "RL.MALLOW 3 k 5 1s l 9 1m", "RL.MALLOW x k 5 1s",
		"RL.MALLOW 9223372036854775807 k 5 1s", "RL.MALLOW -1 k 5 1s ATMOST",
		"RL.MALLOW 2 l 5 1s k 1 1m COST 2 COST 1", "RL.MALLOW 2 l 5 1s k 1 x", "RL.MALLOW 1 l 5 1s FULL",
		"RL.RESET k", "RL.RESET k k l", "RL.RESET l k", "RL.REFUND k 1", "RL.REFUND k -1",
		"RL.REFUND k 9223372036854775807", "RL.REFUND k x", "RL.REFUND k 0",
		"RL.INFO k", "RL.INFO l", "CL.THROTTLE k 4 5 60", "CL.THROTTLE k 4 5 60 0", "CL.THROTTLE k 4 5 60 9",
		"CL.THROTTLE k -1 5 60", "CL.THROTTLE k 4 0 60",
		"CL.THROTTLE k 4 5 0", "CL.THROTTLE k 9223372036854775807 1 1",
		"CL.THROTTLE k 4 9223372036854775807 3155759999", "CL.THROTTLE k 4 1 3155760000",
		"CL.THROTTLE k 4 5 60 -1", "CL.THROTTLE k 4 5 60 1 1", "CL.THROTTLE k x 5 60",
		"CL.THROTTLE k 4 5 60 9223372036854775807",
		"RL.RESERVE k 5 1s 2 HOLD 1m ID a", "RL.RESERVE k 5 1s 2 id a hold 5",
		"RL.RESERVE l 5 1s 9 HOLD 1m ID a", "RL.RESERVE k 5 1s 0 HOLD 1m ID a",
		"RL.RESERVE k 5 1s 1 HOLD HOLD HOLD 1",
		"RL.RESERVE l 5 1s 1 HOLD 1x ID a",
		"RL.RESERVE k 9223372036854775807 1s 9223372036854775807 HOLD 9223372036854775807 ID a",
		"RL.RESERVE l 5 1s 1 HOLD 1 ID ",
		"RL.SETTLE h a 1", "RL.SETTLE h a 9", "RL.SETTLE h a 9223372036854775807", "RL.SETTLE h a -1",
		"RL.SETTLE h b 1", "RL.SETTLE k a 1", "RL.CANCEL h a", "RL.CANCEL h ", "RL.CANCEL k a",
		"RL.ACQUIRE k 2 LEASE 1m ID a", "RL.ACQUIRE s 1 LEASE 1m ID b", "RL.ACQUIRE s 1 ID a LEASE 1",
		"RL.ACQUIRE k 9223372036854775807 LEASE 36524d ID 1", "RL.ACQUIRE l 0 LEASE 1 ID a",
		"RL.RENEW s a LEASE 1", "RL.RENEW s b LEASE 1", "RL.RENEW k a LEASE x", "RL.RELEASE s a",
		"RL.RELEASE s b", "RL.RELEASE k a", "RL.INFO s", "RL.INFO h:hold:a", "RL.RESET s h h:hold:a",
		"INCREX k", "INCREX k BYINT 9223372036854775807", "INCREX k BYINT -9223372036854775808 SATURATE",
		"INCREX k BYFLOAT 0x1p3 LBOUND -inf UBOUND 1e4931 SATURATE", "INCREX k BYFLOAT nan",
		"INCREX k EX 9223372036854775807", "INCREX k PXAT 1 ENX", "INCREX k PERSIST BYINT 3",
		"INCREX k UBOUND 1 LBOUND 9", "INCREX k BYFLOAT -1e4932 SATURATE", "INCREX k BYINT 1 BYFLOAT 1",
		"INCREX k ENX EX",
		"RL.EXPLAIN k 5 1s", "RL.EXPLAIN k 5 1s COST 3", "RL.EXPLAIN k 5 1s ALGO GCRA 3",
		"RL.EXPLAIN l 5 1s 9 1m",
		"RL.EXPLAIN k 5 1s ALGO BUCKETS 10 COST 9223372036854775807", "RL.EXPLAIN k 0 1s",
		"RL.EXPLAIN k 5 1s 9",
		"RL.EXPLAIN k 9223372036854775807 36524d", "RL.EXPLAIN k 9223372036854775807 1 ALGO GCRA 1",
		"RL.EXPLAIN k 5 36524d COST 1000001", "RL.EXPLAIN s 5 1s", "RL.EXPLAIN h 5 1",
	} {
		seed(f, line)
	}
	names := []string{
		"RL.MALLOW", "RL.RESET", "RL.REFUND", "RL.INFO", "RL.EXPLAIN", "CL.THROTTLE",
		"RL.RESERVE", "RL.SETTLE", "RL.CANCEL", "RL.ACQUIRE", "RL.RENEW", "RL.RELEASE", "INCREX",
	}
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		words := split(line)
		if !slices.Contains(names, words[0]) {
			return
		}
		_, reply, changed := fuzzCall(t, state, proto, words)
		if reply.IsError() || words[0] == "RL.INFO" || words[0] == "RL.EXPLAIN" {
			return
		}
		n := reply.Elems()
		switch words[0] {
		case "RL.MALLOW":
			require.Len(t, n, 6)
			if changed {
				require.Positive(t, n[1].Int(), "%q", words)
			}
			require.Equal(t, n[1].Int() > 0, n[4].Int() == 0, "%q", words)
		case "CL.THROTTLE":
			require.Len(t, n, 5)
			require.LessOrEqual(t, n[2].Int(), n[1].Int(), "%q", words)
			if changed {
				require.Zero(t, n[0].Int(), "%q", words)
			}
		case "RL.RESERVE":
			require.Len(t, n, 5)
			require.Equal(t, n[0].Int() > 0, n[3].Int() == 0, "%q", words)
			require.True(t, n[0].Int() > 0 || !changed, "%q", words)
		case "RL.ACQUIRE":
			require.Len(t, n, 4)
			require.Equal(t, n[3].Int() == 0, n[1].Int() < n[2].Int(), "%q", words)
			require.True(t, n[0].Int() > 0 || !changed, "%q", words)
		case "INCREX":
			require.Len(t, n, 2)
			require.Equal(t, n[0].Kind(), n[1].Kind(), "%q", words)
		case "RL.SETTLE":
			// no state has a hold that is over
			require.Equal(t, reply.Kind() == resp.KindArray, changed, "%q", words)
		case "RL.CANCEL", "RL.RENEW": // whose change may leave all that can be seen
			require.True(t, reply.Int() > 0 || !changed, "%q", words)
		default:
			require.Equal(t, reply.Int() > 0, changed, "%q", words)
		}
	})
}

var (
	rlInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	rlWindow  = regexp.MustCompile(`^(0|-?[1-9][0-9]*)(|ms|s|m|h|d)$`)
)

// rlCall is the meaning of a valid call of RL.ALLOW.
type rlCall struct {
	limits      []int64
	looks, full bool
	algo        string
}

// kind returns the reply of TYPE, as sent, for the key of such a call.
func (c rlCall) kind() string {
	return map[string]string{
		"log": "+zset\r\n", "fixed": "+string\r\n", "gcra": "+string\r\n",
		"buckets": "+hash\r\n", "counter": "+string\r\n",
	}[c.algo]
}

func rlNumber(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !rlInteger.MatchString(s) || !ok || !n.IsInt64() {
		return nil
	}
	return n
}

// rlQuoted returns an argument as errors quote it.
func rlQuoted(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	if len(s) > 64 {
		s = s[:64] + "..."
	}
	return "'" + s + "'"
}

// rlWindowFault parses a window; fault is the error for it, if any.
func rlWindowFault(s string) (ms *big.Int, fault string) {
	parts := rlWindow.FindStringSubmatch(s)
	if parts == nil {
		return nil, "window must be an integer in milliseconds or an integer with a unit (ms, s, m, h or d)"
	}
	ms, _ = new(big.Int).SetString(parts[1], 10)
	ms.Mul(ms, big.NewInt(map[string]int64{
		"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000,
		"d": 86_400_000,
	}[parts[2]]))
	if ms.Sign() < 1 {
		return nil, "window must be at least 1 millisecond"
	}
	if ms.Cmp(big.NewInt(3_155_760_000_000)) >= 0 {
		return nil, "window must be below 100 years"
	}
	return ms, ""
}

// rlOptions maps each option to its errors for a missing and for a wrong value.
var rlOptions = map[string]struct{ missing, wrong string }{
	"cost": {"syntax error, COST needs a number", "COST is not an integer or out of range"},
	"gcra": {"syntax error, ALGO GCRA needs a burst", "burst is not an integer or out of range"},
	"buckets": {
		"syntax error, ALGO BUCKETS needs a number",
		"the number of BUCKETS is not an integer or out of range",
	},
	"atmost": {}, "peek": {}, "full": {}, "log": {}, "fixed": {}, "counter": {},
}

// rlFault parses the arguments of RL.ALLOW; fault is the error that it must reply, if
// any. It uses regular expressions and big integers instead of a cursor and int64.
func rlFault(words []string) (fault string, call rlCall) {
	if len(words) < 4 {
		return "wrong number of arguments for 'rl.allow' command", call
	}
	n := big.NewInt
	var limits, windows []*big.Int
	rest := words[2:]
	lower := func() string { return strings.ToLower(rest[0]) }
	isOption := func() bool {
		return slices.Contains([]string{"cost", "atmost", "peek", "algo", "full"},
			lower())
	}
	for len(limits) == 0 || len(rest) > 0 && !isOption() {
		limit := rlNumber(rest[0])
		switch {
		case limit == nil && len(limits) == 0:
			return "limit is not an integer or out of range", call
		case limit == nil:
			return "syntax error, " + rlQuoted(rest[0]) + " is neither a limit nor an option", call
		case len(rest) == 1:
			return "syntax error, the limit " + rlQuoted(rest[0]) + " has no window", call
		case len(limits) == 16:
			return "the number of limits must be from 1 to 16", call
		}
		window, fault := rlWindowFault(rest[1])
		if fault != "" {
			return fault, call
		}
		limits, windows, rest = append(limits, limit), append(windows, window), rest[2:]
	}
	seen, values := map[string]bool{}, map[string]*big.Int{"cost": n(1)}
	call.algo = "log"
	for len(rest) > 0 {
		word := lower()
		if !isOption() {
			return "syntax error, " + rlQuoted(rest[0]) + " is not an option here", call
		}
		if seen[word] {
			return "syntax error, " + rlQuoted(rest[0]) + " is given twice", call
		}
		seen[word] = true
		rest = rest[1:]
		if word == "algo" {
			if len(rest) == 0 {
				return "syntax error, ALGO needs LOG, FIXED, GCRA burst, BUCKETS n or COUNTER", call
			}
			if word = lower(); !slices.Contains([]string{"log", "fixed", "gcra", "buckets", "counter"},
				word) {
				return "ALGO " + rlQuoted(rest[0]) + " is not LOG, FIXED, GCRA, BUCKETS or COUNTER", call
			}
			call.algo, rest = word, rest[1:]
		}
		if takes := rlOptions[word]; takes.missing != "" {
			if len(rest) == 0 {
				return takes.missing, call
			}
			if values[word] = rlNumber(rest[0]); values[word] == nil {
				return takes.wrong, call
			}
			rest = rest[1:]
		}
	}
	if call.algo != "log" && len(limits) > 1 {
		return "several limits and windows require ALGO LOG", call
	}
	const instead = "; use ALGO BUCKETS or ALGO GCRA for more"
	for i, limit := range limits {
		call.limits = append(call.limits, limit.Int64())
		switch us := new(big.Int).Mul(windows[i], n(1000)); {
		case limit.Sign() < 0:
			return "limit must not be negative", call
		case call.algo != "log":
		case limit.Cmp(n(5000)) > 0:
			return "limit must be at most rl-log-max-units (5000)" + instead, call
		case limit.Cmp(us) > 0:
			return "limit must be at most 1000 per millisecond of its window" + instead, call
		}
	}
	interval := new(big.Int).Mul(windows[0], n(1000))
	if limits[0].Sign() > 0 {
		interval.Add(interval, new(big.Int).Sub(limits[0], n(1))).Div(interval, limits[0])
	}
	switch burst, buckets := values["gcra"], values["buckets"]; {
	case values["cost"].Sign() < 0:
		return "COST must not be negative", call
	case burst != nil && burst.Sign() < 0:
		return "burst must not be negative", call
	case burst != nil && limits[0].Sign() > 0 &&
		new(big.Int).Mul(burst, interval).Cmp(n(3_155_760_000_000_000)) >= 0:
		return "burst must take less than 100 years to fill", call
	case buckets != nil && (buckets.Sign() < 1 || buckets.Cmp(n(1000)) > 0):
		return "the number of BUCKETS must be from 1 to 1000", call
	}
	call.full, call.looks = seen["full"], seen["peek"] || values["cost"].Sign() == 0
	return "", call
}
