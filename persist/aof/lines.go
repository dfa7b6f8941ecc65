package aof

import (
	"bytes"
	"hash/crc32"
	"strconv"
)

// leadRoom is what the line before a batch takes at most.
const leadRoom = 64

const (
	ownPrefix   = "#Z"
	leadPrefix  = "#ZL:"
	trailPrefix = "#ZC:"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendInstant appends the line that tells a loader that the clock of who
// wrote what follows stood at nowMs. A base in the form of commands begins with
// it; a base in Redis' binary form has the instant in a field of its own.
func AppendInstant(buf []byte, nowMs int64) []byte { return appendLead(buf, nowMs, 0) }

func appendLead(buf []byte, nowMs, synced int64) []byte {
	buf = append(buf, leadPrefix...)
	buf = strconv.AppendInt(buf, nowMs, 10)
	buf = append(buf, ':')
	buf = strconv.AppendInt(buf, synced, 10)
	return append(buf, "\r\n"...)
}

func appendTrail(buf []byte, length int, sum uint32) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, trailPrefix...)
	buf = strconv.AppendInt(buf, int64(length), 10)
	buf = append(buf, ':')
	for shift := 28; shift >= 0; shift -= 4 {
		buf = append(buf, hex[sum>>shift&15])
	}
	return append(buf, "\r\n"...)
}

// parseLead reads a line of a file, without its end.
func parseLead(line []byte) (nowMs, synced int64, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(leadPrefix))
	now, at, found := bytes.Cut(line, []byte(":"))
	if !ok || !found {
		return 0, 0, false
	}
	nowMs, err := strconv.ParseInt(string(now), 10, 64)
	synced, err2 := strconv.ParseInt(string(at), 10, 64)
	return nowMs, synced, err == nil && err2 == nil && synced >= 0
}

func parseTrail(line []byte) (length int64, sum uint32, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(trailPrefix))
	n, hex, found := bytes.Cut(line, []byte(":"))
	if !ok || !found || len(hex) != 8 {
		return 0, 0, false
	}
	length, err := strconv.ParseInt(string(n), 10, 64)
	s, err2 := strconv.ParseUint(string(hex), 16, 32)
	return length, uint32(s), err == nil && err2 == nil && length >= 0
}
