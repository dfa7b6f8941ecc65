package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPeekInReadOnlyScripts checks that read-only scripts may call commands that only
// read, PEEK among them, and no others.
func TestPeekInReadOnlyScripts(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	const script = "return redis.call(unpack(ARGV))"
	run := func(line string) string {
		return show(s.Do(append([][]byte{[]byte("EVAL_RO"), []byte(script), []byte("1"), []byte("k")},
			args(line)...)))
	}
	for line, want := range map[string]string{
		"RL.ALLOW k 2 1s PEEK":                 "[1 2 2 0 0]",
		"RL.ALLOW k 2 1s COST 0":               "[1 2 2 0 0]",
		"RL.ALLOW k 2 1s ALGO FIXED peek":      "[1 2 2 0 0]",
		"RL.MALLOW 1 k 2 1s PEEK":              "[1 1 2 2 0 0]",
		"RL.MALLOW 1 k 2 1s cost 0":            "[1 1 2 2 0 0]",
		"CL.THROTTLE k 1 1 1 0":                "[0 2 2 -1 0]",
		"RL.INFO k":                            "[]",
		"RL.ALLOW k 2 1s PEEK PEEK":            "", // an error, but its own
		"RL.ALLOW k 2 1s":                      "write",
		"RL.ALLOW PEEK 2 1s":                   "write",
		"RL.ALLOW k 2 1s COST 1":               "write",
		"RL.MALLOW 1 PEEK 2 1s":                "write",
		"RL.MALLOW x k 2 1s PEEK":              "write",
		"RL.MALLOW 9223372036854775807 k 2 1s": "write",
		"CL.THROTTLE k 1 1 1":                  "write",
		"RL.REFUND k 0":                        "write",
		"RL.RESET k":                           "write",
	} {
		switch got := run(line); want {
		case "write":
			require.Contains(t, got, "Write commands are not allowed from read-only scripts", line)
		case "":
			require.Contains(t, got, "given twice", line)
		default:
			require.Equal(t, want, got, line)
		}
	}
	require.Equal(t, "0", do(s, "DBSIZE"))
}

// TestKeysOfRLCommands checks which shards are locked, and the reply of COMMAND GETKEYS.
func TestKeysOfRLCommands(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	for call, want := range map[string]string{
		"RL.ALLOW k 2 1s 5 1m PEEK":        "[k]",
		"RL.MALLOW 2 a 1 1s b 2 1m COST 3": "[a b]",
		"RL.MALLOW 3 a 1 1s b 2 1m":        "ERR Invalid arguments specified for command",
		"RL.MALLOW 1 a 1 1s b 2 1m":        "[a]",
		"RL.MALLOW 0 a 1 1s":               "ERR Invalid arguments specified for command",
		"RL.RESET a b c":                   "[a b c]",
		"RL.REFUND a 3":                    "[a]",
		"RL.INFO a":                        "[a]",
		"CL.THROTTLE a 1 1 1":              "[a]",

		"RL.RESERVE a 1 1s 1 HOLD 1m ID b":   "[a a:hold:b]",
		"RL.RESERVE a 1 1s 1 id b hold 1m":   "[a a:hold:b]",
		"RL.RESERVE a 1 1s 1 HOLD 1m HOLD b": "[a]",
		"RL.SETTLE a b 1":                    "[a a:hold:b]",
		"RL.CANCEL a b":                      "[a a:hold:b]",
		"RL.CANCEL a":                        "ERR Invalid number of arguments specified for command",
		"RL.ACQUIRE a 1 LEASE 1m ID b":       "[a]",
		"RL.RENEW a b LEASE 1m":              "[a]",
		"RL.RELEASE a b":                     "[a]",
		"INCREX a":                           "[a]",
		"RL.MALLOW 4294967298 a 1 1s b 2 1m": "[a b]", // the low 32 bits, as for Redis' own
	} {
		require.Equal(t, want, do(s, "COMMAND GETKEYS "+call), call)
	}
}

// TestHoldsInScripts checks that a hold's key need not be in a script's KEYS, in whatever
// shard it is.
func TestHoldsInScripts(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	eval := func(script, id string) string {
		return show(s.Do([][]byte{[]byte("EVAL"), []byte(script), []byte("1"), []byte("k"), []byte(id)}))
	}
	for i := range 100 { // as many names as it takes to meet every shard
		id := fmt.Sprint("id-", i)
		require.Equal(t, fmt.Sprintf("[1 1000 %d 0 60000]", 999-i),
			eval("return redis.call('RL.RESERVE', KEYS[1], '1000', '1m', '1', 'HOLD', '1m', 'ID', ARGV[1])",
				id))
		require.Equal(t, "1", do(s, "EXISTS k:hold:"+id))
		require.Equal(t, "[1 0]", eval("return redis.call('RL.SETTLE', KEYS[1], ARGV[1], '1')", id))
		require.Equal(t, "0", eval("return redis.call('RL.CANCEL', KEYS[1], ARGV[1])", id))
	}
	require.Equal(t, "100", do(s, "ZCARD k"))
}
