package rdb

import (
	"errors"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
)

// windowSize is how much of a file is held where nothing larger is needed.
const windowSize = 64 << 10

// A source is an input of known size that is read from its start. It holds a
// window of it, which grows only to hold what is asked for and is there.
type source struct {
	from io.ReaderAt // nil: the window is all there is
	size int64

	window []byte
	base   int64 // the offset of the window's first byte
	pos    int   // in the window: what is read next
	mark   int   // in the window: what must stay begins here; -1: nothing

	sum    uint64 // checksum of what left the window
	summed int    // in the window: where the checksum goes on
}

func newSource(f io.ReaderAt, size int64) *source {
	return &source{from: f, size: size, mark: -1}
}

func (s *source) reset(payload []byte) {
	*s = source{size: int64(len(payload)), window: payload, mark: -1}
}

func (s *source) offset() int64 { return s.base + int64(s.pos) }
func (s *source) left() int64   { return s.size - s.offset() }

// need makes n bytes from pos on stand in the window.
func (s *source) need(n int64) error {
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
	room := s.window
	if cap(room) < wanted || cap(room) > windowSize && wanted <= windowSize/2 {
		room = make([]byte, min(int64(max(wanted, windowSize)), s.size-s.base-int64(keep)))
	}
	room = room[:cap(room)]
	copy(room, s.window[keep:])
	s.base += int64(keep)
	s.pos -= keep
	s.summed -= keep
	end := int(min(int64(len(room)), s.size-s.base))
	got, err := s.from.ReadAt(room[held:end], s.base+int64(held))
	s.window = room[:held+got]
	if held+got >= wanted {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // it is shorter than was said
	}
	return err
}

// take returns the next n bytes, good until the next call of anything.
func (s *source) take(n int64) ([]byte, error) {
	if err := s.need(n); err != nil {
		return nil, err
	}
	b := s.window[s.pos : s.pos+int(n)]
	s.pos += int(n)
	return b, nil
}

// skip passes over n bytes. It holds no more of them than the window does,
// unless there is a mark.
func (s *source) skip(n int64) error {
	if n > s.left() {
		return dump.ErrShort
	}
	if s.mark >= 0 {
		_, err := s.take(n)
		return err
	}
	for n > 0 {
		step := min(n, windowSize/2)
		if _, err := s.take(step); err != nil {
			return err
		}
		n -= step
	}
	return nil
}

func (s *source) byte() (byte, error) {
	b, err := s.take(1)
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

// checksum brings the checksum up to what was read, and returns it.
func (s *source) checksum() uint64 {
	s.sum = dump.Checksum(s.sum, s.window[s.summed:s.pos])
	s.summed = s.pos
	return s.sum
}

// longestLength is how many bytes a length takes at most.
const longestLength = 9

// length takes a length, or the encoding of a string.
func (s *source) length() (n uint64, isEncoding bool, err error) {
	if err := s.need(min(longestLength, s.left())); err != nil {
		return 0, false, err
	}
	r := dump.Reader{Rest: s.window[s.pos:]}
	n, isEncoding, err = r.Length()
	s.pos = len(s.window) - len(r.Rest)
	return n, isEncoding, err
}

// count takes a length that stands for no encoding.
func (s *source) count() (uint64, error) {
	n, isEncoding, err := s.length()
	if err == nil && isEncoding {
		err = dump.ErrFormat
	}
	return n, err
}

// passText passes over a string, compressed ones after a look at whether they
// are what they say.
func (s *source) passText() error {
	n, isEncoding, err := s.length()
	switch {
	case err != nil:
		return err
	case !isEncoding:
		if n > uint64(s.left()) {
			return dump.ErrShort
		}
		return s.skip(int64(n))
	case n < dump.EncodedLZF:
		return s.skip(1 << n)
	case n > dump.EncodedLZF:
		return dump.ErrFormat
	}
	packed, size, err := s.compressed()
	if err != nil {
		return err
	}
	return dump.CheckLZF(packed, size)
}

// compressed takes what a compressed string is after its encoding.
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
	packed, err = s.take(int64(length))
	return packed, size, err
}

// text takes a string and undoes its encoding. The result is good until the
// next call of anything. It moves the mark.
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
