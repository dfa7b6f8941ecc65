package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// startRedis starts a redis-server on a unix socket. answer sends it bytes, closes
// the sending side, and returns all replies.
func startRedis(t *testing.T, args ...string) (answer func(in string) string) {
	redis := oracle.StartFor(t, oracle.Options{RealTime: true, Args: args})
	return func(in string) string {
		conn, err := redis.Dial()
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		go func() {
			// It fails if Redis closes first.
			_, _ = io.WriteString(conn, in)
			_ = conn.CloseWrite()
		}()
		// If Redis closes with input unread, the client sees a reset, after the
		// replies.
		b, _ := io.ReadAll(conn)
		return string(b)
	}
}

// matchesRedis compares what the reader made of in with Redis' replies: the parsed
// commands, encoded plainly, must have the same replies as in, up to our error.
func matchesRedis(answer func(string) string, in string, got [][]string, err error) error {
	var plain strings.Builder
	for _, args := range got {
		// Before AUTH inline commands may have more and longer arguments than
		// multibulk ones.
		if len(args) > unauthCount || len(strings.Join(args, "")) > unauthBulk {
			plain.WriteString(quoted(args))
			continue
		}
		plain.WriteString(encode(args...))
	}
	want := ""
	if plain.Len() > 0 {
		want = answer(plain.String())
	}
	if err != nil {
		want += "-ERR " + err.Error() + "\r\n"
	}
	if have := answer(in); have != want {
		return fmt.Errorf("bytes %.200q\nread as %.200q, %w\nRedis answered %.300q\nand to those commands "+
			"%.300q", in, got, err, have, want)
	}
	return nil
}

// quoted encodes args as an inline command.
func quoted(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteByte('"')
		for _, c := range []byte(a) {
			if c >= 'a' && c <= 'z' {
				b.WriteByte(c)
			} else {
				fmt.Fprintf(&b, "\\x%02x", c)
			}
		}
		b.WriteString("\" ")
	}
	return b.String() + "\r\n"
}

func TestReaderMatchesRedis(t *testing.T) {
	member := startRedis(t)
	guest := startRedis(t, "--requirepass", "secret")
	for _, c := range readCases() {
		answer := member
		if c.guest {
			answer = guest
		}
		require.NoError(t, matchesRedis(answer, c.in, c.want, c.err))
	}
	// The comparison must be able to fail.
	require.Error(t, matchesRedis(member, "ECHO a\r\n", cmds(cmd("ECHO", "b")), nil))
	require.Error(t, matchesRedis(member, "*x\r\n", nil, errBulkInvalid))
	require.Error(t, matchesRedis(member, "*x\r\n", nil, nil))
	require.Error(t, matchesRedis(member, "*1\r\n", nil, errCountInvalid))

	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	for i := range 1500 {
		in := randomWire(random)
		l := defaultLimits()
		answer := member
		if random.IntN(4) == 0 {
			l.authenticated, answer = false, guest
		}
		got, err := feed(newReader(l), in, pieces(1+random.IntN(40)))
		require.NoError(t, matchesRedis(answer, in, got, err), "seed %d, input %d", seed, i)
	}
}

// randomWire returns valid, nearly valid and partial commands.
func randomWire(random *rand.Rand) string {
	tokens := []string{
		"*1\r\n", "*2\r\n", "*3\r\n", "*0\r\n", "*-1\r\n", "*11\r\n", "*", "$", "$4\r\n", "$1\r\n", "$0\r\n",
		"$04\r\n", "$-1\r\n", "$16385\r\n",
		"\r\n", "\n", "\r", "\x00", " ", "\t", "\v", "\"", "'", "\\", "\\x4", "\\n", "ECHO", "PING", "a", "1",
		"xyz", "\xff",
		"*1\r\n$4\r\nPING\r\n", "*2\r\n$4\r\nECHO\r\n$5\r\nworld\r\n", "*1\rX$4\r\nPINGXX", "ECHO \"",
		"ECHO '", "\"\r\n", "'\r\n",
	}
	var b strings.Builder
	for range 1 + random.IntN(12) {
		b.WriteString(tokens[random.IntN(len(tokens))])
	}
	return b.String()
}
