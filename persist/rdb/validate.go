package rdb

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/zlimit/zlimit/persist/dump"
)

// A validator walks over values and checks their structure. If emit is set, it passes
// what it validated to the library in small pieces: plain sequences as they are, packed
// values as smaller packs of their kind.
//
// It presents a hash as a list, because the library would lose the order of the fields,
// and does so for types that are written alike.
type validator struct {
	src   source
	emit  func(piece) error   // receives pieces; nil: validate only
	units func([]int64) error // receives units of a log; nil with emit

	log []int64 // scratch
}

// A piece is a part of a value as passed to the library.
type piece struct {
	typ   byte
	count int    // number of elements, if the type is written with it
	head  []byte // precedes body: the header of a pack
	body  []byte
	tail  []byte
}

const (
	pieceElements = 512      // maximum elements of a piece
	pieceBytes    = 32 << 10 // size above which no element is added
)

// counted returns the function that validates a length and that many elements, each of
// so many strings. The library gets them as values of the type.
func counted(typ byte, strings int, pass func(*source) error) func(*validator) error {
	return func(f *validator) error {
		n, err := f.src.count()
		if err != nil {
			return err
		}
		if n == 0 {
			return errEmpty
		}
		return f.sequence(typ, n, strings, pass)
	}
}

// entries validates a length and that many members with binary scores.
func (f *validator) entries() error {
	n, err := f.src.count()
	if err != nil {
		return err
	}
	if n == 0 {
		return errEmpty
	}
	if n, err = f.logEntries(n); err != nil {
		return err
	}
	return f.sequence(typeZSet2, n, 1, (*source).passEntry)
}

func (f *validator) sequence(typ byte, n uint64, strings int, pass func(*source) error) error {
	if f.emit != nil {
		f.src.mark = f.src.pos
		defer func() { f.src.mark = -1 }()
	}
	in := 0
	for i := range n {
		if err := pass(&f.src); err != nil {
			return err
		}
		if f.emit == nil {
			continue
		}
		in++
		if in == pieceElements || f.src.pos-f.src.mark >= pieceBytes || i == n-1 {
			if err := f.emit(piece{typ: typ, count: in * strings, body: f.src.marked()}); err != nil {
				return err
			}
			in = 0
		}
	}
	return nil
}

// passPair skips a field and its value.
func (s *source) passPair() error {
	if err := s.passText(); err != nil {
		return err
	}
	return s.passText()
}

// passEntry skips a member and its binary score.
func (s *source) passEntry() error {
	if err := s.passText(); err != nil {
		return err
	}
	b, err := s.read(8)
	if err == nil && math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(b))) {
		return corrupt(badScore)
	}
	return err
}

// passDecimalEntry skips a member and its decimal score: a length byte and that many
// digits, or one of three bytes that stand for a value.
func (s *source) passDecimalEntry() error {
	const (
		minusInf = 255
		plusInf  = 254
		nan      = 253
	)
	if err := s.passText(); err != nil {
		return err
	}
	size, err := s.byte()
	switch {
	case err != nil:
		return err
	case size == nan || size == 0:
		return corrupt(badScore)
	case size == plusInf || size == minusInf:
		return nil
	}
	return s.skip(int64(size))
}

// A passPack validates a pack whose elements belong together in groups of per. The
// library gets them as packs of the type.
type passPack func(f *validator, pack []byte, typ byte, per int) error

// packed returns the function that validates a string that is a pack.
func packed(pass passPack, typ byte, per int) func(*validator) error {
	return func(f *validator) error {
		pack, err := f.src.text()
		if err != nil {
			return err
		}
		return pass(f, pack, typ, per)
	}
}

// nodesOf returns the function that validates the nodes of a list. A list is empty if
// all nodes are.
func nodesOf(node func(*validator) error) func(*validator) error {
	return func(f *validator) error {
		n, err := f.src.count()
		if err != nil {
			return err
		}
		empty := true
		for range n {
			err := node(f)
			if err == nil {
				empty = false
			} else if !errors.Is(err, errEmpty) {
				return err
			}
		}
		if empty {
			return errEmpty
		}
		return nil
	}
}

var packedNode = packed((*validator).listpack, typeListQuicklist2, 1)

// node validates a node of a list of version 10 or later.
func (f *validator) node() error {
	kind, err := f.src.count()
	if err != nil {
		return err
	}
	switch kind {
	case containerPlain:
		return f.sequence(typeList, 1, 1, (*source).passPlain)
	case containerPacked:
		return packedNode(f)
	}
	return corrupt(badNode)
}

// passPlain skips the element of a plain node, which has at least a byte.
func (s *source) passPlain() error {
	size, err := s.passSized()
	if err == nil && size == 0 {
		return corrupt(badElement)
	}
	return err
}

// zipmap validates a packed hash of Redis before 2.6. The library misreads lengths of
// more than a byte, so it gets a list.
//
// A zipmap is its number of pairs in a byte (254: too many to say), the pairs, and 255.
// A pair is the field with its length, then the length of the value, the number of free
// bytes after it, the value and those bytes.
func (f *validator) zipmap(pack []byte, typ byte, per int) error {
	if len(pack) < 2 {
		return corrupt(badPack)
	}
	headerCount, rest := int(pack[0]), pack[1:]
	pairs, in := 0, 0
	var body []byte
	for {
		if len(rest) == 0 {
			return corrupt(badElement)
		}
		done := rest[0] == zipmapEnd
		if f.emit != nil && in > 0 && (done || in == pieceElements || len(body) >= pieceBytes) {
			if err := f.emit(piece{typ: typ, count: per * in, body: body}); err != nil {
				return err
			}
			in, body = 0, body[:0]
		}
		if done {
			break
		}
		field, after, ok := zipmapText(rest, false)
		if !ok {
			return corrupt(badElement)
		}
		value, after, ok := zipmapText(after, true)
		if !ok {
			return corrupt(badElement)
		}
		rest = after
		if f.emit != nil {
			body = dump.AppendString(dump.AppendString(body, field), value)
		}
		pairs, in = pairs+1, in+1
	}
	switch {
	case len(rest) != 1:
		return corrupt(badPack)
	case pairs == 0:
		return errEmpty
	case headerCount < zipmapLong && headerCount != pairs:
		return corrupt(badCount)
	}
	return nil
}

const (
	zipmapLong = 254 // a length of four bytes follows
	zipmapEnd  = 255
)

// zipmapText reads a field, or a value with its free bytes.
func zipmapText(b []byte, isValue bool) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] == zipmapEnd {
		return nil, nil, false
	}
	size, b := uint64(b[0]), b[1:]
	if size == zipmapLong {
		if len(b) < 4 {
			return nil, nil, false
		}
		size, b = uint64(binary.LittleEndian.Uint32(b)), b[4:]
	}
	free := uint64(0)
	if isValue {
		if len(b) == 0 {
			return nil, nil, false
		}
		free, b = uint64(b[0]), b[1:]
	}
	if size+free > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:size], b[size+free:], true
}
