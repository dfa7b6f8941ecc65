package commands_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// holdErrorCases are calls of the commands for holds and leases, and of INCREX, with
// invalid arguments.
var holdErrorCases = []struct{ line, want string }{
	{"RL.RESERVE k x 1s 1 HOLD 1 ID a", "ERR limit is not an integer or out of range"},
	{"RL.RESERVE k -1 1s 1 HOLD 1 ID a", "ERR limit must not be negative"},
	{"RL.RESERVE k 1 1w 1 HOLD 1 ID a", badWindow},
	{"RL.RESERVE k 1 0 1 HOLD 1 ID a", "ERR window must be at least 1 millisecond"},
	{
		"RL.RESERVE k 1001 1 1 HOLD 1 ID a",
		"ERR limit must be at most 1000 per millisecond of its window" + useOther,
	},
	{"RL.RESERVE k 5001 1m 1 HOLD 1 ID a", "ERR limit must be at most rl-log-max-units (5000)" + useOther},
	{"RL.RESERVE k 5 1s x HOLD 1 ID a", "ERR estimate is not an integer or out of range"},
	{"RL.RESERVE k 5 1s 1.5 HOLD 1 ID a", "ERR estimate is not an integer or out of range"},
	{"RL.RESERVE k 5 1s 9223372036854775808 HOLD 1 ID a", "ERR estimate is not an integer or out of range"},
	{"RL.RESERVE k 5 1s 0 HOLD 1 ID a", "ERR estimate must be at least 1"},
	{"RL.RESERVE k 5 1s -9223372036854775808 HOLD 1 ID a", "ERR estimate must be at least 1"},
	{"RL.RESERVE k 5 1s 1 HOLD 0 ID a", "ERR HOLD must be at least 1 millisecond"},
	{"RL.RESERVE k 5 1s 1 HOLD -5 ID a", "ERR HOLD must be at least 1 millisecond"},
	{"RL.RESERVE k 5 1s 1 HOLD 1.5 ID a", "ERR HOLD" + badDuration},
	{"RL.RESERVE k 5 1s 1 HOLD ID ID a", "ERR HOLD" + badDuration},
	{"RL.RESERVE k 5 1s 1 HOLD 36525d ID a", "ERR HOLD must be below 100 years"},
	{"RL.RESERVE k 5 1s 1 HOLD 9223372036854775807 ID a", "ERR HOLD must be below 100 years"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 HOLD 2", "ERR syntax error, 'HOLD' is given twice"},
	{"RL.RESERVE k 5 1s 1 ID a id b", "ERR syntax error, 'id' is given twice"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 LEASE 2", "ERR syntax error, 'LEASE' is not an option here"},
	{"RL.RESERVE k 5 1s 1 COST 1 ID a", "ERR syntax error, 'COST' is not an option here"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 ID", "ERR wrong number of arguments for 'rl.reserve' command"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 ID a b", "ERR wrong number of arguments for 'rl.reserve' command"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 ID ", "ERR ID must not be empty"},
	{"RL.RESERVE k 5 1s 1 HOLD 1 ID " + strings.Repeat("z", 513), "ERR ID must be at most 512 bytes"},
	{"RL.RESERVE k 5 1s 1 ID " + strings.Repeat("z", 1<<20) + " HOLD 1", "ERR ID must be at most 512 bytes"},

	{"RL.SETTLE k a x", "ERR actual is not an integer or out of range"},
	{"RL.SETTLE k a 1e3", "ERR actual is not an integer or out of range"},
	{"RL.SETTLE k a 9223372036854775808", "ERR actual is not an integer or out of range"},
	{"RL.SETTLE k a -1", "ERR actual must not be negative"},
	{"RL.SETTLE k  1", "ERR ID must not be empty"},
	{"RL.SETTLE k " + strings.Repeat("z", 1<<20) + " 1", "ERR ID must be at most 512 bytes"},
	{"RL.SETTLE k a", "ERR wrong number of arguments for 'rl.settle' command"},
	{"RL.CANCEL k ", "ERR ID must not be empty"},
	{"RL.CANCEL k " + strings.Repeat("z", 513), "ERR ID must be at most 512 bytes"},
	{"RL.CANCEL k a 0", "ERR wrong number of arguments for 'rl.cancel' command"},

	{"RL.ACQUIRE k x LEASE 1 ID a", "ERR max is not an integer or out of range"},
	{"RL.ACQUIRE k 9223372036854775808 LEASE 1 ID a", "ERR max is not an integer or out of range"},
	{"RL.ACQUIRE k -3 LEASE 1 ID a", "ERR max must not be negative"},
	{"RL.ACQUIRE k 1 LEASE 0 ID a", "ERR LEASE must be at least 1 millisecond"},
	{"RL.ACQUIRE k 1 LEASE 1x ID a", "ERR LEASE" + badDuration},
	{"RL.ACQUIRE k 1 LEASE 36525d ID a", "ERR LEASE must be below 100 years"},
	{"RL.ACQUIRE k 1 LEASE 1 LEASE 1", "ERR syntax error, 'LEASE' is given twice"},
	{"RL.ACQUIRE k 1 HOLD 1 ID a", "ERR syntax error, 'HOLD' is not an option here"},
	{"RL.ACQUIRE k 1 LEASE 1 ID " + strings.Repeat("z", 1<<20), "ERR ID must be at most 512 bytes"},
	{"RL.ACQUIRE k 1 LEASE 1 ID ", "ERR ID must not be empty"},
	{"RL.RENEW k a LEASE x", "ERR LEASE" + badDuration},
	{"RL.RENEW k a LEASE -1", "ERR LEASE must be at least 1 millisecond"},
	{"RL.RENEW k a HOLD 1", "ERR syntax error, 'HOLD' is not an option here"},
	{"RL.RENEW k  LEASE 1", "ERR ID must not be empty"},
	{"RL.RELEASE k ", "ERR ID must not be empty"},
	{"RL.RELEASE k " + strings.Repeat("z", 513), "ERR ID must be at most 512 bytes"},

	{"INCREX k FOO", "ERR syntax error, 'FOO' is not an option or needs a value"},
	{"INCREX k BYINT", "ERR syntax error, 'BYINT' needs a value"},
	{"INCREX k UBOUND 1 LBOUND", "ERR syntax error, 'LBOUND' needs a value"},
	{"INCREX k EX", "ERR syntax error, 'EX' is not an option or needs a value"},
	{"INCREX k BYINT 1 BYINT 2", "ERR syntax error, 'BYINT' is given twice"},
	{"INCREX k SATURATE saturate", "ERR syntax error, 'saturate' is given twice"},
	{"INCREX k EX 1 ENX ENX", "ERR syntax error, 'ENX' is given twice"},
	{"INCREX k LBOUND 0 LBOUND 1", "ERR syntax error, 'LBOUND' is given twice"},
	{"INCREX k EX 1 EX 2", "ERR syntax error, 'EX' is not an option, or is a second deadline"},
	{"INCREX k EX 1 PERSIST", "ERR syntax error, 'PERSIST' is not an option, or is a second deadline"},
	{"INCREX k BYINT 1 BYFLOAT 1", "ERR syntax error, BYINT and BYFLOAT exclude each other"},
	{"INCREX k PERSIST ENX", "ERR syntax error, ENX and PERSIST exclude each other"},
	{"INCREX k ENX", "ERR ENX flag requires an expiration"},
	{"INCREX k BYINT 1.5", "ERR Increment is not an integer or out of range"},
	{"INCREX k BYFLOAT x", "ERR Increment is not a valid float"},
	{"INCREX k BYFLOAT nan", "ERR Increment is not a valid float"},
	{"INCREX k BYFLOAT 1e99999", "ERR Increment is not a valid float"},
	{"INCREX k BYFLOAT -inf", "ERR BYFLOAT increment cannot be Infinity"},
	{"INCREX k LBOUND 1.5", "ERR LBOUND is not an integer or out of range"},
	{"INCREX k UBOUND inf", "ERR UBOUND is not an integer or out of range"},
	{"INCREX k BYFLOAT 1 LBOUND x", "ERR LBOUND is not a valid float"},
	{"INCREX k BYFLOAT 1 UBOUND ", "ERR UBOUND is not a valid float"},
	{"INCREX k LBOUND 10 UBOUND 5", "ERR LBOUND can't be greater than UBOUND"},
	{"INCREX k BYFLOAT 1 LBOUND 0.2 UBOUND 0.1", "ERR LBOUND can't be greater than UBOUND"},
	{"INCREX k EX 0", "ERR invalid expire time in 'increx' command"},
	{"INCREX k PX -1", "ERR invalid expire time in 'increx' command"},
	{"INCREX k EX 9223372036854775807", "ERR invalid expire time in 'increx' command"},
	{"INCREX k PX x", "ERR value is not an integer or out of range"},
}

// TestHoldArgumentErrors tests the error replies. fuzzCall checks that a failed call
// changes nothing, whatever the key holds.
func TestHoldArgumentErrors(t *testing.T) {
	for _, c := range holdErrorCases {
		for state := range states {
			_, reply, _ := fuzzCall(t, uint8(state), state%2 == 0, split(c.line))
			require.Equal(t, c.want, reply.Str(), "%.100s", c.line)
		}
	}
}

func TestReserveLarge(t *testing.T) {
	b := newBench()
	b.ctx.Settings.RLLogMaxUnits = 1 << 24
	for _, c := range []struct{ line, want string }{
		{"RL.RESERVE k 2000000 1h 1000001 HOLD 1m ID a", "-ERR estimate must be at most 1000000\r\n"},
		{"RL.RESERVE k 2000000 1h 2000001 HOLD 1m ID a", "*5\r\n:0\r\n:2000000\r\n:2000000\r\n:-1\r\n:0\r\n"},
		{
			"RL.RESERVE k 2000000 1h 1000000 HOLD 1m ID a",
			"*5\r\n:1000000\r\n:2000000\r\n:1000000\r\n:0\r\n:3600999\r\n",
		},
		{"RL.RESERVE k 2000000 1h 5 HOLD 1m ID b", "*5\r\n:5\r\n:2000000\r\n:999995\r\n:0\r\n:3601000\r\n"},
		{"RL.SETTLE k b 1000006", "-ERR actual must be at most 1000000 above the estimate\r\n"},
		{"RL.SETTLE k b 9223372036854775807", "-ERR actual must be at most 1000000 above the estimate\r\n"},
		{"RL.SETTLE k b 1000005", "*2\r\n:1000005\r\n:1000000\r\n"},
		{"ZCARD k", ":2000005\r\n"},
		{"RL.CANCEL k a", ":1000000\r\n"},
		{"ZCARD k", ":1000005\r\n"},
	} {
		require.Equal(t, c.want, b.wire(split(c.line)...), c.line)
	}
}

// TestMalformedHolds tests strings written to a hold's key by other commands: they are
// rejected unless they are valid holds.
func TestMalformedHolds(t *testing.T) {
	for _, text := range []string{
		"", "hold", "hold ", "5", "hold 1",
		"hold 1 1700000000000000 3 60000 9 6 60000",
		"hold 1 1700000000000000 3 60000 9 6 60000 ",
		"hold 1 1700000000000000 3 60000 9 6 60000 held ",
		"hold 1 1700000000000000 3 60000 9 6 60000 held x",
		"hold 1 1700000000000000 3 60000 9 6 60000 HELD",
		"hold 1 1700000000000000 3 60000 9 6 60000 settled",
		"hold 1 1700000000000000 3 60000 9 6 60000 settled 1 2",
		"hold 1 1700000000000000 3 60000 9 6 60000 settled 1 2 3 4",
		"hold 1 1700000000000000 0 60000 9 6 60000 held",
		"hold 1 1700000000000000 -3 60000 9 6 60000 held",
		"hold 1 1700000000000000 1000001 60000 9 6 60000 held",
		"hold 1 9223372036854775807 3 60000 9 6 60000 held",
		"hold 1 1700000000000 3 60000 9 6 60000 held",
		"hold 1 1700000000000000 3 0 9 6 60000 held",
		"hold 1 1700000000000000 3 9223372036854775807 9 6 60000 held",
		"hold 2 1700000000000000 3 60000 9 6 60000 held",
		"hold 01 1700000000000000 3 60000 9 6 60000 held",
		"hold 1  1700000000000000 3 60000 9 6 60000 held",
	} {
		b := newBench()
		b.call("SET", "k:hold:a", text)
		before := b.dump()
		for _, line := range []string{
			"RL.RESERVE k 9 1m 3 HOLD 1m ID a", "RL.SETTLE k a 1", "RL.SETTLE k a 9", "RL.CANCEL k a",
		} {
			require.Equal(t, "ERR the hold's key holds a string that RL.RESERVE did not write for this ID",
				b.call(split(line)...).Str(), "%q %q", text, line)
		}
		require.Equal(t, before, b.dump(), "%q", text)
	}
	b := newBench()
	b.call("SET", "k:hold:a", "hold 1 1700000000000000 3 60000 9 6 60000 held") // as from a snapshot
	require.Equal(t, "*2\r\n:2\r\n:2\r\n", b.wire("RL.SETTLE", "k", "a", "5"))
}

// TestIncrExLimits tests numbers beyond the range of scripts, and sums of long doubles.
func TestIncrExLimits(t *testing.T) {
	b := newBench()
	for _, c := range []struct{ line, want string }{
		{"SET k 9223372036854775800", "+OK\r\n"},
		{"INCREX k BYINT 8", "*2\r\n:9223372036854775800\r\n:0\r\n"},
		{"INCREX k BYINT 7", "*2\r\n:9223372036854775807\r\n:7\r\n"},
		{"INCREX k SATURATE", "*2\r\n:9223372036854775807\r\n:0\r\n"},
		{"INCREX k BYINT 8 SATURATE UBOUND 10", "*2\r\n:10\r\n:-9223372036854775797\r\n"},
		{"SET k 9223372036854775800", "+OK\r\n"},
		{"INCREX k SATURATE UBOUND -9223372036854775808", "-ERR applied increment would overflow\r\n"},
		{"GET k", "$19\r\n9223372036854775800\r\n"},
		{"SET k -9223372036854775800", "+OK\r\n"},
		{
			"INCREX k BYINT -9223372036854775808 SATURATE LBOUND -9223372036854775808",
			"*2\r\n:-9223372036854775808\r\n:-8\r\n",
		},
		{"INCREX k BYINT -1", "*2\r\n:-9223372036854775808\r\n:0\r\n"},
		{"SET k 0.1", "+OK\r\n"},
		{"INCREX k BYFLOAT 0.2", "*2\r\n$3\r\n0.3\r\n$3\r\n0.2\r\n"},
		{"INCREX k BYFLOAT 0 LBOUND 1 SATURATE", "*2\r\n$1\r\n1\r\n$3\r\n0.7\r\n"},
		{"SET k 1e4932", "+OK\r\n"},
		{"INCREX k BYFLOAT -0.5 UBOUND 2 LBOUND 1 SATURATE EXAT 1", ""},
		{"EXISTS k", ":0\r\n"},
		{"SET k -1e4932", "+OK\r\n"},
		{"INCREX k BYFLOAT 1 LBOUND 1e4932 SATURATE", "-ERR applied increment would be Infinity\r\n"},
	} {
		got := b.wire(split(c.line)...)
		if c.want != "" {
			require.Equal(t, c.want, got, c.line)
		}
	}
	b.call("SET", "k", "1e4932")
	before := b.wire("GET", "k")
	reply := b.call("INCREX", "k", "BYFLOAT", "1e4932") // exceeds a long double
	require.Equal(t, "0", reply.Elems()[1].Str())
	require.Equal(t, before, b.wire("GET", "k"))
	reply = b.call("INCREX", "k", "BYFLOAT", "1e4932", "SATURATE")
	require.Equal(t, "1189731495357231765", reply.Elems()[0].Str()[:19]) // LDBL_MAX
}
