package replication

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// full receives a copy of all keys and loads it.
func (l *Link) full(conn io.Writer, in *bufio.Reader, at Position) error {
	l.mu.Lock()
	l.state, l.copy = Syncing, receivedCopy{left: -1}
	l.mu.Unlock()
	head, err := readLine(in)
	for err == nil && len(head) == 0 {
		head, err = readLine(in)
	}
	if err != nil {
		return err
	}
	spool, err := l.o.Follower.Spool()
	if err != nil {
		return err
	}
	defer func() {
		if err := spool.Close(); err != nil {
			l.o.Log(true, "removing the received copy of the keys failed", "error", err)
		}
	}()
	var size int64
	mark, hasMark := bytes.CutPrefix(head, []byte("$EOF:"))
	switch {
	case hasMark && len(mark) == len(NoID):
		size, err = l.receiveMarked(spool, in, bytes.Clone(mark))
	case head[0] == '$':
		size, err = l.receive(spool, in, head[1:])
	default:
		return refused("the copy", string(head))
	}
	if err != nil {
		return fmt.Errorf("receiving a copy of the keys: %w", err)
	}
	lastUs := l.o.NowUs()
	err = l.o.Follower.Load(spool, size, at, func() {
		l.attempt.lastUs.Store(l.o.NowUs())
		if nowUs := l.o.NowUs(); nowUs-lastUs >= 1_000_000 {
			lastUs = nowUs
			_, _ = io.WriteString(conn, "\n") // the master hears that we are there
		}
	})
	if err != nil {
		return fmt.Errorf("loading the copy of the master's keys: %w", err)
	}
	l.attempt.lastUs.Store(l.o.NowUs())
	l.online(at.Offset)
	return nil
}

// receive receives a copy of known length.
func (l *Link) receive(to io.Writer, in *bufio.Reader, digits []byte) (int64, error) {
	size, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || size < 0 {
		return 0, fmt.Errorf("its length is %q", digits)
	}
	l.count(0, size)
	n, err := io.CopyN(&counter{to, l, size}, in, size)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// receiveMarked receives a copy that a mark ends.
func (l *Link) receiveMarked(to io.Writer, in *bufio.Reader, mark []byte) (int64, error) {
	out := &counter{to, l, -1}
	var size int64
	for {
		// Look at what is buffered, and keep what may be the beginning of the mark.
		if _, err := in.Peek(len(mark)); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return size, err
		}
		b, _ := in.Peek(in.Buffered())
		n, found := len(b)-len(mark)+1, false
		if i := bytes.Index(b, mark); i >= 0 {
			n, found = i, true
		}
		if _, err := out.Write(b[:n]); err != nil {
			return size, err
		}
		size += int64(n)
		if found {
			n += len(mark)
		}
		_, _ = in.Discard(n)
		if found {
			return size, nil
		}
	}
}

// count notes how much of a copy was received.
func (l *Link) count(read, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.copy.add(read, size)
}

type counter struct {
	io.Writer
	l    *Link
	size int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.l.count(int64(n), c.size)
	return n, err
}
