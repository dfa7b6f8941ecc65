package aof

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// sector is the least that a disk writes as a whole.
const sector = 512

// report is what survey finds in a file.
type report struct {
	size     int64
	ok       int64 // end of the last whole group before the flaw; size when there is none
	commands int64
	lines    int64
	nowMs    int64 // the latest instant before ok
	synced   int64 // up to where the file says itself that it is on disk; -1 when it says nothing
	flaw     *flaw
	torn     bool // the flaw is at a tail that nobody was promised
}

// survey reads a file of commands from an offset to its end and carries out
// nothing. It is linear.
//
// A tail is torn, and not damaged, if the file ends in the middle of a group, or
// if what breaks it is a stretch of zeros up to the end of a sector: that is
// what a file system leaves of writes that were under way when the power went,
// in any order, when its own idea of the file's length came further than they
// did. Where a later line says that the place had been on disk for certain, it
// is damage all the same. Inside a value such a stretch breaks nothing: there a
// whole sector of zeros in a batch without its checksum, which a value seldom
// has by itself, ends the file.
func survey(f io.ReaderAt, from, size int64) (report, error) {
	s := surveyor{r: newReader(f, from, size), report: report{size: size, ok: from, synced: -1}, group: -1, batch: -1, hole: -1}
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
		if s.take(it); s.flaw != nil {
			break
		}
	}
	s.lines = s.r.lines
	if s.flaw != nil && s.batch >= 0 && s.ok == s.batchEnd {
		s.ok = s.batch // a line that nothing follows goes, too
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

type surveyor struct {
	report
	r        *reader
	group    int64 // where the MULTI began that is open; -1: none
	batch    int64 // where the batch began that is open; -1: none
	batchEnd int64 // end of the line that it began with
	piece    int64 // where the last argument began
	sum      uint32
	hole     int64 // where the first group of the batch began that has a sector of zeros; -1: none
}

// take goes on by one item.
func (s *surveyor) take(it item) {
	if it.args == nil {
		s.line(it)
	} else {
		s.command(it)
	}
	if s.flaw == nil && s.group < 0 {
		s.ok = it.end
	}
}

func (s *surveyor) line(it item) {
	if now, synced, ok := parseLead(it.line()); ok {
		s.nowMs, s.synced = max(s.nowMs, now), max(s.synced, synced)
		s.batch, s.batchEnd, s.hole = it.off, it.end, -1
		s.sum = crc32.Checksum(it.raw, castagnoli)
		return
	}
	if length, sum, ok := parseTrail(it.line()); ok {
		if s.batch < 0 || length != it.off-s.batch || sum != s.sum {
			s.flaw = &flaw{item: s.batch, piece: it.off, at: it.off, text: "Checksum of the batch before does not match"}
			if s.batch < 0 {
				s.flaw.item = it.off
			}
			if s.torn = s.hole >= 0; s.torn {
				s.cutAtHole()
			} else {
				s.ok = s.flaw.item
			}
			return
		}
		s.batch, s.batchEnd, s.hole = -1, 0, -1
		return
	}
	if bytes.HasPrefix(it.raw, []byte(ownPrefix)) {
		s.flaw = &flaw{item: it.off, piece: it.off, at: it.off, text: "A line that begins with " + ownPrefix + " and is none of ours"}
		return
	}
	s.sum = crc32.Update(s.sum, castagnoli, it.raw)
}

func (s *surveyor) command(it item) {
	s.piece = s.r.piece
	s.sum = crc32.Update(s.sum, castagnoli, it.raw)
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

// checkHole remembers the first group of a batch with a sector of zeros.
func (s *surveyor) checkHole(it item) {
	if s.batch < 0 || s.hole >= 0 || !hasZeroSector(it.raw, it.off) {
		return
	}
	s.hole = it.off
	if s.group >= 0 {
		s.hole = s.group
	}
}

func (s *surveyor) cutAtHole() {
	if s.hole >= 0 {
		s.ok = min(s.ok, s.hole)
	}
}

func (s *surveyor) atEnd() {
	switch {
	case s.group >= 0:
		s.flaw = &flaw{item: s.group, piece: s.piece, at: s.size, short: true, text: "Reached EOF before reading EXEC for MULTI"}
	case s.hole >= 0:
		s.flaw = &flaw{item: s.hole, piece: s.size, at: s.size, short: true, text: textHole}
	default:
		return
	}
	s.torn = true
	s.cutAtHole()
}

// isWord tells whether a command has this name, in any case.
func isWord(args [][]byte, name string) bool {
	return len(args[0]) == len(name) && strings.EqualFold(string(args[0]), name)
}

// hasZeroSector tells whether bytes of a file at an offset cover a sector that is all zeros.
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

// zerosAt tells whether a file is zeros from an offset to the end of the sector.
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

// provedSynced tells whether a line after from says that the file was on disk
// beyond ok.
func provedSynced(f io.ReaderAt, ok, from, size int64) (bool, error) {
	found := false
	err := leadsAfter(f, from, size, func(_ int64, synced int64) bool {
		found = synced > ok
		return !found
	})
	return found, err
}

// leadsAfter looks for lines that begin a batch, whatever is between them, until
// visit says no.
func leadsAfter(f io.ReaderAt, from, size int64, visit func(off, synced int64) bool) error {
	buf := make([]byte, min(readSize, max(0, size-from)))
	const overlap = leadRoom + 2
	for from < size {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		part := buf[:n]
		for at := 0; ; {
			i := bytes.Index(part[at:], []byte("\n"+leadPrefix))
			if i < 0 {
				break
			}
			at += i + 1
			line := part[at:min(len(part), at+leadRoom)]
			text, _, ended := bytes.Cut(line, []byte("\r\n"))
			if _, synced, ok := parseLead(text); ended && ok && synced <= from+int64(at) {
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

// tail describes what would be cut off: how many keys it is about, the first of
// them by name.
func tail(f io.ReaderAt, from, size int64, keysOf func([][]byte) [][]byte) (int, []string, error) {
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
			if it.args != nil && !isWord(it.args, "multi") && !isWord(it.args, "exec") && !isWord(it.args, "select") {
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
		if err := leadsAfter(f, bad.at, size, func(off, _ int64) bool { from = off; return false }); err != nil {
			return 0, nil, err
		}
	}
	return len(seen), names, nil
}

// firstArgument is the key of most commands.
func firstArgument(args [][]byte) [][]byte {
	if len(args) < 2 {
		return nil
	}
	return args[1:2]
}
