package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBitsThatStayAreCounted checks that memory is counted when a command changes no bit:
// it may still turn a number into text, or release memory that is shared with a snapshot.
func TestBitsThatStayAreCounted(t *testing.T) {
	for _, line := range []string{
		"SETBIT k 7 1", "BITFIELD k SET u8 0 49", "BITFIELD k OVERFLOW FAIL INCRBY u2 0 3",
		"SETBIT k 70 0", "BITFIELD k OVERFLOW FAIL SET u2 100 9", "BITOP NOT k k", "BITOP AND k nosuch",
	} {
		e, _ := newEngine(t)
		s := newSession(t, e)
		do(s, "SET k 12345678")
		require.NotContains(t, do(s, line), "ERR")
		counted, is := e.CountedMemory()
		require.Equal(t, is, counted, line)
	}
}
