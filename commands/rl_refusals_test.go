package commands_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// rlErrorCases are calls with invalid arguments. The error replies name the argument.
var rlErrorCases = []struct{ line, want string }{
	{
		"RL.ALLOW k 1 1s " + strings.Repeat("9 1m ", 16) + "PEEK",
		"ERR the number of limits must be from 1 to 16",
	},
	{"RL.ALLOW k 1 1s 10 x", badWindow},
	{"RL.ALLOW k 1 1s 10 36525d", "ERR window must be below 100 years"},
	{"RL.ALLOW k 1 1s 10 9223372036854775807d", "ERR window must be below 100 years"},
	{"RL.ALLOW k 1 1s 10 21350398233461d", "ERR window must be below 100 years"},
	{"RL.ALLOW k 1 1s -1 1m", "ERR limit must not be negative"},
	{"RL.ALLOW k 1 1s -9 1m", "ERR limit must not be negative"},
	{
		"RL.ALLOW k 1 1s 10 1m 1001 1",
		"ERR limit must be at most 1000 per millisecond of its window" + useOther,
	},
	{
		"RL.ALLOW k 1 1s 9223372036854775808 1m",
		"ERR syntax error, '9223372036854775808' is neither a limit nor an option",
	},
	{
		"RL.ALLOW k 1 1s " + strings.Repeat("z", 1<<20),
		"ERR syntax error, '" + strings.Repeat("z", 64) + "...' is neither a limit nor an option",
	},
	{"RL.ALLOW k 1 1s COST 1 10 1m", "ERR syntax error, '10' is not an option here"},
	{"RL.ALLOW k COST 1 1 1s", "ERR limit is not an integer or out of range"},
	{"RL.ALLOW k 1 PEEK 1s", badWindow},

	{"RL.ALLOW k 1 1s PEEK PEEK", "ERR syntax error, 'PEEK' is given twice"},
	{"RL.ALLOW k 1 1s ATMOST FULL ATMOST", "ERR syntax error, 'ATMOST' is given twice"},
	{"RL.ALLOW k 1 1s FULL FULL", "ERR syntax error, 'FULL' is given twice"},
	{"RL.ALLOW k 1 1s ALGO LOG ALGO LOG", "ERR syntax error, 'ALGO' is given twice"},
	{"RL.ALLOW k 1 1s PEEK NOSUCH", "ERR syntax error, 'NOSUCH' is not an option here"},
	{"RL.ALLOW k 1 1s ALGO", "ERR syntax error, ALGO needs LOG, FIXED, GCRA burst, BUCKETS n or COUNTER"},
	{"RL.ALLOW k 1 1s ALGO TOKEN", "ERR ALGO 'TOKEN' is not LOG, FIXED, GCRA, BUCKETS or COUNTER"},
	{"RL.ALLOW k 1 1s ALGO PEEK", "ERR ALGO 'PEEK' is not LOG, FIXED, GCRA, BUCKETS or COUNTER"},
	{"RL.ALLOW k 1 1s ALGO FIXED 5", "ERR syntax error, '5' is not an option here"},
	{"RL.ALLOW k 1 1s ALGO GCRA", "ERR syntax error, ALGO GCRA needs a burst"},
	{"RL.ALLOW k 1 1s ALGO GCRA PEEK", "ERR burst is not an integer or out of range"},
	{"RL.ALLOW k 1 1s ALGO GCRA -3", "ERR burst must not be negative"},
	{"RL.ALLOW k 1 36524d ALGO GCRA 2", "ERR burst must take less than 100 years to fill"},
	{"RL.ALLOW k 1 1s ALGO GCRA 9223372036854775807", "ERR burst must take less than 100 years to fill"},
	{"RL.ALLOW k 1 1s ALGO BUCKETS", "ERR syntax error, ALGO BUCKETS needs a number"},
	{"RL.ALLOW k 1 1s ALGO BUCKETS ten", "ERR the number of BUCKETS is not an integer or out of range"},
	{"RL.ALLOW k 1 1s ALGO BUCKETS 0", "ERR the number of BUCKETS must be from 1 to 1000"},
	{"RL.ALLOW k 1 1s ALGO BUCKETS 1001", "ERR the number of BUCKETS must be from 1 to 1000"},
	{"RL.ALLOW k 1 1s 10 1m ALGO GCRA 5", "ERR several limits and windows require ALGO LOG"},
	{"RL.ALLOW k -1 1s ALGO FIXED", "ERR limit must not be negative"},
	{"RL.ALLOW k 1 0 ALGO GCRA 1", "ERR window must be at least 1 millisecond"},
	{"RL.ALLOW k 1 1s COST -1 ALGO BUCKETS 5", "ERR COST must not be negative"},

	{"RL.MALLOW x k 5 1s", "ERR numkeys is not an integer or out of range"},
	{"RL.MALLOW 9223372036854775808 k 5 1s", "ERR numkeys is not an integer or out of range"},
	{"RL.MALLOW 0 k 5 1s", "ERR numkeys should be greater than 0"},
	{"RL.MALLOW -1 k 5 1s", "ERR numkeys should be greater than 0"},
	{"RL.MALLOW 2 k 5 1s", "ERR numkeys must be at most the number of keys given with limit and window"},
	{"RL.MALLOW 2 k 5 1s t 5", "ERR numkeys must be at most the number of keys given with limit and window"},
	{
		"RL.MALLOW 9223372036854775807 k 5 1s",
		"ERR numkeys must be at most the number of keys given with limit and window",
	},
	{"RL.MALLOW 1 k 5 1s t 5 1s", "ERR syntax error, 't' is not an option here"},
	{"RL.MALLOW 1 k 5 1s ATMOST", "ERR syntax error, 'ATMOST' is not an option here"},
	{"RL.MALLOW 1 k 5 1s ALGO LOG", "ERR syntax error, 'ALGO' is not an option here"},
	{"RL.MALLOW 1 k 5 1s COST", "ERR syntax error, COST needs a number"},
	{"RL.MALLOW 1 k 5 1s COST 1 COST 2", "ERR syntax error, 'COST' is given twice"},
	{"RL.MALLOW 1 k 5 1s COST -1", "ERR COST must not be negative"},
	{"RL.MALLOW 2 k 5 1s t x 1s", "ERR limit is not an integer or out of range"},
	{"RL.MALLOW 2 k 5 1s t -1 1s", "ERR limit must not be negative"},
	{"RL.MALLOW 2 k 5 1s t 5 1w", badWindow},
	{
		"RL.MALLOW 2 k 5 1s t 1001 1",
		"ERR limit must be at most 1000 per millisecond of its window" + useOther,
	},
	{"RL.MALLOW 3 t 5 1s k 5 1s t 5 1s", "ERR key 't' is named twice"},
	{"RL.MALLOW 20 " + twentyKeys("k7"), "ERR key 'k7' is named twice"},

	{"RL.REFUND k -1", "ERR n must not be negative"},
	{"RL.REFUND k -9223372036854775808", "ERR n must not be negative"},
	{"RL.REFUND k 1.5", "ERR n is not an integer or out of range"},
	{"RL.REFUND k 9223372036854775808", "ERR n is not an integer or out of range"},

	{"CL.THROTTLE k x 1 1", "ERR max_burst is not an integer or out of range"},
	{"CL.THROTTLE k -2 1 1", "ERR max_burst must be at least -1"},
	{"CL.THROTTLE k 1 x 1", "ERR count is not an integer or out of range"},
	{"CL.THROTTLE k 1 -1 1", "ERR count must not be negative"},
	{"CL.THROTTLE k 1 1 x", "ERR period is not an integer or out of range"},
	{"CL.THROTTLE k 1 1 0", "ERR period must be at least 1 second"},
	{"CL.THROTTLE k 1 1 -9", "ERR period must be at least 1 second"},
	{"CL.THROTTLE k 1 1 3155760000", "ERR period must be below 100 years"},
	{"CL.THROTTLE k 1 1 9223372036854775807", "ERR period must be below 100 years"},
	{"CL.THROTTLE k 1 1 1 x", "ERR quantity is not an integer or out of range"},
	{"CL.THROTTLE k 1 1 1 -1", "ERR quantity must not be negative"},
	{"CL.THROTTLE k 9223372036854775807 1 1", "ERR max_burst must take less than 100 years to fill"},
	{"CL.THROTTLE k 1 1 3000000000", "ERR max_burst must take less than 100 years to fill"},
	{"CL.THROTTLE k 1 1 1 1 1", "ERR wrong number of arguments for 'cl.throttle' command"},
}

