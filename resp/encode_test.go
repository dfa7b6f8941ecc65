package resp_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name         string
		v            resp.Value
		resp2, resp3 string
	}{
		{"none", resp.None, "", ""},
		{"status", resp.OK, "+OK\r\n", "+OK\r\n"},
		{"status with a line break", resp.Status("a\r\nb"), "+a  b\r\n", "+a  b\r\n"},
		{"error", resp.Error("ERR x"), "-ERR x\r\n", "-ERR x\r\n"},
		{"error with line breaks", resp.Error("ERR a\nb\r\n"), "-ERR a b\r\n", "-ERR a b\r\n"},
		{"integer", resp.Int(-7), ":-7\r\n", ":-7\r\n"},
		{
			"smallest integer", resp.Int(math.MinInt64), ":-9223372036854775808\r\n",
			":-9223372036854775808\r\n",
		},
		{"bulk", resp.Bulk("a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		{"empty bulk", resp.Bulk(""), "$0\r\n\r\n", "$0\r\n\r\n"},
		{"number as bulk", resp.BulkInt(-12), "$3\r\n-12\r\n", "$3\r\n-12\r\n"},
		{"null", resp.Null, "$-1\r\n", "_\r\n"},
		{"null array", resp.NullArray, "*-1\r\n", "_\r\n"},
		{"true", resp.Bool(true), ":1\r\n", "#t\r\n"},
		{"false", resp.Bool(false), ":0\r\n", "#f\r\n"},
		{"double", resp.Double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"infinity", resp.Double(math.Inf(-1)), "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"big number", resp.BigNumber("123"), "$3\r\n123\r\n", "(123\r\n"},
		{"verbatim", resp.Verbatim("hi"), "$2\r\nhi\r\n", "=6\r\ntxt:hi\r\n"},
		{"empty array", resp.Empty, "*0\r\n", "*0\r\n"},
		{"array", resp.Array(resp.Int(1), resp.Null), "*2\r\n:1\r\n$-1\r\n", "*2\r\n:1\r\n_\r\n"},
		{"map", resp.Map(resp.Bulk("k"), resp.Int(1)), "*2\r\n$1\r\nk\r\n:1\r\n", "%1\r\n$1\r\nk\r\n:1\r\n"},
		{"set", resp.Set(resp.Int(1)), "*1\r\n:1\r\n", "~1\r\n:1\r\n"},
		{"push", resp.Push(resp.Int(1)), "*1\r\n:1\r\n", ">1\r\n:1\r\n"},
		{"encoded before", resp.Encode(resp.Null, resp.RESP2), "$-1\r\n", "$-1\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.resp2, string(resp.Append(nil, &c.v, resp.RESP2)))
			require.Equal(t, c.resp3, string(resp.Append(nil, &c.v, resp.RESP3)))
		})
	}
}

// TestAppendInteger covers integers of every length, on both sides of each change of
// length, after existing bytes and into capacity that just does or does not suffice.
func TestAppendInteger(t *testing.T) {
	for digits, n := 1, int64(1); digits <= 18; digits, n = digits+1, n*10 {
		for _, n := range []int64{n - 1, n, n + 1, -n} {
			v, want := resp.Int(n), "..:"+strconv.FormatInt(n, 10)+"\r\n"
			for capacity := 2; capacity <= 32; capacity++ {
				require.Equal(t, want,
					string(resp.Append(append(make([]byte, 0, capacity), ".."...), &v, resp.RESP2)))
			}
		}
	}
}

// The expectations are what redis-server 7.0.15 answered to ZSCORE.
func TestAppendFloat(t *testing.T) {
	for want, f := range map[string]float64{
		"3": 3, "-0": math.Copysign(0, -1), "0": 0, "0.10000000000000001": 0.1, "1e+17": 1e17, "1e+21": 1e21,
		"99999999999999984": 99999999999999984, "1.5": 1.5, "inf": math.Inf(1), "-inf": math.Inf(-1),
		"1.7976931348623157e+308": math.MaxFloat64, "4.9406564584124654e-324": math.SmallestNonzeroFloat64,
		"9007199254740992": 1 << 53, "1.0000000000000001e-05": 1e-5, "0.0001": 1e-4,
	} {
		require.Equal(t, want, string(resp.AppendFloat(nil, f)))
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	b := make([]byte, 0, 4096)
	v := resp.Array(resp.Int(1), resp.BulkInt(1_700_000_000_000), resp.Double(0.1),
		resp.Bulk(strings.Repeat("x", 100)))
	require.Zero(t, testing.AllocsPerRun(100, func() { b = resp.Append(b[:0], &v, resp.RESP2) }))
}
