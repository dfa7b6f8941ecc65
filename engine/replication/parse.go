package replication

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	maxArgs     = 1 << 20
	maxBulk     = 512 << 20
	maxLine     = 64 << 10
	growthBytes = 1 << 20 // how much is allocated on the word of a length
)

var (
	errLine   = errors.New("protocol error: too long a line")
	errNumber = errors.New("protocol error: invalid number")
)

// readLine reads a line and returns it without its end. It is valid until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errLine
	case err != nil:
		return nil, err
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}

// A command is one command of the stream.
type command struct {
	args [][]byte // empty: an empty line
	raw  []byte   // as it arrived
}

// A parser reads the commands of a stream.
type parser struct {
	in  *bufio.Reader
	raw []byte // of the command under way
	at  []int  // where the arguments begin and end in raw
}

// next reads the next command, valid until the following call. A stream that ends within a command is
// io.ErrUnexpectedEOF.
func (p *parser) next() (command, error) {
	if cap(p.raw) > 2*growthBytes {
		p.raw = nil
	}
	p.raw, p.at = p.raw[:0], p.at[:0]
	line, err := p.line()
	if err != nil {
		return command{}, err
	}
	if len(line) == 0 {
		return command{raw: p.raw}, nil
	}
	count, err := number(line, '*', maxArgs)
	if err != nil {
		return command{}, err
	}
	for range count {
		if err := p.bulk(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return command{}, err
		}
	}
	c := command{raw: p.raw, args: make([][]byte, 0, count)}
	for i := 0; i < len(p.at); i += 2 {
		c.args = append(c.args, p.raw[p.at[i]:p.at[i+1]])
	}
	return c, nil
}

func (p *parser) line() ([]byte, error) {
	from := len(p.raw)
	line, err := p.in.ReadSlice('\n')
	p.raw = append(p.raw, line...)
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, errLine
	case err != nil && len(p.raw) > 0:
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	out := p.raw[from : len(p.raw)-1]
	if n := len(out); n > 0 && out[n-1] == '\r' {
		out = out[:n-1]
	}
	return out, nil
}

// bulk reads a length and that many bytes.
func (p *parser) bulk() error {
	line, err := p.line()
	if err != nil {
		return err
	}
	size, err := number(line, '$', maxBulk)
	if err != nil {
		return err
	}
	from := len(p.raw)
	for left := size + 2; left > 0; { // a length is believed only as far as bytes follow
		n := min(left, growthBytes)
		start := len(p.raw)
		p.raw = append(p.raw, make([]byte, n)...)
		if _, err := io.ReadFull(p.in, p.raw[start:]); err != nil {
			return err
		}
		left -= n
	}
	if end := p.raw[len(p.raw)-2:]; end[0] != '\r' || end[1] != '\n' {
		return fmt.Errorf("protocol error: %q in the place of a line's end", end)
	}
	p.at = append(p.at, from, from+size)
	return nil
}

// number reads a line that is a mark and a number from 0 to limit.
func number(line []byte, mark byte, limit int) (int, error) {
	if len(line) < 2 || len(line) > 12 {
		return 0, errNumber
	}
	if line[0] != mark {
		return 0, fmt.Errorf("protocol error: expected '%c', got %q", mark, line[0])
	}
	n := 0
	for _, c := range line[1:] {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		n = 10*n + int(c-'0')
	}
	if n > limit {
		return 0, errNumber
	}
	return n, nil
}

// Command encodes a command in RESP.
func Command[T string | []byte](args ...T) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
