package oracle

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

// askTimeout is real time. It only keeps a broken Redis from hanging a test.
const askTimeout = 20 * time.Second

// conn implements the part of RESP2 that the package's own commands need. Each command
// opens one and closes it with QUIT, so that tests of CLIENT LIST and CLIENT KILL never
// see it.
type conn struct {
	net.Conn
	r *bufio.Reader
}

func (r *Redis) dial() (*conn, error) {
	c, err := net.DialTimeout("tcp", r.addr, askTimeout)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReader(c)}, nil
}

func (r *Redis) ask(line string) (any, error) {
	c, err := r.dial()
	if err != nil {
		return nil, err
	}
	reply, err := c.ask(line)
	return reply, errors.Join(err, c.quit())
}

// ask sends an inline command and returns its reply: a string, int64, nil or []any. An
// error reply is returned as a replyError.
func (c *conn) ask(line string) (any, error) {
	watchdog := time.AfterFunc(askTimeout, func() { _ = c.Close() })
	defer watchdog.Stop()
	if _, err := io.WriteString(c, line+"\r\n"); err != nil {
		return nil, err
	}
	return readReply(c.r)
}

// quit closes the connection and returns once Redis has dropped it.
func (c *conn) quit() error {
	_, err := c.ask("QUIT")
	if err == nil {
		watchdog := time.AfterFunc(askTimeout, func() { _ = c.Close() })
		defer watchdog.Stop()
		if _, end := c.r.ReadByte(); !errors.Is(end, io.EOF) {
			err = fmt.Errorf("oracle: after QUIT: %w", end)
		}
	}
	_ = c.Close()
	return err
}

type replyError string

func (e replyError) Error() string { return string(e) }

func isNoAuth(err error) bool {
	var e replyError
	return errors.As(err, &e) && strings.HasPrefix(string(e), "NOAUTH")
}

func readReply(r *bufio.Reader) (any, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("oracle: empty reply line")
	}
	switch text := line[1:]; line[0] {
	case '+':
		return text, nil
	case '-':
		return nil, replyError(text)
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '$':
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 {
			return nil, err
		}
		bulk := make([]byte, size+2)
		_, err = io.ReadFull(r, bulk)
		return string(bulk[:size]), err
	case '*':
		size, err := strconv.Atoi(text)
		if err != nil || size < 0 {
			return nil, err
		}
		items := make([]any, size)
		for i := range items {
			if items[i], err = readReply(r); err != nil {
				return nil, err
			}
		}
		return items, nil
	}
	return nil, fmt.Errorf("oracle: reply %q", line)
}
