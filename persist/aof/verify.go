package aof

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// sector is the smallest unit that a disk writes atomically.
const sector = 512

// report is the result of verify.
type report struct {
	size     int64
	ok       int64 // end of the last whole group before the flaw; size when there is none
	commands int64
	lines    int64
	nowMs    int64 // the latest instant before ok
	synced   int64 // length that the file itself says is on disk; -1 if it says nothing
	flaw     *flaw
	torn     bool // the flaw is in a tail that nobody was promised
}

// verify reads a file of commands from an offset to its end without executing anything.
// It takes linear time.
//
// A tail is torn, and not damaged, if the file ends within a group, or if zeros up to
// the end of a sector break it. File systems leave such zeros for writes that were
// under way at a power cut, in any order, when the recorded length ran ahead of the
// data. If a later line proves that the place had been on disk, it is damage. Zeros
// inside a value break no syntax. There a whole sector of zeros in a batch without its
// checksum ends the file; values seldom hold one.
func verify(f io.ReaderAt, from, size int64) (report, error) {
	s := verifier{
		r: newReader(f, from, size), report: report{size: size, ok: from, synced: -1}, group: -1,
		batch: noBatch,
	}
	for {
		it, err := s.r.next()
		if errors.Is(err, io.EOF) {
			s.atEnd()
			break
		}
		var bad *flaw
		if errors.As(err, &bad) {
			if bad.err != nil {
				return s.report, bad.err
			}
			s.flaw, s.torn = bad, bad.short
			if !bad.short {
				if s.torn, err = zerosAt(f, bad.at, size); err != nil {
					return s.report, err
				}
			}
			s.cutAtHole()
			break
		}
		if s.add(it); s.flaw != nil {
			break
		}
	}
	s.lines = s.r.lines
	if s.flaw != nil && s.batch.off >= 0 && s.ok == s.batch.headerEnd {
		s.ok = s.batch.off // a header that nothing follows goes, too
	}
	if s.torn {
		proved, err := provedSynced(f, s.ok, max(s.ok, min(s.flaw.at, size)), size)
		if err != nil {
			return s.report, err
		}
		if proved {
			s.torn = false
			s.flaw.text += ", in a part that had been synced"
		}
	}
	return s.report, nil
}

type verifier struct {
	report
	r     *reader
	group int64 // offset of the open MULTI; -1: none
	batch batch
	piece int64 // offset of the last argument
}

// A batch is the groups between a header and a trailer.
type batch struct {
	off       int64 // of the header; -1: none is open
	headerEnd int64
	sum       uint32
	hole      int64 // offset of the first group with a sector of zeros; -1: none
}

var noBatch = batch{off: -1, hole: -1}

// extend counts bytes after the header in the checksum.
func (b *batch) extend(raw []byte) { b.sum = crc32.Update(b.sum, castagnoli, raw) }

// matches reports whether a trailer at an offset is that of the batch.
func (b *batch) matches(off, length int64, sum uint32) bool {
	return b.off >= 0 && length == off-b.off && sum == b.sum
}

// add processes one item.
func (s *verifier) add(it item) {
	if it.args == nil {
		s.line(it)
	} else {
		s.command(it)
	}
	if s.flaw == nil && s.group < 0 {
		s.ok = it.end
	}
}

func (s *verifier) line(it item) {
	if now, synced, ok := parseHeader(it.line()); ok {
		s.nowMs, s.synced = max(s.nowMs, now), max(s.synced, synced)
		s.batch = batch{off: it.off, headerEnd: it.end, hole: -1, sum: crc32.Checksum(it.raw, castagnoli)}
		return
	}
	if length, sum, ok := parseTrailer(it.line()); ok {
		if !s.batch.matches(it.off, length, sum) {
			s.flaw = &flaw{
				item: s.batch.off, piece: it.off, at: it.off,
				text: "Checksum of the batch before does not match",
			}
			if s.batch.off < 0 {
				s.flaw.item = it.off
			}
			if s.torn = s.batch.hole >= 0; s.torn {
				s.cutAtHole()
			} else {
				s.ok = s.flaw.item
			}
			return
		}
		s.batch = noBatch
		return
	}
	if bytes.HasPrefix(it.raw, []byte(ownPrefix)) {
		s.flaw = &flaw{
			item: it.off, piece: it.off, at: it.off,
			text: "A line that begins with " + ownPrefix + " and is none of ours",
		}
		return
	}
	s.batch.extend(it.raw)
}

func (s *verifier) command(it item) {
	s.piece = s.r.piece
	s.batch.extend(it.raw)
	switch begins, ends := isWord(it.args, "multi"), isWord(it.args, "exec"); {
	case begins && s.group >= 0:
		s.flaw = &flaw{item: it.off, piece: s.r.piece, at: it.off, text: "Unexpected MULTI"}
		return
	case ends && s.group < 0:
		s.flaw = &flaw{item: it.off, piece: s.r.piece, at: it.off, text: "Unexpected EXEC"}
		return
	case begins:
		s.group = it.off
	case ends:
		s.checkHole(it)
		s.group = -1
		return
	default:
		s.commands++
	}
	s.checkHole(it)
}

