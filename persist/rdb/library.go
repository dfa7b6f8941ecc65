package rdb

import (
	"bufio"
	"fmt"
	"io"

	"github.com/hdt3213/rdb/parser"

	"github.com/zlimit/zlimit/persist/dump"
)

// A library decodes validated pieces. Each is presented to it as a file with one value
// under the empty key.
//
// So each value is walked twice. The library decodes well-formed input right but
// believes every length in it, and the validator decodes nothing: neither of them can be
// left out (docs/adr/0019).
type library struct {
	in   pieceReader
	buf  *bufio.Reader // the library uses it instead of allocating its own
	head []byte
	to   *builder
}

// libraryHeader begins the library's files. The version is one that has all types
// passed to it.
const libraryHeader = "REDIS0011"

// libraryEnd ends such a file. The library does not check the checksum.
var libraryEnd = []byte{opEOF, 0, 0, 0, 0, 0, 0, 0, 0}

// decode decodes a piece.
func (l *library) decode(p piece) error {
	h := append(l.head[:0], libraryHeader...)
	h = append(h, p.typ, 0)
	size := uint64(len(p.head) + len(p.body) + len(p.tail))
	switch {
	case p.count > 0:
		h = dump.AppendLength(h, uint64(p.count))
	case p.typ == typeListQuicklist2: // of one node
		h = dump.AppendLength(append(h, 1, containerPacked), size)
	default:
		h = dump.AppendLength(h, size)
	}
	l.head = append(h, p.head...)
	l.in = pieceReader{l.head, p.body, p.tail, libraryEnd}
	if l.buf == nil {
		l.buf = bufio.NewReader(&l.in)
	}
	l.buf.Reset(&l.in)

	var taken error
	seen := false
	err := parser.NewDecoder(l.buf).Parse(func(o parser.RedisObject) bool {
		seen = true
		taken = l.deliver(o)
		return taken == nil
	})
	switch {
	case taken != nil:
		return taken
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrCorrupt, badDecoder, err)
	case !seen:
		return corrupt(badDecoder)
	}
	return nil
}

// deliver passes a decoded object to the builder. Its slices are valid until deliver returns.
func (l *library) deliver(o parser.RedisObject) error {
	switch o := o.(type) {
	case *parser.ListObject:
		return l.to.elements(o.Values)
	case *parser.SetObject:
		return l.to.elements(o.Members)
	case *parser.ZSetObject:
		for _, e := range o.Entries {
			if err := l.to.zset.add(e.Member, e.Score); err != nil {
				return err
			}
		}
		return nil
	}
	return corrupt(badDecoder)
}

// pieceReader reads several slices in turn.
type pieceReader [4][]byte

func (r *pieceReader) Read(b []byte) (int, error) {
	for i := range r {
		if len(r[i]) > 0 {
			n := copy(b, r[i])
			r[i] = r[i][n:]
			return n, nil
		}
	}
	return 0, io.EOF
}
