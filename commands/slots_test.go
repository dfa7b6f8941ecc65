package commands

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// The check value of CRC-16/XMODEM, and keys that must share a slot.
func TestKeySlot(t *testing.T) {
	require.Equal(t, uint16(0x31C3), crc16([]byte("123456789")))
	require.Equal(t, uint16(0), crc16(nil))
	require.Equal(t, KeySlot([]byte("user_123")), KeySlot([]byte("rate_limit:{user_123}:/api/login")))
	require.NotEqual(t, KeySlot([]byte("user_123")), KeySlot([]byte("rate_limit:{}{user_123}")))
	require.Less(t, KeySlot(bytes.Repeat([]byte{'{'}, 1<<20)), Slots) // one pass, however many braces
}
