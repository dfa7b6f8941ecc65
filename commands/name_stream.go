package commands

import (
	"fmt"
	"io"

	"github.com/zlimit/zlimit/resp"
)

// A nameStream is an array of bulk strings, encoded in pieces of a bounded size: a
// slice that grows to tens of megabytes would be copied again and again.
type nameStream struct {
	pieces [][]byte
	count  int
}

// namePiece is the size of a piece. Longer names have a piece of their own.
const namePiece = 64 << 10

// minNamePiece is the size of the first piece.
const minNamePiece = 256

// add appends a name.
func (s *nameStream) add(name string) {
	s.count++
	const mostHeader = len("$2147483647\r\n\r\n")
	need := mostHeader + len(name)
	last := len(s.pieces) - 1
	switch {
	case last < 0:
		s.pieces = append(s.pieces, make([]byte, 0, max(minNamePiece, need)))
		last = 0
	case cap(s.pieces[last])-len(s.pieces[last]) < need && cap(s.pieces[last]) >= namePiece:
		s.pieces = append(s.pieces, make([]byte, 0, max(namePiece, need)))
		last++
	}
	v := resp.Bulk(name)
	s.pieces[last] = resp.Append(s.pieces[last], &v, resp.RESP2) // a string is the same in both
}

// reply returns the array: at once if it is short, so that it goes with other replies
// of a pipeline.
func (s *nameStream) reply() resp.Value {
	if len(s.pieces) > 1 {
		return resp.Streamed(s)
	}
	b := fmt.Appendf(nil, "*%d\r\n", s.count)
	if s.count > 0 {
		b = append(b, s.pieces[0]...)
	}
	return resp.Encoded(b)
}

// WriteTo implements io.WriterTo for resp.Streamed. A piece that was written is freed.
func (s *nameStream) WriteTo(w io.Writer) (n int64, err error) {
	written, err := fmt.Fprintf(w, "*%d\r\n", s.count)
	n = int64(written)
	for i, piece := range s.pieces {
		if err != nil {
			return n, err
		}
		s.pieces[i] = nil
		written, err = w.Write(piece)
		n += int64(written)
	}
	return n, err
}
