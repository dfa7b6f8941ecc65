package abuse

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ioTimeout bounds every wait of a Client. A server that takes longer has failed.
const ioTimeout = 60 * time.Second

// A Client is a connection that speaks RESP2. It belongs to one goroutine.
type Client struct {
	net.Conn
	r *bufio.Reader
}

// Dial connects, and gives the password if it is not empty.
func Dial(addr, password string) (*Client, error) {
	conn, err := net.DialTimeout("tcp", addr, ioTimeout)
	if err != nil {
		return nil, err
	}
	c := &Client{conn, bufio.NewReader(conn)}
	if password != "" {
		if _, err := c.Do("AUTH", password); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// An ErrorReply is an error that the server has answered, without its '-'.
type ErrorReply string

func (e ErrorReply) Error() string { return string(e) }

// Command returns a command's bytes.
func Command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// Send writes bytes as they are.
func (c *Client) Send(b []byte) error {
	c.SetWriteDeadline(time.Now().Add(ioTimeout))
	_, err := c.Write(b)
	return err
}

// Do sends a command and returns its reply: a string, an int64, nil or []any. The
// error of an error reply is an ErrorReply.
func (c *Client) Do(args ...string) (any, error) {
	if err := c.Send(Command(args...)); err != nil {
		return nil, err
	}
	return c.Reply()
}

// Text is Do for a command whose reply is a string.
func (c *Client) Text(args ...string) (string, error) {
	reply, err := c.Do(args...)
	text, ok := reply.(string)
	if err == nil && !ok {
		err = fmt.Errorf("%s: the reply is %v, not a string", args[0], reply)
	}
	return text, err
}

// Info returns a field of INFO as a number.
func (c *Client) Info(field string) (int64, error) {
	text, err := c.Text("INFO", "everything")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO has no %s", field)
}

// Reply reads a reply, as Do returns it.
func (c *Client) Reply() (any, error) {
	c.SetReadDeadline(time.Now().Add(ioTimeout))
	return c.reply()
}

func (c *Client) reply() (any, error) {
	line, err := c.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(line[1:], "\r\n")
	switch line[0] {
	case '+':
		return text, nil
	case '-':
		return nil, ErrorReply(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reply %q: %w", line, err)
	case line[0] == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case line[0] == '$':
		bulk := make([]byte, n+2)
		_, err := io.ReadFull(c.r, bulk)
		return string(bulk[:n]), err
	case line[0] == '*':
		items := make([]any, n)
		for i := range items {
			if items[i], err = c.reply(); err != nil && !isErrorReply(err) {
				return nil, err
			}
		}
		return items, nil
	}
	return nil, fmt.Errorf("reply %q", line)
}

func isErrorReply(err error) bool {
	var e ErrorReply
	return errors.As(err, &e)
}

// expectEnd requires that the server answers text, as an error, and hangs up.
func (c *Client) expectEnd(text string) error {
	_, err := c.Reply()
	var reply ErrorReply
	if !errors.As(err, &reply) || string(reply) != text {
		return fmt.Errorf("the reply is %w, not %q", err, text)
	}
	if _, err := c.Reply(); err == nil || isErrorReply(err) {
		return fmt.Errorf("the connection stays open after %q", text)
	}
	return nil
}

// awaitEnd reads until the server hangs up, and returns how much has come.
func (c *Client) awaitEnd() int64 {
	c.SetReadDeadline(time.Now().Add(ioTimeout))
	n, _ := io.Copy(io.Discard, c.r) // a reset is an end, too
	return n
}
