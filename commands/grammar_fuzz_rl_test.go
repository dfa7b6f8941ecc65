package commands_test

import (
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

func FuzzRLAllowGrammar(f *testing.F) {
	seedForms(f, "RL.ALLOW", "rlAllowEdges")
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
		n := rlNumbers(t, reply, call)
		allowed, limit, remaining, retryMs, resetMs := n[0], n[1], n[2], n[3], n[4]
		require.Contains(t, call.limits, limit)
		require.True(t, 0 <= remaining && resetMs >= 0 && retryMs >= -1, "%q: %v", words, n)
		require.True(t, remaining <= limit || call.algo == "gcra", "%q: %v", words, n)
		require.Equal(t, allowed > 0, retryMs == 0 || call.shadow, "%q: %v", words, n)
		require.LessOrEqual(t, retryMs, max(resetMs, 0), "%q: %v", words, n)
		require.Equal(t, retryMs == 0 && !call.looks, changed, "%q: %v", words, n)
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
func rlNumbers(t *testing.T, reply resp.Value, call rlCall) (n [7]int64) {
	elems, names := reply.Elems(), []string{
		"allowed", "limit", "remaining", "retry_after_ms",
		"reset_after_ms", "next_after_ms", "used",
	}
	if !call.full {
		require.Len(t, elems, 5)
		for i, e := range elems {
			require.Equal(t, resp.KindInteger, e.Kind())
			n[i] = e.Int()
		}
		return n
	}
	require.Equal(t, resp.KindMap, reply.Kind())
	if call.shadow {
		shadow := elems[19].Int() == 1
		require.Equal(t, []any{"shadow", elems[7].Int() != 0}, []any{elems[18].Str(), shadow})
		elems = elems[:18]
	}
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
	r := rand.New(rand.NewPCG(1, 1))
	for _, words := range fuzzGrammar.Each(r, "rlOtherEdges") {
		seed(f, strings.Join(words, " "))
	}
	names := []string{
		"RL.MALLOW", "RL.RESET", "RL.REFUND", "RL.INFO", "RL.EXPLAIN", "CL.THROTTLE", "RL.THROTTLE",
		"RL.RESERVE", "RL.SETTLE", "RL.CANCEL", "RL.ACQUIRE", "RL.RENEW", "RL.RELEASE", "INCREX",
	}
	for _, name := range names {
		for _, words := range formsOf(r, name) {
			words[0] = name
			seed(f, strings.Join(words, " "))
		}
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
				require.Zero(t, n[4].Int(), "%q", words)
			}
			shadow := slices.Contains(strings.Fields(strings.ToLower(line)), "shadow")
			require.Equal(t, n[1].Int() > 0, n[4].Int() == 0 || shadow, "%q", words)
		case "CL.THROTTLE", "RL.THROTTLE":
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
	limits []int64
	algo   string

	looks, full, shadow bool
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
		return nil, "window must be an integer in milliseconds or an integer with a unit (ms, s, m, h or d)" +
			"; with ALGO FIXED also 1w, 1mo, 1y or 1d@zone"
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
	"atmost": {}, "peek": {}, "full": {}, "shadow": {}, "log": {}, "fixed": {}, "counter": {},
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
		return slices.Contains([]string{"cost", "atmost", "peek", "algo", "full", "shadow"},
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
	for _, limit := range limits {
		call.limits = append(call.limits, limit.Int64())
		switch {
		case limit.Sign() < 0:
			return "limit must not be negative", call
		case call.algo == "log" && limit.Cmp(n(1<<53-1)) > 0:
			return "limit must be at most 9007199254740991; use ALGO BUCKETS or ALGO GCRA for more", call
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
	call.shadow = seen["shadow"]
	call.full, call.looks = seen["full"], seen["peek"] || values["cost"].Sign() == 0
	return "", call
}
