package commands

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// TestClusterKeySlotAgainstRedis asks for the slots that a redis-server in a
// cluster answered.
func TestClusterKeySlotAgainstRedis(t *testing.T) {
	table := testTable()
	asked := 0
	for _, e := range recorded(t) {
		if e.server != "cluster" {
			continue
		}
		asked++
		t.Run(e.String(), func(t *testing.T) {
			require.Equal(t, wire(e.reply, e.proto), wire(e.askOurs(table), e.proto))
		})
	}
	require.Greater(t, asked, 20)
}

// The check value of CRC-16/XMODEM, and keys that must share a slot.
func TestKeySlot(t *testing.T) {
	require.Equal(t, uint16(0x31C3), crc16([]byte("123456789")))
	require.Equal(t, uint16(0), crc16(nil))
	require.Equal(t, KeySlot([]byte("user_123")), KeySlot([]byte("rate_limit:{user_123}:/api/login")))
	require.NotEqual(t, KeySlot([]byte("user_123")), KeySlot([]byte("rate_limit:{}{user_123}")))
	require.Less(t, KeySlot(bytes.Repeat([]byte{'{'}, 1<<20)), Slots) // one pass, however many braces
}

func TestClusterHelpIsRefusedToo(t *testing.T) {
	require.Equal(t, errNoCluster, ask(testTable(), resp.RESP2, "cluster", "help"))
}
