package rdb_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/persist/rdb"
)

// The samples here are built by hand from the description of the format: what Redis 7.0
// reads but does not write, and what 7.2 writes. The recording says what redis-server
// made of them.

// payload returns a value of a type with a footer, as DUMP does.
func payload(version int, parts ...any) string {
	b := bytesOf(parts...)
	b = binary.LittleEndian.AppendUint16(b, uint16(version))
	return string(binary.LittleEndian.AppendUint64(b, dump.Checksum(0, b)))
}

// bytesOf concatenates ints, as bytes, and strings.
func bytesOf(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case string:
			b = append(b, p...)
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprint(p))
		}
	}
	return b
}

func text(s string) string { return string(dump.AppendString(nil, s)) }

// lzf returns a compressed string. s must be compressible.
func lzf(s string) string {
	var c dump.Compressor
	packed := c.Compress([]byte(s))
	if packed == nil {
		panic("does not compress: " + s)
	}
	b := append([]byte{0xc3}, dump.AppendLength(nil, uint64(len(packed)))...)
	return string(append(dump.AppendLength(b, uint64(len(s))), packed...))
}

// ziplist packs elements, with integers in as few bytes as possible.
func ziplist(elements ...any) string {
	b := make([]byte, 10)
	last := 10
	for _, e := range elements {
		before := last
		last = len(b)
		if previous := last - before; previous < 254 {
			b = append(b, byte(previous))
		} else {
			b = binary.LittleEndian.AppendUint32(append(b, 254), uint32(previous))
		}
		switch e := e.(type) {
		case int:
			switch n := int64(e); {
			case n >= 0 && n <= 12:
				b = append(b, 0xf1+byte(n))
			case n == int64(int8(n)):
				b = append(b, 0xfe, byte(n))
			case n == int64(int16(n)):
				b = binary.LittleEndian.AppendUint16(append(b, 0xc0), uint16(n))
			case n >= -1<<23 && n < 1<<23:
				b = append(b, 0xf0, byte(n), byte(n>>8), byte(n>>16))
			case n == int64(int32(n)):
				b = binary.LittleEndian.AppendUint32(append(b, 0xd0), uint32(n))
			default:
				b = binary.LittleEndian.AppendUint64(append(b, 0xe0), uint64(n))
			}
		case string:
			switch {
			case len(e) < 64:
				b = append(b, byte(len(e)))
			case len(e) < 1<<14:
				b = append(b, 0x40|byte(len(e)>>8), byte(len(e)))
			default:
				b = binary.BigEndian.AppendUint32(append(b, 0x80), uint32(len(e)))
			}
			b = append(b, e...)
		}
	}
	b = append(b, 0xff)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], uint32(last))
	binary.LittleEndian.PutUint16(b[8:], uint16(min(len(elements), 65535)))
	return string(b)
}

func zipmap(pairs ...string) string {
	b := []byte{byte(min(len(pairs)/2, 254))}
	for i, s := range pairs {
		if len(s) < 254 {
			b = append(b, byte(len(s)))
		} else {
			b = binary.LittleEndian.AppendUint32(append(b, 254), uint32(len(s)))
		}
		if i%2 == 1 {
			b = append(b, 2) // free bytes
		}
		b = append(b, s...)
		if i%2 == 1 {
			b = append(b, "??"...)
		}
	}
	return string(append(b, 255))
}

// listpackOf packs short texts and small integers.
func listpackOf(elements ...any) string {
	b := make([]byte, 6)
	for _, e := range elements {
		switch e := e.(type) {
		case int:
			b = append(b, byte(e), 1)
		case string:
			b = append(append(append(b, 0x80|byte(len(e))), e...), byte(len(e)+1))
		}
	}
	b = append(b, 0xff)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint16(b[4:], uint16(min(len(elements), 65535)))
	return string(b)
}

func binaryScore(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }

func manyOf(n int, element func(i int) []any) (out []any) {
	for i := range n {
		out = append(out, element(i)...)
	}
	return out
}

// A sample is a payload and its expected result or error.
type sample struct{ name, payload string }

