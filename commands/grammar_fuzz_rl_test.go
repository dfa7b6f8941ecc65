package commands_test

import (
	"fmt"
	"math/big"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

func FuzzRLAllowGrammar(f *testing.F) {
	seed(f,
		"5 1s", "0 1s", "-1 1s", "x 1s", "5 0", "5 1", "5 1ms", "5 1m COST 2", "5 1h COST 0", "5 1d COST -1", "5 1s COST", "5 1s COST 1 COST 1",
		"5 1s FOO", "5001 1m", "1001 1", "9223372036854775807 9223372036854775807d", "5 3155760000000", "5 3155759999999", "5 36525d", "5 36524d",
		"5 01s", "5 -0", "5 +1", "5  ", " 1s", "5 1s COST 9223372036854775807", "5 1s COST 9223372036854775808", "5 1.5s", "5 1S", "2000 1h COST 1500",
		"5 9223372036854775808", "5 21350398233461d", "5 -9223372036854775809s", "5 1sCOST 1", "5000 5 COST 5000", "5 1d cost 5")
	f.Fuzz(func(t *testing.T, state uint8, proto bool, line string) {
		words := append([]string{"RL.ALLOW", "k"}, split(line)...)
		b, reply, changed := fuzzCall(t, state, proto, words)
		want := rlFault(words)
		if want != "" {
			require.Equal(t, "ERR "+want, reply.Str(), "%q", words)
			return
		}
		if reply.IsError() {
			// The arguments were good, so it is what the key holds.
			require.Contains(t, []string{
				"WRONGTYPE Operation against a key holding the wrong kind of value",
				"ERR key holds a sorted set that RL.ALLOW did not write",
			}, reply.Str(), "%q", words)
			return
		}
		require.Len(t, reply.Elems(), 5)
		var n [5]int64
		for i, e := range reply.Elems() {
			require.Equal(t, resp.KindInteger, e.Kind())
			n[i] = e.Int()
		}
		allowed, limit, remaining, retryMs, resetMs := n[0], n[1], n[2], n[3], n[4]
		require.Equal(t, words[2], fmt.Sprint(limit))
		require.True(t, 0 <= remaining && remaining <= limit && resetMs >= 0 && retryMs >= -1, "%q: %v", words, n)
		require.Equal(t, allowed > 0, retryMs == 0, "%q: %v", words, n)
		require.LessOrEqual(t, retryMs, max(resetMs, 0), "%q: %v", words, n)
		peeks := len(words) == 6 && words[5] == "0"
		require.Equal(t, allowed > 0 && !peeks, changed, "%q: %v", words, n)
		if allowed > 0 && !peeks {
			require.Equal(t, "+zset\r\n", b.wire("TYPE", "k"))
		}
	})
}

var (
	rlInteger = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)
	rlWindow  = regexp.MustCompile(`^(0|-?[1-9][0-9]*)(|ms|s|m|h|d)$`)
)

// rlFault says what RL.ALLOW has to find wrong with its arguments, with regular
// expressions and big integers where it has a cursor and int64.
func rlFault(words []string) string {
	if len(words) < 4 {
		return "wrong number of arguments for 'rl.allow' command"
	}
	number := func(s string) *big.Int {
		n, ok := new(big.Int).SetString(s, 10)
		if !rlInteger.MatchString(s) || !ok || !n.IsInt64() {
			return nil
		}
		return n
	}
	n := big.NewInt
	limit := number(words[2])
	if limit == nil {
		return "limit is not an integer or out of range"
	}
	parts := rlWindow.FindStringSubmatch(words[3])
	if parts == nil {
		return "window is not a whole number of milliseconds, or of ms, s, m, h or d"
	}
	window, _ := new(big.Int).SetString(parts[1], 10)
	window.Mul(window, n(map[string]int64{"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}[parts[2]]))
	if window.Sign() < 1 {
		return "window must be at least 1 millisecond"
	}
	if window.Cmp(n(3_155_760_000_000)) >= 0 {
		return "window must be below 100 years"
	}
	cost := n(1)
	switch options := words[4:]; {
	case len(options) == 0:
	case len(options) < 2 || !is(options[0], "cost"):
		return "syntax error"
	default:
		if cost = number(options[1]); cost == nil {
			return "COST is not an integer or out of range"
		}
		if len(options) > 2 {
			return "syntax error"
		}
	}
	switch {
	case limit.Sign() < 1:
		return "limit must be at least 1"
	case limit.Cmp(n(5000)) > 0:
		return "limit is above rl-log-max-units (5000)"
	case limit.Cmp(new(big.Int).Mul(window, n(1000))) > 0:
		return "limit is above the microseconds of its window"
	case cost.Sign() < 0:
		return "COST must not be negative"
	}
	return ""
}
