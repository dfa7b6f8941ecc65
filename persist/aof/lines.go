package aof

import (
	"bytes"
	"hash/crc32"
	"strconv"
)

// headerRoom is the maximum length of a batch header, with MULTI behind it.
const headerRoom = 64 + len(multi)

const (
	multi = "*1\r\n$5\r\nMULTI\r\n"
	exec  = "*1\r\n$4\r\nEXEC\r\n"
)

const (
	ownPrefix     = "#Z"
	headerPrefix  = "#ZL:"
	trailerPrefix = "#ZC:"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendInstant appends a line that tells a loader that the writer's clock read nowMs.
// A base made of commands begins with it. A base in RDB form has a field for it.
func AppendInstant(buf []byte, nowMs int64) []byte { return appendHeader(buf, nowMs, 0) }

func appendHeader(buf []byte, nowMs, synced int64) []byte {
	buf = append(buf, headerPrefix...)
	buf = strconv.AppendInt(buf, nowMs, 10)
	buf = append(buf, ':')
	buf = strconv.AppendInt(buf, synced, 10)
	return append(buf, "\r\n"...)
}

func appendTrailer(buf []byte, length int, sum uint32) []byte {
	const hex = "0123456789abcdef"
	buf = append(buf, trailerPrefix...)
	buf = strconv.AppendInt(buf, int64(length), 10)
	buf = append(buf, ':')
	for shift := 28; shift >= 0; shift -= 4 {
		buf = append(buf, hex[sum>>shift&15])
	}
	return append(buf, "\r\n"...)
}

// parseHeader parses a line without its CRLF.
func parseHeader(line []byte) (nowMs, synced int64, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(headerPrefix))
	now, at, found := bytes.Cut(line, []byte(":"))
	if !ok || !found {
		return 0, 0, false
	}
	nowMs, err := strconv.ParseInt(string(now), 10, 64)
	synced, err2 := strconv.ParseInt(string(at), 10, 64)
	return nowMs, synced, err == nil && err2 == nil && synced >= 0
}

func parseTrailer(line []byte) (length int64, sum uint32, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(trailerPrefix))
	n, hex, found := bytes.Cut(line, []byte(":"))
	if !ok || !found || len(hex) != 8 {
		return 0, 0, false
	}
	length, err := strconv.ParseInt(string(n), 10, 64)
	s, err2 := strconv.ParseUint(string(hex), 16, 32)
	return length, uint32(s), err == nil && err2 == nil && length >= 0
}