func samples() []sample {
	long, longer := strings.Repeat("long ", 60), strings.Repeat("longer", 5000)
	ints := []any{
		0, 12, 13, -1, 127, -128, 128, 32767, -32768, 32768, 1<<23 - 1, -1 << 23, 1 << 23,
		math.MaxInt32, math.MinInt32, 1 << 31, math.MaxInt64, math.MinInt64,
	}
	var tooMany [70_000]any
	for i := range tooMany {
		tooMany[i] = i % 13
	}
	return []sample{
		{"string", payload(10, 0, text("hello"))},
		{"string, int8", payload(10, 0, 0xc0, 0x85)},
		{"string, int16", payload(9, 0, 0xc1, 0x00, 0x80)},
		{"string, int32", payload(3, 0, 0xc2, 0xff, 0xff, 0xff, 0x7f)},
		{"string, compressed", payload(6, 0, lzf(strings.Repeat("ab", 100)))},
		{"string, a number of ten digits as text", payload(6, 0, text("1234567890"))},
		{"string, its length in 64 bits", payload(10, 0, 0x81, 0, 0, 0, 0, 0, 0, 0, 1, "x")},
		{"list of strings", payload(6, 1, 3, text("a"), 0xc0, 7, lzf(long))},
		{"list, ziplist", payload(6, 10, text(ziplist(append(ints, "", "a", long, longer, "b")...)))},
		{"list, ziplist, compressed", payload(6, 10, lzf(ziplist("a", long, long)))},
		{"list, quicklist", payload(9, 14, 2, text(ziplist("a", 1)), text(ziplist(long, 70_000)))},
		{"list, quicklist with an empty ziplist", payload(9, 14, 2, text(ziplist()), text(ziplist("a")))},
		{"list, quicklist of empty ziplists", payload(9, 14, 2, text(ziplist()), text(ziplist()))},
		{
			"list, quicklist2",
			payload(10, 18, 3, 2, text(listpackOf("a", 1, "")), 1, text(long), 2,
				lzf(listpackOf(long[:60], long[:60]))),
		},
		{"list, quicklist2, an empty element alone", payload(10, 18, 1, 1, text(""))},
		{"list, quicklist2, an empty element", payload(10, 18, 2, 1, text("a"), 1, text(""))},
		{"list, quicklist2, a listpack of no bytes", payload(10, 18, 2, 1, text("a"), 2, text(""))},
		{"list, quicklist, a ziplist of no bytes", payload(9, 14, 2, text(ziplist("a")), text(""))},
		{"list, quicklist2, a node of an unknown kind", payload(10, 18, 1, 3, text(listpackOf("a")))},
		{"list, ziplist of 70,000", payload(6, 10, text(ziplist(tooMany[:]...)))},
		{"list, listpack of 70,000", payload(10, 18, 1, 2, text(listpackOf(tooMany[:]...)))},
		{"set", payload(6, 2, 3, text("a"), 0xc0, 7, lzf(long))},
		{"set of numbers", payload(6, 2, 2, 0xc0, 7, text("8"))},
		{"set, twice the same", payload(6, 2, 2, text("a"), text("a"))},
		{"set, twice the same number", payload(6, 2, 2, text("7"), 0xc0, 7)},
		{"set, intset", payload(6, 11, text(string(bytesOf(2, 0, 0, 0, 2, 0, 0, 0, 0xff, 0xff, 5, 0))))},
		{
			"set, intset of eight bytes",
			payload(6, 11, text(string(bytesOf(8, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)))),
		},
		{
			"set, intset out of order",
			payload(6, 11, text(string(bytesOf(2, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0xff, 0xff)))),
		},
		{
			"set, intset with a number twice",
			payload(6, 11, text(string(bytesOf(2, 0, 0, 0, 2, 0, 0, 0, 5, 0, 5, 0)))),
		},
		{
			"set, intset of three bytes",
			payload(6, 11, text(string(bytesOf(3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0)))),
		},
		{
			"set, intset that is too short",
			payload(6, 11, text(string(bytesOf(2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 6, 0)))),
		},
		{"set, empty intset", payload(6, 11, text(string(bytesOf(2, 0, 0, 0, 0, 0, 0, 0))))},
		{"hash", payload(6, 4, 2, text("f"), text("v"), 0xc0, 7, lzf(long))},
		{"hash, twice the same field", payload(6, 4, 2, text("f"), text("v"), text("f"), text("w"))},
		{"hash with a value of 65", payload(6, 4, 1, text("f"), text(strings.Repeat("x", 65)))},
		{
			"hash of 600 fields",
			payload(6, bytesOf(4, 0x42, 88),
				bytesOf(manyOf(600, func(i int) []any {
					return []any{text(strconv.Itoa(i)), text("v")}
				})...)),
		},
		{"hash, zipmap", payload(6, 9, text(zipmap("f", "v", "", "", "g", long, long, "x")))},
		{"hash, zipmap, twice the same field", payload(6, 9, text(zipmap("f", "v", "f", "w")))},
		{"hash, zipmap that ends early", payload(6, 9, text(zipmap("f", "v")[:5]))},
		{"hash, ziplist", payload(6, 13, text(ziplist("f", "v", 5, 70_000, "", "")))},
		{"hash, ziplist with a long value", payload(6, 13, text(ziplist("f", long)))},
		{"hash, ziplist, odd", payload(6, 13, text(ziplist("f", "v", "g")))},
		{"hash, ziplist, twice the same field", payload(6, 13, text(ziplist("f", "v", "f", "w")))},
		{
			"hash, ziplist of 600 fields",
			payload(6, 13, text(ziplist(manyOf(600, func(i int) []any { return []any{i, "v"} })...))),
		},
		{"hash, listpack", payload(10, 16, text(listpackOf("f", "v", 5, "", "g", 6)))},
		{
			"hash, listpack with a value of 65",
			payload(10, 16,
				text(string(bytesOf(78, 0, 0, 0, 2, 0, 0x81, "f", 2, 0xe0, 65, strings.Repeat("x", 65), 67,
					0xff)))),
		},
		{"hash, listpack, twice the same field", payload(10, 16, text(listpackOf("f", "v", "f", "w")))},
		{"hash, listpack, a number and its text", payload(10, 16, text(listpackOf("5", "v", 5, "w")))},
		{"hash, listpack, empty", payload(10, 16, text(listpackOf()))},
		{
			"hash, listpack with a wrong count",
			payload(10, 16, text(strings.Replace(listpackOf("f", "v"), "\x02\x00", "\x04\x00", 1))),
		},
		{
			"hash, listpack with an unknown count",
			payload(10, 16, text(strings.Replace(listpackOf("f", "v"), "\x02\x00", "\xff\xff", 1))),
		},
		{
			"sorted set, decimal scores",
			payload(6, 3, 6, text("a"), text("1.5"), text("b"), 254, text("c"), 255, text("7"), text("7"),
				text("d"), text("-0"), text("e"), text("1e-7")),
		},
		{
			"sorted set, decimal log",
			payload(6, 3, 3, text("9"), text("9"), text("7"), text("7"), text("8"), text("8")),
		},
		{"sorted set, decimal not a number", payload(6, 3, 1, text("a"), 253)},
		{"sorted set, decimal that is none", payload(6, 3, 1, text("a"), text("x"))},
		{
			"sorted set, binary scores",
			payload(8, 5, 3, text("a"), binaryScore(1.5), text("b"), binaryScore(math.Inf(-1)), text("c"),
				binaryScore(math.Copysign(0, -1))),
		},
		{"sorted set, binary not a number", payload(8, 5, 1, text("a"), binaryScore(math.NaN()))},
		{
			"sorted set, twice the same",
			payload(8, 5, 2, text("a"), binaryScore(1), text("a"), binaryScore(2)),
		},
		{
			"sorted set, log, twice the same",
			payload(8, 5, 2, text("7"), binaryScore(7), text("7"), binaryScore(7)),
		},
		{
			"sorted set, ziplist",
			payload(6, 12, text(ziplist("a", 1, "b", "1.5", 70_000, 70_000, "c", "inf"))),
		},
		{"sorted set, ziplist log", payload(6, 12, text(ziplist(7, 7, 8, 8, 70_000, 70_000)))},
		{"sorted set, ziplist, odd", payload(6, 12, text(ziplist("a", 1, "b")))},
		{"sorted set, listpack", payload(10, 17, text(listpackOf("a", 1, "b", "1.5", "c", "inf")))},
		{
			"sorted set, listpack with a member of 65",
			payload(10, 17,
				text(string(bytesOf(77, 0, 0, 0, 2, 0, 0xe0, 65, strings.Repeat("x", 65), 67, 1, 1, 0xff)))),
		},
		{
			"sorted set with a member of 65",
			payload(8, 5, 2, text("a"), binaryScore(math.Copysign(0, -1)), text(strings.Repeat("x", 65)),
				binaryScore(2)),
		},
		{"sorted set, listpack out of order", payload(10, 17, text(listpackOf("a", 2, "b", 1)))},
		{"sorted set, listpack, twice the same", payload(10, 17, text(listpackOf("a", 1, "a", 2)))},
		{
			"sorted set of 200",
			payload(8, 5, 0x40, 200,
				bytesOf(manyOf(200,
					func(i int) []any { return []any{text(strconv.Itoa(i)), binaryScore(float64(i))} })...)),
		},
		{"stream", payload(10, 15, 0, 0, 0, 0, 0)},
		{"module", payload(10, 7, 0x81, "\x00\x00\x00\x00\x00\x00\x00\x00", 0)},
		{"an unknown type", payload(10, 8, 0)},
		{"a list without elements", payload(10, 1, 0)},
		{"nothing", payload(10)},
		{"a type alone", payload(10, 0)},
		{"bytes behind the value", payload(10, 0, text("a"), 0)},
		{"a string that ends early", payload(10, 0, 0x05, "abc")},
		{"a string of 2^63 bytes", payload(10, 0, 0x81, 0x7f, "\xff\xff\xff\xff\xff\xff\xff")},
		{"a string of an unknown encoding", payload(10, 0, 0xc4)},
		{"a list of 2^32 elements", payload(10, 1, 0x80, "\xff\xff\xff\xff", text("a"))},
		{
			"a compressed string that lies about its size",
			payload(10, 0, 0xc3, 2, 0x80, "\xff\xff\xff\xff", "\x00a"),
		},
		{"version 11", payload(11, 0, text("hello"))},
		{"version 12", payload(12, 0, text("hello"))},
	}
}