const (
	badWindow   = "ERR window" + badDuration
	badDuration = " must be an integer in milliseconds or an integer with a unit (ms, s, m, h or d)"
	useOther    = "; use ALGO BUCKETS or ALGO GCRA for more"
)

func twentyKeys(last string) string {
	var b strings.Builder
	for i := range 19 {
		fmt.Fprintf(&b, "k%d 5 1s ", i)
	}
	return b.String() + last + " 5 1s"
}

// TestRLArgumentErrors tests the error replies. fuzzCall checks that a failed call
// changes nothing, whatever the key holds.
func TestRLArgumentErrors(t *testing.T) {
	for _, c := range rlErrorCases {
		for state := range states {
			_, reply, _ := fuzzCall(t, uint8(state), false, split(c.line))
			require.Equal(t, c.want, reply.Str(), "%.100s", c.line)
		}
	}
}

// TestRLForeignKeys tests that a key written by another program does not change, and
// that the error reply describes it.
func TestRLForeignKeys(t *testing.T) {
	calls := map[string][]string{
		"sorted set": {
			"RL.ALLOW k 3 1s", "RL.ALLOW k 3 1s PEEK", "RL.ALLOW k 3 1s COST 9", "RL.MALLOW 2 j 1 1s k 1 1s",
		},
		"string": {
			"RL.ALLOW k 3 1s ALGO FIXED", "RL.ALLOW k 3 1s ALGO GCRA 3 PEEK", "RL.ALLOW k 3 1s ALGO COUNTER",
			"CL.THROTTLE k 1 1 1",
		},
		"hash": {"RL.ALLOW k 3 1s ALGO BUCKETS 3", "RL.ALLOW k 3 1s ALGO BUCKETS 3 PEEK FULL"},
	}
	for kind, writes := range map[string][][]string{
		"sorted set": {
			{"ZADD", "k", "1", "a"},
			{"ZADD", "k", "1700000000", "1700000000"},
			{"ZADD", "k", "1700000000000", "1700000000000"},
		},
		"string": {
			{"SET", "k", "text"},
			{"SET", "k", "5"},
			{"SET", "k", "gcra"},
			{"SETEX", "k", "10", "-5"},
			{"SETEX", "k", "10", "5.5"},
			{"SET", "k", ""},
			{"SET", "k", "gcra 1x"},
			{"SET", "k", "gcra 01"},
			{"SET", "k", "gcra "},
			{"SET", "k", "gcra 9223372036854775808"},
			{"SET", "k", "GCRA 1"},
			{"SET", "k", "counter 1000 1700000000000 1"},
			{"SET", "k", "counter 1000 1700000000000 1 2 3"},
			{"SET", "k", "counter 1000 1700000000001 1 2"},
			{"SET", "k", "counter 1000 1700000000000 -1 2"},
			{"SET", "k", "counter 1000 1700000000000 1  2"},
			{"SET", "k", "counter 0 0 1 2"},
			{"SET", "k", "counter 9223372036854775807 0 1 2"},
			{"SET", "k", "counter "},
		},
		"hash": {
			{"HSET", "k", "a", "1"},
			{"HSET", "k", "width", "100", "n", "10", "newest", "1700000000000"},
			{"HSET", "k", "width", "100", "n", "10", "newest", "1700000000001", "counts", "1"},
			{"HSET", "k", "width", "0", "n", "10", "newest", "1700000000000", "counts", "1"},
			{"HSET", "k", "width", "100", "n", "0", "newest", "1700000000000", "counts", "1"},
			{"HSET", "k", "width", "9223372036854775807", "n", "1", "newest", "0", "counts", "1"},
			{
				"HSET", "k", "width", "100", "n", "9223372036854775807",
				"newest", "1700000000000", "counts", "1",
			},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", ""},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", "1 2 3 4"},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", "1 -2"},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", "1  2"},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", "1 "},
			{"HSET", "k", "width", "100", "n", "2", "newest", "1700000000000", "counts", "1", "more", "1"},
		},
	} {
		for _, write := range writes {
			b := newBench()
			require.False(t, b.call(write...).IsError(), "%q", write)
			b.call("RL.ALLOW", "j", "1", "1s")
			before := b.dump()
			foreign := "ERR key holds a " + kind + " that RL.ALLOW did not write"
			for expected, lines := range calls {
				want := "WRONGTYPE Operation against a key holding the wrong kind of value"
				if expected == kind {
					want = foreign
				}
				for _, line := range lines {
					require.Equal(t, want, b.call(split(line)...).Str(), "%q %q", write, line)
				}
			}
			for _, line := range []string{"RL.REFUND k 1", "RL.INFO k", "RL.RESET k", "RL.RESET j k"} {
				require.Equal(t, foreign, b.call(split(line)...).Str(), "%q %q", write, line)
			}
			require.Equal(t, before, b.dump(), "%q", write)
		}
	}
}

