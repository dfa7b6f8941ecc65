package aof

import (
	"errors"
	"fmt"
	"io"
)

// reader parses commands strictly: a count, lengths, and a line end after each. It
// reads every byte once and buffers only the current command. It trusts a length only
// as far as the file goes.
type reader struct {
	f    io.ReaderAt
	size int64 // end of the part to read

	buf   []byte
	lines int64 // lines read, as redis-check-aof counts: without those that begin with '#'
	piece int64 // offset of the current line or argument
	base  int64 // offset of buf in the file
	start int   // start of the current item in buf
	pos   int   // read position in buf
	marks []span
	args  [][]byte
}

type span struct{ from, to int }

const (
	readSize    = 64 << 10
	maxNumber   = 10      // digits of a count or a length
	maxLineSize = 4 << 10 // of a skipped line

	textEOF  = "Unexpected end of file"
	textHole = "The last batch is not whole"
)

func newReader(f io.ReaderAt, from, size int64) *reader {
	return &reader{f: f, size: size, base: from}
}

// item is a command, or a line that begins with '#'.
type item struct {
	off  int64 // where it begins
	end  int64
	raw  []byte
	args [][]byte // nil for a line
}

// line returns a line's text without its CRLF.
func (i item) line() []byte { return i.raw[:len(i.raw)-2] }

// flaw says where and why a file cannot be read further.
type flaw struct {
	item  int64 // offset of the command
	piece int64 // offset of its line or argument
	at    int64 // offset of the wrong or missing byte
	short bool  // the file ends too early
	text  string
	err   error    // a read error, if the content is not at fault
	args  [][]byte // the arguments read so far
}

func (f *flaw) Error() string {
	if f.err != nil {
		return f.err.Error()
	}
	return f.text
}

// next returns the next item, io.EOF at the end, or a *flaw. The item is valid until
// the following call.
func (r *reader) next() (item, error) {
	r.start = r.pos
	r.piece = r.base + int64(r.pos)
	if r.base+int64(r.start) >= r.size {
		return item{}, io.EOF
	}
	r.marks = r.marks[:0]
	err := r.item()
	args := r.args[:0]
	for _, m := range r.marks {
		args = append(args, r.buf[r.start+m.from:r.start+m.to])
	}
	r.args = args
	if err != nil {
		f := &flaw{}
		if !errors.As(err, &f) {
			f.err = err
		}
		f.item, f.piece, f.args = r.base+int64(r.start), r.piece, args
		return item{}, f
	}
	it := item{off: r.base + int64(r.start), end: r.base + int64(r.pos), raw: r.buf[r.start:r.pos]}
	if it.raw[0] == '*' {
		it.args = args
	}
	return it, nil
}

func (r *reader) item() error {
	if err := r.fill(1); err != nil {
		return err
	}
	if r.buf[r.pos] == '#' {
		return r.skipLine()
	}
	count, err := r.number('*')
	if err != nil {
		return err
	}
	if count == 0 {
		return r.wrong(r.start, "Expected a command, got one of 0 arguments")
	}
	for range count {
		length, err := r.number('$')
		if err != nil {
			return err
		}
		from := r.pos - r.start
		r.piece = r.base + int64(r.pos)
		if left := r.size - r.base - int64(r.pos); length+2 > left {
			// The part that is there is useful for a warning; a short one is all to
			// keep.
			if err := r.fill(int(min(left, readSize))); err == nil {
				r.marks = append(r.marks, span{from, len(r.buf) - r.start})
			}
			return &flaw{
				at: r.size, short: true,
				text: fmt.Sprintf("Expected to read %d bytes, got %d bytes", length+2, left),
			}
		}
		if err := r.fill(int(length) + 2); err != nil {
			return err
		}
		r.marks = append(r.marks, span{from, from + int(length)})
		r.pos += int(length)
		if err := r.newline(); err != nil {
			return err
		}
		r.lines++
	}
	return nil
}

// fill buffers at least n bytes from pos on. It fails with a short flaw if the file
// ends before.
func (r *reader) fill(n int) error {
	have := len(r.buf) - r.pos
	if have >= n {
		return nil
	}
	left := r.size - r.base - int64(r.pos)
	if int64(n) > left {
		return &flaw{at: r.size, short: true, text: textEOF}
	}
	if r.start > 0 { // discard what is done
		kept := copy(r.buf, r.buf[r.start:])
		r.buf = r.buf[:kept]
		r.base += int64(r.start)
		r.pos -= r.start
		r.start = 0
	}
	want := r.pos + n
	if want > cap(r.buf) {
		grown := make([]byte, len(r.buf), max(want, min(2*cap(r.buf), r.pos+int(min(left, 1<<30))), readSize))
		copy(grown, r.buf)
		r.buf = grown
	}
	from := len(r.buf)
	to := int(min(int64(cap(r.buf)), int64(r.pos)+left))
	got, err := r.f.ReadAt(r.buf[from:to], r.base+int64(from))
	r.buf = r.buf[:from+got]
	if len(r.buf)-r.pos >= n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file was truncated while being read
	}
	return err
}

// number reads a prefix, digits and the line end.
func (r *reader) number(prefix byte) (int64, error) {
	r.piece = r.base + int64(r.pos)
	if err := r.fill(1); err != nil {
		return 0, err
	}
	if c := r.buf[r.pos]; c != prefix {
		return 0, r.wrong(r.pos, fmt.Sprintf("Expected prefix '%c', got: '%c'", prefix, c))
	}
	r.pos++
	var n int64
	for digits := 0; ; digits++ {
		if err := r.fill(1); err != nil {
			return 0, err
		}
		c := r.buf[r.pos]
		if c < '0' || c > '9' || digits == maxNumber {
			if digits == maxNumber {
				return 0, r.wrong(r.pos, "Expected a number of at most 10 digits")
			}
			if digits == 0 {
				return 0, r.wrong(r.pos, r.noNewline(r.pos))
			}
			break
		}
		n = n*10 + int64(c-'0')
		r.pos++
	}
	if err := r.newline(); err != nil {
		return 0, err
	}
	r.lines++
	return n, nil
}

func (r *reader) newline() error {
	for i, want := range []byte("\r\n") {
		if err := r.fill(1); err != nil {
			return err
		}
		if r.buf[r.pos] != want {
			return r.wrong(r.pos, r.noNewline(r.pos-i))
		}
		r.pos++
	}
	return nil
}

func (r *reader) noNewline(at int) string {
	return fmt.Sprintf("Expected \\r\\n, got: %x", r.buf[at:min(len(r.buf), at+2)])
}

// skipLine skips a line.
func (r *reader) skipLine() error {
	for {
		if err := r.fill(1); err != nil {
			return err
		}
		switch c := r.buf[r.pos]; {
		case c == '\r':
			return r.newline()
		case c == 0 || c == '\n' || r.pos-r.start > maxLineSize:
			return r.wrong(r.pos, "Expected a line that ends with \\r\\n")
		}
		r.pos++
	}
}

func (r *reader) wrong(at int, text string) error {
	return &flaw{at: r.base + int64(at), text: text}
}
