package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// read feeds chunks to a checker, as the client does, and reports whether the batch was
// answered.
func read(c *checker, chunks ...string) (done bool, err error) {
	var held []byte
	for _, chunk := range chunks {
		held = append(held, chunk...)
		var used int
		if used, done, err = c.feed(held); err != nil {
			return done, err
		}
		held = held[used:]
	}
	return done && len(held) == 0, nil
}

const (
	admittedReply = "*5\r\n:1\r\n:100\r\n:99\r\n:0\r\n:60000\r\n"
	deniedReply   = "*5\r\n:0\r\n:100\r\n:0\r\n:1234\r\n:60000\r\n"
)

func TestExpect(t *testing.T) {
	require.Equal(t, []line{
		{"*6", orZero}, {":", verdict}, {"", within}, {":0", nothing}, {":", below}, {":", integer},
	}, expect("*6/0 :verdict within :0 :below :integer"))
}

func TestCheckerCountsVerdicts(t *testing.T) {
	c := &checker{limit: 100}
	c.reset(rlAllow[0].replies, 3)
	done, err := read(c, admittedReply+deniedReply+admittedReply)
	require.NoError(t, err)
	require.True(t, done)
	require.EqualValues(t, 2, c.admitted)
	require.EqualValues(t, 1, c.denied)

	c = &checker{limit: 100}
	c.reset(fourCommands[1].replies, 2)
	done, err = read(c, ":99\r\n:100\r\n")
	require.NoError(t, err)
	require.True(t, done)
	require.EqualValues(t, 1, c.admitted, "99 held, one more fits")
	require.EqualValues(t, 1, c.denied)

	exec := "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "*4\r\n:1\r\n:0\r\n"
	c = &checker{limit: 100}
	c.reset(multi[0].replies, 2)
	done, err = read(c, exec+":100\r\n:1\r\n"+exec+":101\r\n:1\r\n")
	require.NoError(t, err)
	require.True(t, done)
	require.EqualValues(t, 1, c.admitted, "the hundredth was added before it was counted")
	require.EqualValues(t, 1, c.denied)
}

// TestCheckerAcceptsNoHold checks that a reply may be 0 where its first line says so, and only there.
func TestCheckerAcceptsNoHold(t *testing.T) {
	settle := expect("*2/0 :integer :0")
	c := new(checker)
	c.reset(settle, 3)
	done, err := read(c, "*2\r\n:1450\r\n:0\r\n:", "0\r\n*2\r\n:1450\r\n:0\r\n")
	require.NoError(t, err)
	require.True(t, done)
	for _, reply := range []string{":1\r\n", "*2\r\n:0\r\n:1\r\n", "*2\r\n:0\r\n*0\r\n", "*1\r\n"} {
		c.reset(settle, 1)
		_, err := read(c, reply)
		require.Error(t, err, reply)
	}
}

func TestCheckerAcceptsFragmentedReplies(t *testing.T) {
	whole := admittedReply + deniedReply
	for cut := range len(whole) {
		c := new(checker)
		c.reset(rlAllow[0].replies, 2)
		done, err := read(c, whole[:cut], whole[cut:])
		require.NoError(t, err)
		require.True(t, done, "cut at %d", cut)

		c.reset(rlAllow[0].replies, 2)
		done, err = read(c, whole[:cut])
		require.NoError(t, err)
		require.False(t, done, "cut at %d", cut)
	}
}

// TestCheckerFails has replies that the checker must reject.
func TestCheckerFails(t *testing.T) {
	for _, test := range []struct {
		name string
		flow flow
		got  string
	}{
		{"an error", rlAllow, "-ERR unknown command 'RL.ALLOW'\r\n"},
		{"an error in the second reply", rlAllow, admittedReply + "-OOM command not allowed\r\n"},
		{"an array of another length", rlAllow, "*4\r\n:1\r\n:100\r\n:99\r\n:0\r\n"},
		{"a string where an integer belongs", rlAllow, "*5\r\n$1\r\n1\r\n"},
		{"not an integer", rlAllow, "*5\r\n:1\r\n:1e2\r\n"},
		{"an empty integer", rlAllow, "*5\r\n:\r\n"},
		{"a negative verdict", rlAllow, "*5\r\n:-1\r\n"},
		{"an integer beyond all replies", rlAllow, "*5\r\n:1\r\n:12345678901234567890\r\n"},
		{"NOSCRIPT", evalsha, "-NOSCRIPT No matching script. Please use EVAL.\r\n"},
		{"an integer where a string belongs", evalsha, ":1\r\n"},
		{"a longer string", evalsha, "$2\r\n10\r\n"},
		{"a null", evalsha, "$-1\r\n"},
		{
			"an error inside EXEC", multi,
			"+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "*4\r\n-WRONGTYPE\r\n",
		},
		{"EXECABORT", multi, "+OK\r\n-ERR\r\n"},
		{"EXEC of nothing", multi, "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 4) + "*-1\r\n"},
		{"an expiry that was not set", fourCommands[3:], ":0\r\n"},
		{"more than was expected in the line", ping, "+PONGO\r\n"},
		{"less than was expected in the line", ping, "+PON\r\n"},
		{"no carriage return", ping, "+PONG\n"},
		{"an empty line", ping, "\n"},
		{"a missing key", setGet, "+OK\r\n$-1\r\n"},
		{"another value", setGet, "+OK\r\n$16\r\nsixteen_bytes_no\r\n"},
		{"one reply too many", ping, "+PONG\r\n+PONG\r\n+PONG\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := new(checker)
			c.reset(test.flow[0].replies, 2)
			_, err := read(c, test.got)
			require.Error(t, err)
		})
	}
}
