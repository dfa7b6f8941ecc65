package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/zlimit/zlimit/scenario"
)

const wireTimeout = scenario.Patience

// wire sends commands and reads complete replies of RESP2 and RESP3 as bytes, without decoding values.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func newWire(c net.Conn) *wire { return &wire{c, bufio.NewReader(c)} }

func (w *wire) send(args [][]byte) error { return w.sendRaw(appendCommand(nil, args)) }

// appendCommand appends the bytes of a command.
func appendCommand(b []byte, args [][]byte) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b
}

func (w *wire) sendRaw(b []byte) error {
	if err := w.conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return err
	}
	_, err := w.conn.Write(b)
	return err
}

// readReply returns the bytes of one reply; with an error, those that were read.
func (w *wire) readReply() ([]byte, error) {
	if err := w.conn.SetDeadline(time.Now().Add(wireTimeout)); err != nil {
		return nil, err
	}
	return scenario.ReadReply(w.r, nil)
}

// A wireClient is a wire as a client of scenarios.
type wireClient struct{ *wire }

func (c wireClient) Send(args [][]byte) error { return c.send(args) }
func (c wireClient) SendRaw(b []byte) error   { return c.sendRaw(b) }
func (c wireClient) Reply() ([]byte, error)   { return c.readReply() }
func (c wireClient) Close() error             { return c.conn.Close() }

func (c wireClient) Unread() []byte {
	rest, _ := c.r.Peek(c.r.Buffered()) // they are buffered
	return rest
}

// Rest takes a reset for a close: Redis may have left input unread.
func (c wireClient) Rest() ([]byte, error) {
	_ = c.conn.SetDeadline(time.Now().Add(wireTimeout)) // fails if it is closed, which is fine
	rest, err := io.ReadAll(c.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return rest, errors.New("the connection was not closed")
	}
	return rest, nil
}

// runSection runs a section against a server.
func runSection(
	s scenario.Section, protocol int, dial func() net.Conn, setClock func(nowMs int64),
) scenario.Section {
	r := scenario.Runner{
		Protocol: protocol,
		Dial:     func(string) (scenario.Client, error) { return wireClient{newWire(dial())}, nil },
		SetClock: func(nowMs int64) error { setClock(nowMs); return nil },
	}
	return r.Run(s)
}
