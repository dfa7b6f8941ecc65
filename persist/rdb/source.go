package rdb

import (
	"errors"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
)

// windowSize is the size of the window unless a larger item is needed.
const windowSize = 64 << 10

// A source is an input of known size, read in order through a window. The window grows
// only for data that is requested and present.
type source struct {
	from io.ReaderAt // nil: the window is the whole input
	size int64

	window []byte
	base   int64 // offset of the window's first byte
	pos    int   // read position in the window
	mark   int   // start of the data to keep, in the window; -1: none

	sum    uint64 // checksum of what left the window
	summed int    // position in the window up to which sum applies
}

func newSource(f io.ReaderAt, size int64) *source {
	return &source{from: f, size: size, mark: -1}
}

func (s *source) reset(payload []byte) {
	*s = source{size: int64(len(payload)), window: payload, mark: -1}
}

func (s *source) offset() int64 { return s.base + int64(s.pos) }
func (s *source) left() int64   { return s.size - s.offset() }

// ensure makes n bytes from pos on available in the window.
func (s *source) ensure(n int64) error {
	if n <= int64(len(s.window)-s.pos) {
		return nil
	}
	if n > s.left() {
		return dump.ErrShort
	}
	return s.fill(int(n))
}

func (s *source) fill(n int) error {
	s.checksum()
	keep := s.pos
	if s.mark >= 0 {
		keep = min(keep, s.mark)
		s.mark -= keep
	}
	held := len(s.window) - keep
	wanted := s.pos - keep + n
	buf := s.window
	if cap(buf) < wanted || cap(buf) > windowSize && wanted <= windowSize/2 {
		buf = make([]byte, min(int64(max(wanted, windowSize)), s.size-s.base-int64(keep)))
	}
	buf = buf[:cap(buf)]
	copy(buf, s.window[keep:])
	s.base += int64(keep)
	s.pos -= keep
	s.summed -= keep
	end := int(min(int64(len(buf)), s.size-s.base))
	got, err := s.from.ReadAt(buf[held:end], s.base+int64(held))
	s.window = buf[:held+got]
	if held+got >= wanted {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file is shorter than its size
	}
	return err
}

// read returns the next n bytes, valid until the next call of any method.
func (s *source) read(n int64) ([]byte, error) {
	if err := s.ensure(n); err != nil {
		return nil, err
	}
	b := s.window[s.pos : s.pos+int(n)]
	s.pos += int(n)
	return b, nil
}

// skip skips n bytes. Without a mark it buffers no more than the window.
func (s *source) skip(n int64) error {
	if n > s.left() {
		return dump.ErrShort
	}
	if s.mark >= 0 {
		_, err := s.read(n)
		return err
	}
	for n > 0 {
		step := min(n, windowSize/2)
		if _, err := s.read(step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

func (s *source) byte() (byte, error) {
	b, err := s.read(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// marked returns what was read since the mark, and moves the mark here.
func (s *source) marked() []byte {
	b := s.window[s.mark:s.pos]
	s.mark = s.pos
	return b
}

// checksum returns the checksum of what was read.
func (s *source) checksum() uint64 {
	s.sum = dump.Checksum(s.sum, s.window[s.summed:s.pos])
	s.summed = s.pos
	return s.sum
}

// longestLength is the maximum encoded size of a length.
const longestLength = 9

// length reads a length, or the encoding of a string.
func (s *source) length() (n uint64, isEncoding bool, err error) {
	if err := s.ensure(min(longestLength, s.left())); err != nil {
		return 0, false, err
	}
	r := dump.Reader{Rest: s.window[s.pos:]}
	n, isEncoding, err = r.Length()
	s.pos = len(s.window) - len(r.Rest)
	return n, isEncoding, err
}

// count reads a length that is not an encoding.
func (s *source) count() (uint64, error) {
	n, isEncoding, err := s.length()
	if err == nil && isEncoding {
		err = dump.ErrFormat
	}
	return n, err
}

// passText skips a string. It validates compressed ones.
func (s *source) passText() error {
	_, err := s.passSized()
	return err
}

// passSized is passText and returns the length of the string, or a positive number if it is an integer.
func (s *source) passSized() (size uint64, err error) {
	n, isEncoding, err := s.length()
	switch {
	case err != nil:
		return 0, err
	case !isEncoding:
		if n > uint64(s.left()) {
			return 0, dump.ErrShort
		}
		return n, s.skip(int64(n))
	case n < dump.EncodedLZF:
		return 1, s.skip(1 << n)
	case n > dump.EncodedLZF:
		return 0, dump.ErrFormat
	}
	packed, size, err := s.compressed()
	if err != nil {
		return 0, err
	}
	return size, dump.CheckLZF(packed, size)
}

// compressed reads the rest of a compressed string, after its encoding.
func (s *source) compressed() (packed []byte, size uint64, err error) {
	length, err := s.count()
	if err != nil {
		return nil, 0, err
	}
	if size, err = s.count(); err != nil {
		return nil, 0, err
	}
	if length > uint64(s.left()) {
		return nil, 0, dump.ErrShort
	}
	packed, err = s.read(int64(length))
	return packed, size, err
}

// text reads and decodes a string. The result is valid until the next call of any
// method. It moves the mark.
func (s *source) text() ([]byte, error) {
	s.mark = s.pos
	err := s.passText()
	r := dump.Reader{Rest: s.marked()}
	s.mark = -1
	if err != nil {
		return nil, err
	}
	return r.Bytes()
}
