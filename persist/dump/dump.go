// Package dump reads and writes the pieces that Redis serializes values with:
// its lengths and strings, LZF compression, and the footer of version and
// CRC64. FUNCTION DUMP, DUMP and dump.rdb are made of them. It knows no types
// of values and no commands.
package dump

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
	"strconv"
)

// Version is the RDB version that is written: that of Redis 7.0.
const Version = 10

// Newest is the newest RDB version that is understood: that of Redis 7.2, which
// differs from 7.0's by the sets that it keeps in listpacks.
const Newest = 11

// Errors of what is read.
var (
	ErrFooter = errors.New("payload version or checksum are wrong")
	ErrShort  = errors.New("data ends early")
	ErrFormat = errors.New("data is malformed")
)

// Redis' checksum is CRC-64/Jones without complements.
var table = crc64.MakeTable(0x95ac9329ac4bc9b5)

// Checksum returns the CRC64 of what has the checksum crc, followed by p.
func Checksum(crc uint64, p []byte) uint64 { return ^crc64.Update(^crc, table, p) }

// AppendFooter closes a payload.
func AppendFooter(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, Version)
	return binary.LittleEndian.AppendUint64(b, Checksum(0, b))
}

// FooterSize is the number of bytes that AppendFooter appends.
const FooterSize = 2 + 8

// Open checks a payload's footer and returns what stands before it.
func Open(b []byte) ([]byte, error) {
	end := len(b) - FooterSize
	if end < 0 || VersionOf(b) > Newest || binary.LittleEndian.Uint64(b[end+2:]) != Checksum(0, b[:end+2]) {
		return nil, ErrFooter
	}
	return b[:end], nil
}

// VersionOf returns the version that a payload's footer names. There must be
// one.
func VersionOf(b []byte) int { return int(binary.LittleEndian.Uint16(b[len(b)-FooterSize:])) }

// The two high bits of a length's first byte.
const (
	bits6, bits14 = 0, 1
	wide          = 2
	encoded       = 3
)

const length32, length64 = 0x80, 0x81

// Encodings of a string, in the low bits of a byte that is no length.
const (
	encodedInt8 = iota
	encodedInt16
	encodedInt32

	// EncodedLZF is the encoding of a compressed string.
	EncodedLZF
)

// A Reader takes values from the front of a payload. Nothing it returns is
// larger than what the bytes that follow can hold.
type Reader struct{ Rest []byte }

func (r *Reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.Rest)) {
		return nil, ErrShort
	}
	b := r.Rest[:n]
	r.Rest = r.Rest[n:]
	return b, nil
}

// Byte takes one byte.
func (r *Reader) Byte() (byte, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// Length takes a length, or, where isEncoding, what tells how a string that
// follows is encoded.
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

// String takes a string in any of its encodings.
func (r *Reader) String() (string, error) {
	b, err := r.Bytes()
	return string(b), err
}

// Bytes is String. What it returns may be a part of Rest.
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

// LZF takes what follows where a string's encoding is EncodedLZF: the
// compressed bytes, and how many they say they are.
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