// checkHole records the first group of a batch that has a sector of zeros.
func (s *verifier) checkHole(it item) {
	if s.batch.off < 0 || s.batch.hole >= 0 || !hasZeroSector(it.raw, it.off) {
		return
	}
	s.batch.hole = it.off
	if s.group >= 0 {
		s.batch.hole = s.group
	}
}

func (s *verifier) cutAtHole() {
	if s.batch.hole >= 0 {
		s.ok = min(s.ok, s.batch.hole)
	}
}

func (s *verifier) atEnd() {
	switch {
	case s.group >= 0:
		s.flaw = &flaw{
			item: s.group, piece: s.piece, at: s.size, short: true,
			text: "Reached EOF before reading EXEC for MULTI",
		}
	case s.batch.hole >= 0:
		s.flaw = &flaw{item: s.batch.hole, piece: s.size, at: s.size, short: true, text: textHole}
	default:
		return
	}
	s.torn = true
	s.cutAtHole()
}

// isWord reports whether args is the named command, in any case.
func isWord(args [][]byte, name string) bool {
	return len(args[0]) == len(name) && strings.EqualFold(string(args[0]), name)
}

// hasZeroSector reports whether raw, at offset off of a file, covers a sector of zeros.
func hasZeroSector(raw []byte, off int64) bool {
	for at := (sector - off%sector) % sector; at+sector <= int64(len(raw)); at += sector {
		if allZero(raw[at : at+sector]) {
			return true
		}
	}
	return false
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// zerosAt reports whether a file is zero from an offset to the end of the sector.
func zerosAt(f io.ReaderAt, at, size int64) (bool, error) {
	var b [sector]byte
	n := min(sector-at%sector, size-at)
	if n <= 0 {
		return false, nil
	}
	if _, err := f.ReadAt(b[:n], at); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return allZero(b[:n]), nil
}

// provedSynced reports whether a header after from says that the file was on disk
// beyond ok.
func provedSynced(f io.ReaderAt, ok, from, size int64) (bool, error) {
	found := false
	err := headersAfter(f, from, size, func(_ int64, synced int64) bool {
		found = synced > ok
		return !found
	})
	return found, err
}

// headersAfter finds batch headers, whatever is between them, until visit returns
// false.
func headersAfter(f io.ReaderAt, from, size int64, visit func(off, synced int64) bool) error {
	buf := make([]byte, min(readSize, max(0, size-from)))
	const overlap = headerRoom + 2
	for from < size {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		part := buf[:n]
		for at := 0; ; {
			i := bytes.Index(part[at:], []byte("\n"+headerPrefix))
			if i < 0 {
				break
			}
			at += i + 1
			line := part[at:min(len(part), at+headerRoom)]
			text, _, ended := bytes.Cut(line, []byte("\r\n"))
			if _, synced, ok := parseHeader(text); ended && ok && synced <= from+int64(at) {
				if !visit(from+int64(at), synced) {
					return nil
				}
			}
		}
		if n <= overlap || from+int64(n) >= size {
			return nil
		}
		from += int64(n - overlap)
	}
	return nil
}

// describeTail returns how many keys a tail concerns and the names of the first ones.
func describeTail(f io.ReaderAt, from, size int64, keysOf func([][]byte) [][]byte) (int, []string, error) {
	const named = 8
	seen := make(map[string]bool)
	var names []string
	note := func(args [][]byte) {
		for _, key := range keysOf(args) {
			if k := string(key); !seen[k] {
				seen[k] = true
				if len(names) < named {
					names = append(names, fmt.Sprintf("%.64q", k))
				}
			}
		}
	}
	for from < size {
		r := newReader(f, from, size)
		it, err := r.next()
		for ; err == nil; it, err = r.next() {
			if it.args != nil && !isWord(it.args, "multi") && !isWord(it.args, "exec") &&
				!isWord(it.args, "select") {
				note(it.args)
			}
		}
		var bad *flaw
		if !errors.As(err, &bad) {
			break
		}
		if bad.err != nil {
			return 0, nil, bad.err
		}
		if len(bad.args) > 1 && !isWord(bad.args, "select") {
			note(bad.args[:2])
		}
		if bad.short {
			break
		}
		from = size
		if err := headersAfter(f, bad.at, size,
			func(off, _ int64) bool { from = off; return false }); err != nil {
			return 0, nil, err
		}
	}
	return len(seen), names, nil
}

// firstArgument returns the key of most commands.
func firstArgument(args [][]byte) [][]byte {
	if len(args) < 2 {
		return nil
	}
	return args[1:2]
}
