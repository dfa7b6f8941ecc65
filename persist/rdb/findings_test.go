package rdb_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hdt3213/rdb/encoder"
	"github.com/hdt3213/rdb/parser"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/rdb"
)

// TestFindings checks what docs/adr/0019 says of the library, in its numbering. If a
// new version of the library fails it, revisit that decision.
func TestFindings(t *testing.T) {
	parse := func(file []byte) (seen []parser.RedisObject, err error) {
		err = parser.NewDecoder(bytes.NewReader(file)).Parse(func(o parser.RedisObject) bool {
			seen = append(seen, o)
			return true
		})
		return seen, err
	}
	const longElement = 1 << 14
	var out bytes.Buffer
	enc := encoder.NewEncoder(&out).SetListZipListOpt(longElement, 8)
	require.NoError(t, enc.WriteHeader())
	require.NoError(t, enc.WriteDBHeader(0, 1, 0))
	require.NoError(t, enc.WriteListObject("k", [][]byte{[]byte(strings.Repeat("x", longElement))}))
	require.NoError(t, enc.WriteEnd())
	require.True(t, bytes.HasPrefix(out.Bytes(), []byte("REDIS0011")), "W1")
	_, err := newKeyspace().read(out.Bytes(), rdb.ReadOptions{})
	require.ErrorIs(t, err, rdb.ErrCorrupt, "W3")

	_, err = parse(bytesOf("REDIS0010", 0xfe, 0, 18, text("k"), 1, 2, text("five.")))
	require.ErrorContains(t, err, "panic", "R2")
	_, err = parse(bytesOf("REDIS0010", 0xfa, text("redis-ver")))
	require.NoError(t, err, "R3")
	_, err = parse(bytesOf("REDIS0010", 0, text("k"), text("v"), 0xff, "checksum"))
	require.NoError(t, err, "R4")
	seen, _ := parse(bytesOf("REDIS0006", 9, text("k"), text(zipmap("f", strings.Repeat("v", 300))), 0xff,
		"checksum"))
	require.Empty(t, seen, "R6")
}