// Version 11 is of Redis 7.2; no such redis-server is available here.
func TestVersion11(t *testing.T) {
	ours := newKeyspace()
	for _, c := range []struct{ payload, want string }{
		{payload(11, 20, text(listpackOf("a", 5, "b"))), `set hashtable -1 ["5" "a" "b"]`},
		{payload(11, 20, text(listpackOf(3, 5, "4"))), `set intset -1 ["3" "4" "5"]`},
		{
			payload(11, 20, lzf(listpackOf(strings.Repeat("x", 60), strings.Repeat("y", 60)))),
			fmt.Sprintf(`set hashtable -1 ["%060d" "%060d"]`, 0, 1),
		},
	} {
		require.Equal(t, []any{"OK"}, ours.ask(t, []string{"RESTORE", "k", "0", c.payload, "REPLACE"}))
		want := strings.NewReplacer(fmt.Sprintf("%060d", 0), strings.Repeat("x", 60), fmt.Sprintf("%060d", 1),
			strings.Repeat("y", 60)).Replace(c.want)
		require.Equal(t, want, contents(t, ours, []string{"k"})[0])
	}
	twice := payload(11, 20, text(listpackOf("a", "a")))
	require.Equal(t, "ERR Bad data format",
		fmt.Sprint(ours.ask(t, []string{"RESTORE", "k", "0", twice, "REPLACE"})[0]))

	file := bytesOf("REDIS0011", 0xfa, text("redis-ver"), text("7.2.4"), 0xfe, 0, 0xfb, 2, 0,
		20, text("s"), text(listpackOf("a", 5)), 0xf8, 9, 0, text("t"), text("v"), 0xff)
	file = binary.LittleEndian.AppendUint64(file, dump.Checksum(0, file))
	sum, err := ours.read(file, rdb.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, rdb.Summary{Version: 11, End: int64(len(file)), Keys: 2, Checksum: true}, sum)
	require.Equal(t, []string{`set hashtable -1 ["5" "a"]`, `string embstr -1 "v"`},
		contents(t, ours, []string{"s", "t"}))
}
