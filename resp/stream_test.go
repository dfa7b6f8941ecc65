package resp_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

type pieces []string

func (p pieces) WriteTo(w io.Writer) (n int64, err error) {
	for _, piece := range p {
		m, err := io.WriteString(w, piece)
		if n += int64(m); err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestStreamAmongOthers checks that a stream that cannot be sent as one is encoded like
// every reply.
func TestStreamAmongOthers(t *testing.T) {
	v := resp.Streamed(pieces{"$5\r\n", "he", "llo\r\n"})
	require.Equal(t, resp.KindStream, v.Kind())
	require.False(t, v.IsError())
	array := resp.Array(resp.Int(1), v, resp.Int(2))
	require.Equal(t, "*3\r\n:1\r\n$5\r\nhello\r\n:2\r\n", string(resp.Append(nil, &array, resp.RESP3)))
	require.Equal(t, pieces{"$5\r\n", "he", "llo\r\n"}, v.Stream())
}
