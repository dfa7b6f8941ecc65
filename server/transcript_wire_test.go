package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"
)

// wireTimeout bounds, in real time, how long a test waits for a missing reply. It
// is much longer than any reply takes on a busy machine.
const wireTimeout = 5 * time.Minute

// wire sends commands and reads complete replies of RESP2 and RESP3 as bytes,
// without decoding values.
type wire struct {
	conn net.Conn
	r    *bufio.Reader
}

func newWire(c net.Conn) *wire { return &wire{c, bufio.NewReader(c)} }

func (w *wire) send(args [][]byte) error { return w.sendRaw(multibulk(args)) }

// multibulk returns the bytes of a command.
func multibulk(args [][]byte) []byte {
	command := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		command = fmt.Appendf(command, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return command
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
	return readFullReply(w.r, nil)
}

func readFullReply(r *bufio.Reader, reply []byte) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	reply = append(reply, line...)
	if err != nil {
		return reply, err
	}
	if !bytes.HasSuffix(line, []byte("\r\n")) || len(line) < 3 {
		return reply, fmt.Errorf("no reply line: %q", line)
	}
	size := 0
	if bytes.IndexByte([]byte("$=!*~>%|"), line[0]) >= 0 {
		if size, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil {
			return reply, err
		}
	}
	switch line[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		return reply, nil
	case '$', '=', '!':
		if size < 0 {
			return reply, nil
		}
		body := make([]byte, size+2)
		n, err := io.ReadFull(r, body)
		return append(reply, body[:n]...), err
	case '%', '|':
		size *= 2
		fallthrough
	case '*', '~', '>':
		for range size {
			if reply, err = readFullReply(r, reply); err != nil {
				return reply, err
			}
		}
		return reply, nil
	}
	return reply, fmt.Errorf("no reply type: %q", line)
}

// runSection runs a section's steps and returns them with their replies. It stops
// at a reply that cannot be read: later ones would belong to other commands.
func runSection(sec section, protocol int, dial func() net.Conn, setClock func(nowMs int64)) section {
	p := runner{
		protocol: protocol, dial: dial, setClock: setClock, nowMs: transcriptStartMs,
		wires: map[string]*wire{},
	}
	defer p.closeAll()
	sec.steps = slices.Clone(sec.steps)
	p.current = "A"
	for i := range sec.steps {
		s := &sec.steps[i]
		s.reply, s.failed = p.runStep(s)
		if s.failed != nil {
			sec.steps = sec.steps[:i+1]
			return sec
		}
		s.reply = s.normalize(s.reply)
	}
	for _, w := range p.wires {
		if err := w.checkNoExtra(); err != nil {
			sec.steps[len(sec.steps)-1].failed = err
		}
	}
	return sec
}

type runner struct {
	protocol int
	dial     func() net.Conn
	setClock func(nowMs int64)
	nowMs    int64
	wires    map[string]*wire
	current  string
}

func (p *runner) runStep(s *step) (reply []byte, err error) {
	switch s.action {
	case actClock, actAdvance:
		if s.action == actAdvance {
			p.nowMs += s.value
		} else {
			p.nowMs = s.value
		}
		p.setClock(p.nowMs)
		return nil, nil
	case actConn:
		p.current = s.conn
		return nil, nil
	case actBlocked:
		return nil, p.awaitBlocked(s.value)
	case actIDs:
		return nil, p.advanceIDs(s.value)
	}
	w, err := p.wire()
	if err != nil {
		return nil, err
	}
	switch s.action {
	case actClosed:
		return p.readToEnd(w)
	case actReply:
		return w.readReply()
	}
	if err := w.checkNoExtra(); err != nil {
		return nil, err
	}
	if s.action == actRaw {
		err = w.sendRaw(s.raw)
	} else {
		err = w.send(s.args)
	}
	for range s.replies {
		if err != nil {
			break
		}
		var one []byte
		one, err = w.readReply()
		reply = append(reply, one...)
	}
	return reply, err
}

func (p *runner) wire() (*wire, error) {
	if w := p.wires[p.current]; w != nil {
		return w, nil
	}
	w := newWire(p.dial())
	p.wires[p.current] = w
	if p.protocol == 2 {
		return w, nil
	}
	if err := w.send([][]byte{[]byte("HELLO"), []byte("3")}); err != nil {
		return nil, err
	}
	reply, err := w.readReply()
	if err == nil && reply[0] != '%' {
		err = fmt.Errorf("HELLO 3 answers %q", reply)
	}
	return w, err
}

// awaitBlocked waits, on a separate connection, until the given number of clients
// is blocked.
func (p *runner) awaitBlocked(clients int64) error {
	c := p.dial()
	defer func() { _ = c.Close() }()
	w := newWire(c)
	want := fmt.Appendf(nil, "\r\nblocked_clients:%d\r\n", clients)
	for end := time.Now().Add(wireTimeout); time.Now().Before(end); {
		if err := w.send([][]byte{[]byte("INFO"), []byte("clients")}); err != nil {
			return err
		}
		info, err := w.readReply()
		if err != nil || bytes.Contains(info, want) {
			return err
		}
	}
	return fmt.Errorf("there are never %d blocked clients", clients)
}

// advanceIDs opens connections until the next one's id is next: the two servers do
// not begin at the same number.
func (p *runner) advanceIDs(next int64) error {
	for {
		c := p.dial()
		w := newWire(c)
		err := w.send([][]byte{[]byte("CLIENT"), []byte("ID")})
		var reply []byte
		if err == nil {
			reply, err = w.readReply()
		}
		_ = c.Close()
		if err != nil {
			return err
		}
		switch id, err := strconv.ParseInt(string(bytes.Trim(reply, ":\r\n")), 10, 64); {
		case err != nil || id >= next:
			return fmt.Errorf("CLIENT ID answers %q, %d is to be the next", reply, next)
		case id == next-1:
			return nil
		}
	}
}

// readToEnd reads what remains and requires that the connection is closed. A reset
// is a close too: Redis may have left input unread.
func (p *runner) readToEnd(w *wire) ([]byte, error) {
	_ = w.conn.SetDeadline(time.Now().Add(wireTimeout)) // fails if it is closed, which is fine
	rest, err := io.ReadAll(w.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return rest, errors.New("the connection was not closed")
	}
	_ = w.conn.Close()
	delete(p.wires, p.current)
	return rest, nil
}

// checkNoExtra returns an error if there are unexpected replies. It runs before
// each command is sent, so that an extra reply does not shift all later ones.
func (w *wire) checkNoExtra() error {
	n := w.r.Buffered()
	if n == 0 {
		return nil
	}
	rest, _ := w.r.Peek(n) // n bytes are buffered
	return fmt.Errorf("more came than the reply: %q", rest)
}

func (p *runner) closeAll() {
	for _, w := range p.wires {
		_ = w.conn.Close() // the server may have closed it first
	}
}
