// Package dump reads and writes the parts of Redis' serialization: lengths and strings,
// LZF compression, and the footer of version and CRC64. FUNCTION DUMP, DUMP and
// dump.rdb are made of them. It knows no types of values and no commands.
//
// This package is internal to zlimit: it may change in any release.
package dump

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"strconv"
)

// Version is the RDB version written: that of Redis 7.0.
const Version = 10

// Newest is the newest RDB version understood: that of Redis 7.2, which adds sets in
// listpacks to 7.0's.
const Newest = 11

// Errors of malformed payloads.
var (
	ErrFooter = errors.New("payload version or checksum are wrong")
	ErrShort  = errors.New("data ends early")
	ErrFormat = errors.New("data is malformed")
)

// table is of Redis' checksum, CRC-64/Jones without complements.
var table = crc64.MakeTable(0x95ac9329ac4bc9b5)

// Checksum extends the CRC64 crc by p.
func Checksum(crc uint64, p []byte) uint64 { return ^crc64.Update(^crc, table, p) }

// AppendFooter appends the footer to a payload.
func AppendFooter(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, Version)
	return binary.LittleEndian.AppendUint64(b, Checksum(0, b))
}

// FooterSize is the number of bytes that AppendFooter appends.
const FooterSize = 2 + 8

// Open checks a payload's footer and returns the payload without it.
func Open(b []byte) ([]byte, error) {
	if len(b) < FooterSize || VersionOf(b) > Newest {
		return nil, ErrFooter
	}
	return OpenAny(b)
}

// OpenAny is Open for a payload of whatever version. Its types may be unknown.
func OpenAny(b []byte) ([]byte, error) {
	end := len(b) - FooterSize
	if end < 0 || binary.LittleEndian.Uint64(b[end+2:]) != Checksum(0, b[:end+2]) {
		return nil, ErrFooter
	}
	return b[:end], nil
}

// VersionOf returns the version in a payload's footer. b must have a footer.
func VersionOf(b []byte) int { return int(binary.LittleEndian.Uint16(b[len(b)-FooterSize:])) }

// The two high bits of a length's first byte.
const (
	bits6, bits14 = 0, 1
	wide          = 2
	encoded       = 3
)

const length32, length64 = 0x80, 0x81

// Encodings of a string, in the low bits of the first byte.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32

	// EncodedLZF is the encoding of a compressed string.
	EncodedLZF
)

// A Reader decodes values from the front of a payload. It returns nothing larger than
// the remaining bytes can hold.
type Reader struct{ Rest []byte }

func (r *Reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.Rest)) {
		return nil, ErrShort
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b, nil
}

// Byte reads one byte.
func (r *Reader) Byte() (byte, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// Length reads a length or, if isEncoding, the encoding of the string that follows.
func (r *Reader) Length() (n uint64, isEncoding bool, err error) {
	first, err := r.Byte()
	if err != nil {
		return 0, false, err
	}
	size := uint64(0)
	switch first >> 6 {
	case bits6:
		return uint64(first), false, nil
	case encoded:
		return uint64(first & 0x3f), true, nil
	case bits14:
		low, err := r.Byte()
		return uint64(first&0x3f)<<8 | uint64(low), false, err
	}
	switch first {
	case length32:
		size = 4
	case length64:
		size = 8
	default:
		return 0, false, ErrFormat
	}
	b, err := r.take(size)
	for _, ch := range b {
		n = n<<8 | uint64(ch)
	}
	return n, false, err
}

// String reads a string in any encoding.
func (r *Reader) String() (string, error) {
	b, err := r.Bytes()
	return string(b), err
}

// Bytes is String. Its result may be a part of Rest.
func (r *Reader) Bytes() ([]byte, error) {
	n, isEncoding, err := r.Length()
	if err != nil {
		return nil, err
	}
	if !isEncoding {
		return r.take(n)
	}
	switch n {
	case encodedInt8, encodedInt16, encodedInt32:
		b, err := r.take(1 << n)
		if err != nil {
			return nil, err
		}
		var wide [4]byte
		copy(wide[4-len(b):], b)
		shift := 32 - 8*len(b)
		return strconv.AppendInt(nil, int64(int32(binary.LittleEndian.Uint32(wide[:]))>>shift), 10), nil
	case EncodedLZF:
		packed, size, err := r.LZF()
		if err != nil {
			return nil, err
		}
		return Decompress(packed, size)
	}
	return nil, ErrFormat
}

// LZF reads what follows EncodedLZF: the compressed bytes and their original size.
func (r *Reader) LZF() (packed []byte, size uint64, err error) {
	length, isEncoding, err := r.Length()
	if err == nil && !isEncoding {
		size, isEncoding, err = r.Length()
	}
	if err != nil {
		return nil, 0, err
	}
	if isEncoding {
		return nil, 0, ErrFormat
	}
	packed, err = r.take(length)
	return packed, size, err
}
