package resp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is encoded is decoded to a value with the same encoding.
func TestDecode(t *testing.T) {
	values := []Value{
		OK, Error("ERR no"), Int(-7), Bulk("a\r\nb"), Bulk(""), Null, NullArray, Empty, Double(1.5),
		Bool(true),
		BigNumber("12345678901234567890"), Verbatim("text"), Array(Int(1), Array(Bulk("x"), Null)),
		Map(Bulk("k"), Int(1)), Set(Bulk("m")), Push(Bulk("message"), Bulk("c"), Bulk("p")),
	}
	for _, proto := range []int{RESP2, RESP3} {
		for _, v := range values {
			b := Append(nil, &v, proto)
			got, rest, err := Decode(append(b[:len(b):len(b)], "+next\r\n"...))
			require.NoError(t, err, "%q", b)
			require.Equal(t, "+next\r\n", string(rest))
			require.Equal(t, string(b), string(Append(nil, &got, proto)))
			if len(b) > 0 {
				_, _, err = Decode(b[:len(b)-1])
				require.Error(t, err, "%q without its end", b)
			}
		}
	}
	v, _, err := Decode([]byte("|1\r\n+ttl\r\n:3\r\n:5\r\n"))
	require.NoError(t, err)
	require.Equal(t, int64(5), v.Int(), "an attribute precedes the reply")
	for _, text := range []string{
		"", "\r\n", "?1\r\n", "*1000000000\r\n", "$99999999999999\r\nx\r\n", ":x\r\n",
	} {
		_, _, err := Decode([]byte(text))
		require.Error(t, err, "%q", text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\na\r\n%1\r\n+k\r\n,1.5\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, _, err := Decode(b)
		if err == nil {
			Append(nil, &v, RESP3)
		}
	})
}
