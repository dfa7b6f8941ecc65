package zlimittest_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/zlimittest"
)

func newReader(c net.Conn) *bufio.Reader { return bufio.NewReader(c) }

// client sends inline commands and formats replies in one line.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, srv *zlimittest.Server) *client {
	t.Helper()
	conn, err := srv.Dial()
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

// ask sends a command and returns its reply, or "gone" if the connection ends first.
func (c *client) ask(line string) string {
	c.t.Helper()
	_, err := fmt.Fprint(c.conn, line+"\r\n")
	require.NoError(c.t, err)
	return c.reply()
}

func (c *client) reply() string {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return "gone"
	}
	line = strings.TrimSuffix(line, "\r\n")
	var n int
	switch {
	case line == "*-1":
		return line
	case line == "$-1":
		return "nil"
	case line[0] == '$':
		text, _ := c.in.ReadString('\n')
		return strings.TrimSuffix(text, "\r\n")
	case line[0] == '*':
		_, _ = fmt.Sscanf(line, "*%d", &n)
		words := make([]string, n)
		for i := range words {
			words[i] = c.reply()
		}
		return strings.Join(words, " ")
	}
	return line
}

// fakeTest records the outcome of a test.
type fakeTest struct {
	testing.TB
	text     string
	cleanups []func()
}

func (f *fakeTest) Helper()           {}
func (f *fakeTest) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *fakeTest) Fatal(args ...any) { f.text = fmt.Sprint(args...); panic(f) }
func (f *fakeTest) Fatalf(format string, args ...any) {
	f.Fatal(fmt.Sprintf(format, args...))
}
func (f *fakeTest) Errorf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

// ending returns the message with which fn ends the test, "" if it does not.
func (f *fakeTest) ending(fn func()) string {
	f.text = ""
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(f) {
				panic(p)
			}
		}()
		fn()
	}()
	return f.text
}
