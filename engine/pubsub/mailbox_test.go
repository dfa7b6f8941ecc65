package pubsub

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

func newMailbox() (*Mailbox, *atomic.Int64) {
	m, total := new(Mailbox), new(atomic.Int64)
	m.Init(total)
	return m, total
}

func text(s string) *Message { return NewMessage(resp.Status(s)) }

func TestMailboxKeepsHeldMessagesBack(t *testing.T) {
	m, _ := newMailbox()
	require.True(t, m.Put(text("a"), 0), "it was empty")
	require.False(t, m.Put(text("b"), 0), "its session was woken already")
	require.False(t, m.put(text("held"), 0, true))
	require.False(t, m.Put(text("behind"), 0), "it stays behind the held one")
	require.False(t, m.Insert(text("c"), 0))
	require.Equal(t, "+a\r\n+b\r\n+c\r\n", string(m.Drain(nil, resp.RESP2)))
	require.False(t, m.Ready())
	require.True(t, m.release())
	require.Equal(t, "+held\r\n+behind\r\n", string(m.Drain(nil, resp.RESP2)))
	require.False(t, m.release(), "there is nothing")
}

func TestMailboxEncodesInTheProtocolOfTheLastDrain(t *testing.T) {
	m, _ := newMailbox()
	only3 := NewMessages(resp.None, resp.Push(resp.Bulk("x")))
	require.False(t, m.Put(only3, 0), "RESP2 has no such message")
	require.True(t, m.Stale(resp.RESP3))
	require.Empty(t, m.Drain(nil, resp.RESP3))
	require.False(t, m.Stale(resp.RESP3))
	require.True(t, m.Put(only3, 0))
	require.Equal(t, ">1\r\n$1\r\nx\r\n", string(m.Drain(nil, resp.RESP3)))
}

func TestMailboxDropsEverythingBeyondItsLimit(t *testing.T) {
	m, total := newMailbox()
	require.True(t, m.Put(text("a"), 20))
	require.Zero(t, m.Overflow())
	require.False(t, m.Put(text(strings.Repeat("x", 20)), 20), "woken already")
	require.Equal(t, len("+a\r\n")+len("+\r\n")+20, m.Overflow())
	require.Zero(t, total.Load())
	require.False(t, m.Put(text("b"), 0))
	require.Empty(t, m.Drain(nil, resp.RESP2))
	require.True(t, m.Ready(), "its connection is to see the overflow")
}

func TestMailboxCountsItsBytes(t *testing.T) {
	m, total := newMailbox()
	m.Put(text(strings.Repeat("x", MaxIdleBytes)), 0)
	require.GreaterOrEqual(t, total.Load(), int64(MaxIdleBytes))
	m.Drain(nil, resp.RESP2)
	require.Zero(t, total.Load(), "a large buffer is freed")
	m.Put(text("a"), 0)
	require.Positive(t, total.Load())
	m.Close()
	require.Zero(t, total.Load())
	require.False(t, m.Put(text("a"), 0))
	require.Zero(t, total.Load())
}
