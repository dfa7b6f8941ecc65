package miniredis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest/miniredis"
)

// compat/embed compares each call with alicebob/miniredis, since it has both. These
// tests cover the rest.

// talk sends an inline command and returns the first line of the reply, or "gone".
func talk(c net.Conn, line string) string {
	fmt.Fprint(c, line+"\r\n")
	reply, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "gone"
	}
	return strings.TrimSuffix(reply, "\r\n")
}

// TestOneClock checks that FastForward and SetTime move both TIME and expiry.
func TestOneClock(t *testing.T) {
	m := miniredis.RunT(t)
	m.SetTime(time.Unix(1_700_000_000, 0))
	require.NoError(t, m.Set("k", "v"))
	m.SetTTL("k", time.Minute)
	c, err := net.Dial("tcp", m.Addr())
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, ":1", talk(c, `EVAL "return redis.call('TIME')[1] == '1700000000'" 0`))

	m.FastForward(59 * time.Second)
	require.Equal(t, time.Second, m.TTL("k"))
	require.Equal(t, ":1", talk(c, `EVAL "return redis.call('TIME')[1] == '1700000059'" 0`))
	m.FastForward(time.Second)
	require.False(t, m.Exists("k"), "expired at a TTL of 0")
	require.NoError(t, m.Set("k", "v"))
	m.SetTTL("k", time.Minute)
	m.SetTime(time.Unix(1_700_000_120, 0))
	require.False(t, m.Exists("k"))
	m.SetTime(time.Unix(1_600_000_000, 0))
	require.Equal(t, ":1", talk(c, `EVAL "return redis.call('TIME')[1] == '1600000000'" 0`))
}

// TestClockRange checks that instants outside of the clock's range panic with a message.
func TestClockRange(t *testing.T) {
	m := miniredis.RunT(t)
	const text = "miniredis: clock: an instant must be from 0 to 9223372036854 unix milliseconds, and " +
		"Advance goes forwards"
	require.PanicsWithValue(t, text, func() { m.FastForward(-time.Second) })
	require.PanicsWithValue(t, text, func() { m.FastForward(1<<63 - 1) })
	require.PanicsWithValue(t, text, func() { m.SetTime(time.Unix(-1, 0)) })
	m.SetTime(time.Unix(10, 0))
}

// TestOutage checks that a server can stop and return with its keys, at its address.
func TestOutage(t *testing.T) {
	m := miniredis.RunT(t)
	addr := m.Addr()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	require.Equal(t, "+OK", talk(c, "SET k v"))
	m.Close()
	m.Close()
	_, err = io.ReadAll(c)
	require.NoError(t, err, "it has ended")
	c.Close()
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
	m.CheckGet(t, "k", "v")
	require.NoError(t, m.Set("meanwhile", "1"))

	require.NoError(t, m.Restart())
	require.Equal(t, addr, m.Addr())
	c, err = net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "$1", talk(c, "GET meanwhile"))
	require.Equal(t, 1, m.CurrentConnectionCount())
	require.Equal(t, 1, m.CommandCount())
}

// TestErrorsAndPasswords checks SetError and RequireAuth from a client.
func TestErrorsAndPasswords(t *testing.T) {
	m := miniredis.RunT(t)
	c, err := m.Dial()
	require.NoError(t, err)
	defer c.Close()
	m.SetError("ERR broken")
	require.Equal(t, "-ERR broken", talk(c, "HELLO 3"))
	m.SetError("LOADING soon")
	require.Equal(t, "-LOADING soon", talk(c, "PING"))
	require.NoError(t, m.Set("k", "v"), "direct calls go on")
	m.SetError("")
	require.Equal(t, "+PONG", talk(c, "PING"))
	m.RequireAuth("secret")
	other, err := m.Dial()
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, "-NOAUTH Authentication required.", talk(other, "GET k"))
	require.Equal(t, "+OK", talk(other, "AUTH secret"))
	m.CheckGet(t, "k", "v")
}

// TestWithoutPort runs in a bubble.
func TestWithoutPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := miniredis.NewMiniRedis()
		defer m.Close()
		c, err := m.Dial()
		require.NoError(t, err)
		defer c.Close()
		require.Equal(t, "+OK", talk(c, "SET k v"))
		m.Select(1)
		require.False(t, m.Exists("k"))
		require.True(t, m.DB(0).Exists("k"))
		require.True(t, m.SwapDB(0, 1))
		require.True(t, m.Exists("k"))
		m.FlushAll()
		require.Empty(t, m.Keys())
		require.Empty(t, m.Addr())
	})
}

// complaints collects the failures of a check.
type complaints []string

func (c *complaints) Helper() {}
func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// TestFailedChecks has a failing case for each check.
func TestFailedChecks(t *testing.T) {
	m := miniredis.RunT(t)
	_, err := m.Push("list", "a", "b")
	require.NoError(t, err)
	_, err = m.SAdd("set", "b", "a")
	require.NoError(t, err)
	m.CheckList(t, "list", "a", "b")
	m.CheckSet(t, "set", "b", "a")
	var c complaints
	m.CheckGet(&c, "list", "a")
	m.CheckGet(&c, "nosuch", "")
	m.CheckList(&c, "list", "b", "a")
	m.CheckList(&c, "set", "a", "b")
	m.CheckSet(&c, "set", "a")
	require.Len(t, c, 5)
	require.Equal(t,
		`key "list": want "a", got "" (error: WRONGTYPE Operation against a key holding the wrong kind of `+
			`value)`, c[0])
}
