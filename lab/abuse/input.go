package abuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"
)

// strangers do before AUTH what would take memory.
func strangers(ctx context.Context, t *Target) error {
	refusals := []struct{ input, text string }{
		{"*11\r\n", "ERR Protocol error: unauthenticated multibulk length"},
		{"*2147483647\r\n", "ERR Protocol error: unauthenticated multibulk length"},
		{"*2\r\n$4\r\nAUTH\r\n$16385\r\n", "ERR Protocol error: unauthenticated bulk length"},
		{"*1\r\n$536870912\r\n", "ERR Protocol error: unauthenticated bulk length"},
		{"*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length"},
		{strings.Repeat("x", 70_000), "ERR Protocol error: too big inline request"},
	}
	pings := bytes.Repeat([]byte("PING\r\n"), 10_000)
	return t.rounds(ctx, func(int) error {
		for _, r := range refusals {
			c, err := t.stranger()
			if err != nil {
				return err
			}
			if err = c.Send([]byte(r.input)); err == nil {
				err = c.expectEnd(r.text)
			}
			c.Close()
			if err != nil {
				return fmt.Errorf("%.20q: %w", r.input, err)
			}
		}
		if err := refuseToRead(t.stranger, pings, 100<<20); err != nil {
			return err
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}

// refuseToRead sends a pipeline again and again without reading a reply. The server
// must hang up before it has received most bytes.
func refuseToRead(dial func() (*Client, error), pipeline []byte, most int) error {
	c, err := dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		return err
	}
	for sent := 0; sent < most; sent += len(pipeline) {
		if err := c.Send(pipeline); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				return fmt.Errorf("the server neither reads nor hangs up: %w", err)
			}
			return nil
		}
	}
	return fmt.Errorf("a client that reads nothing may send %d MB", most>>20)
}

// giants announce gigabytes over many connections, and send a little of them.
func giants(ctx context.Context, t *Target) error {
	all, err := t.open(max(t.Size/100, 10), t.dial)
	if err != nil {
		return err
	}
	defer closeAll(all)
	return t.rounds(ctx, func(round int) error {
		if round == 0 {
			for i, c := range all {
				input := "*2147483647\r\n$3\r\nDEL\r\n"
				if i%2 == 0 {
					input = "*2\r\n$4\r\nECHO\r\n$536870912\r\n" + strings.Repeat("x", 100_000)
				}
				if err := c.Send([]byte(input)); err != nil {
					return err
				}
			}
		}
		for input, text := range map[string]string{
			"*2147483648\r\n":        "ERR Protocol error: invalid multibulk length",
			"*1\r\n$536870913\r\n":   "ERR Protocol error: invalid bulk length",
			"*1\r\n$-1\r\n":          "ERR Protocol error: invalid bulk length",
			"*99999999999999999\r\n": "ERR Protocol error: invalid multibulk length",
		} {
			c, err := t.dial()
			if err != nil {
				return err
			}
			if err = c.Send([]byte(input)); err == nil {
				err = c.expectEnd(text)
			}
			c.Close()
			if err != nil {
				return fmt.Errorf("%q: %w", input, err)
			}
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}

// garbage sends random bytes, and such that look like other protocols.
func garbage(ctx context.Context, t *Target) error {
	random := rand.New(rand.NewPCG(34, 0))
	noise := make([]byte, 64<<10)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	inputs := [][]byte{
		noise,
		append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, noise[:500]...), // TLS
		[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		bytes.Repeat([]byte("*"), 100_000),
		bytes.Repeat([]byte("*0\r\n"), 25_000),
		make([]byte, 100_000),
		bytes.Repeat([]byte("MULTI\r\nMULTI\r\nEXEC\r\nEXEC\r\n"), 100),
	}
	return t.rounds(ctx, func(round int) error {
		for _, input := range inputs {
			c, err := t.dial()
			if err != nil {
				return err
			}
			_ = c.Send(input) // the server may hang up early
			_ = c.Conn.(*net.TCPConn).CloseWrite()
			c.awaitEnd()
			c.Close()
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}
