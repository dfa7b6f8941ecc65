package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"time"
)

// A sink is a replica that discards what it is sent. It has no process of its own: a load reads it between
// its requests, so that a replica takes little of the client's core and nothing of the server's.
type sink struct {
	fd     int
	state  sinkState
	head   []byte // what has arrived of the replies before the copy
	mark   []byte // the copy ends with it
	last   []byte // the latest bytes of the copy, as many as the mark has
	offset int64  // in the master's stream
	acked  time.Time
	buf    []byte
	began  time.Time
	took   time.Duration // of the copy
}

// A sinkState is how far a sink is.
type sinkState uint8

const (
	sinkWaiting   sinkState = iota // for the copy
	sinkCopying                    // the copy arrives
	sinkFollowing                  // the stream arrives
)

// sinkRead is how much a sink reads at once: the client's requests wait meanwhile.
const sinkRead = 16 << 10

var errHandshake = errors.New("not a master's answer to PSYNC")

// attach asks a server for a copy of its keys and for what changes from then on.
func attach(address string) (*sink, error) {
	fd, err := dial(address)
	if err != nil {
		return nil, err
	}
	s := &sink{fd: fd, buf: make([]byte, sinkRead), acked: time.Now()}
	if err := s.send("REPLCONF capa eof capa psync2\r\n"); err != nil {
		s.shut()
		return nil, err
	}
	return s, nil
}

// shut closes the connection. It ignores that the other side may have done so.
func (s *sink) shut() { _ = syscall.Close(s.fd) }

// send writes a few bytes, which the kernel always has room for.
func (s *sink) send(text string) error {
	n, err := syscall.Write(s.fd, []byte(text))
	if err == nil && n < len(text) {
		err = syscall.EAGAIN
	}
	if err != nil {
		return fmt.Errorf("replica: write: %w", err)
	}
	return nil
}

// receive reads once, without waiting, and confirms what it has read once a second.
func (s *sink) receive() error {
	n, err := syscall.Read(s.fd, s.buf)
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EINTR):
		return s.ack(time.Second)
	case err != nil:
		return fmt.Errorf("replica: read: %w", err)
	case n == 0:
		return fmt.Errorf("replica: %w", errHungUp)
	}
	return s.feed(s.buf[:n])
}

// ack confirms the offset, if the last time is so long ago.
func (s *sink) ack(every time.Duration) error {
	if s.state != sinkFollowing || time.Since(s.acked) < every {
		return nil
	}
	s.acked = time.Now()
	return s.send("REPLCONF ACK " + strconv.FormatInt(s.offset, 10) + "\r\n")
}

// feed takes what has arrived.
func (s *sink) feed(b []byte) error {
	switch s.state {
	case sinkFollowing:
		s.offset += int64(len(b))
		return s.ack(time.Second)
	case sinkWaiting:
		s.head = append(s.head, b...)
		rest, ok, err := s.readHead()
		if err != nil || !ok {
			return err
		}
		s.state, s.began, b = sinkCopying, time.Now(), rest
	}
	// A master sends nothing behind the copy before it is confirmed, so the copy is whole when the mark
	// comes last.
	s.last = append(s.last, b[max(0, len(b)-len(s.mark)):]...)
	s.last = append(s.last[:0], s.last[max(0, len(s.last)-len(s.mark)):]...)
	if !bytes.Equal(s.last, s.mark) {
		return nil
	}
	s.state, s.took = sinkFollowing, time.Since(s.began)
	return s.ack(0)
}

// readHead parses the replies before the copy: +OK, upon which it asks for the copy, +FULLRESYNC id offset,
// and $EOF:mark, between which there may be empty lines. It reports false until all have arrived, and
// returns what is behind them.
func (s *sink) readHead() (rest []byte, ok bool, err error) {
	for {
		line, after, found := bytes.Cut(s.head, []byte("\n"))
		if !found {
			return nil, false, nil
		}
		s.head = after
		line = bytes.TrimSuffix(line, []byte("\r"))
		fields := bytes.Fields(line)
		switch {
		case len(line) == 0:
		case string(line) == "+OK":
			if err := s.send("PSYNC ? -1\r\n"); err != nil {
				return nil, false, err
			}
		case len(fields) == 3 && string(fields[0]) == "+FULLRESYNC":
			if s.offset, err = strconv.ParseInt(string(fields[2]), 10, 64); err != nil {
				return nil, false, fmt.Errorf("%w: %q", errHandshake, line)
			}
		case bytes.HasPrefix(line, []byte("$EOF:")):
			s.mark = bytes.Clone(line[len("$EOF:"):])
			return s.head, true, nil
		default:
			return nil, false, fmt.Errorf("%w: %q", errHandshake, line)
		}
	}
}

// phase counts replies while the copy arrives.
func (s *sink) phase(time.Duration) (phase, error) {
	switch s.state {
	case sinkCopying:
		return counted, nil
	case sinkFollowing:
		return over, nil
	}
	return ignored, nil
}

// follow reads until the copy is whole.
func (s *sink) follow(ctx context.Context) error {
	for deadline := time.After(ioTimeout); ; {
		if err := s.receive(); err != nil || s.state == sinkFollowing {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return errNoAnswer
		case <-time.After(100 * time.Microsecond):
		}
	}
}