func TestRLInfo(t *testing.T) {
	b := newBench()
	for _, c := range []struct{ line, want string }{
		{"RL.ALLOW LOG 5 1m COST 3", "used 3 oldest 1700000000000 newest 1700000000000 ttl 60000"},
		{"RL.ALLOW FIXED 5 1s COST 2 ALGO FIXED", "used 2 oldest - newest - ttl 1000"},
		{"RL.ALLOW GCRA 5 1s ALGO GCRA 3", "used - oldest - newest - ttl 200 tat_us 1700000000200000"},
		{
			"RL.ALLOW BUCKETS 5 1s ALGO BUCKETS 10",
			"used 1 oldest 1700000000000 newest 1700000000099 ttl 1099 width_ms 100 buckets 10",
		},
		{
			"RL.ALLOW COUNTER 5 1s ALGO COUNTER COST 2",
			"used 2 oldest 1700000000000 newest 1700000000999 ttl 2000 window_ms 1000",
		},
	} {
		words := split(c.line)
		b.call(words...)
		before := b.dump()
		reply := b.call("RL.INFO", words[1])
		var got []string
		for elems := reply.Elems(); len(elems) > 0; elems = elems[2:] {
			switch name := elems[0].Str(); {
			case name == "algorithm":
				require.Equal(t, words[1], elems[1].Str())
			case name == "bytes":
				require.Positive(t, elems[1].Int())
			case elems[1].Kind() == resp.KindNull:
				got = append(got, name, "-")
			default:
				got = append(got, name, fmt.Sprint(elems[1].Int()))
			}
		}
		require.Equal(t, c.want, strings.Join(got, " "))
		require.Equal(t, before, b.dump())
	}
	require.Empty(t, b.call("RL.INFO", "none").Elems())
}
