package rdb_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/race"
)

// These bound the memory that a byte of input may cost, counting all allocations and
// not what is held at once. A list element takes two bytes in a pack; to the library it
// is two slices and a text, to this package one. A compressed byte yields at most 88.
const (
	perByte      = 100
	perLZF       = 88 * perByte
	anyway       = 512 << 10 // a window of the file in each pass, and the like
	lzfMark      = 0xc3      // without this byte nothing is compressed
	manyElements = 30_000
)

func allowed(in []byte) uint64 {
	if bytes.IndexByte(in, lzfMark) >= 0 {
		return anyway + perLZF*uint64(len(in))
	}
	return anyway + perByte*uint64(len(in))
}

// memory returns how many bytes fn allocates in all.
func memory(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// requireSound reads a file of arbitrary bytes. Nothing may panic, memory must stay in
// proportion to the input, errors must be of a known kind, and what was read must
// survive writing and reading again.
func requireSound(t *testing.T, in []byte) {
	t.Helper()
	ours := newKeyspace()
	var err error
	took := memory(func() { _, err = ours.read(in, rdb.ReadOptions{NoChecksum: true, Skip: true}) })
	require.LessOrEqual(t, took, allowed(in), "%d bytes of input", len(in))
	checked := rdb.Check(io.Discard, "file", bytes.NewReader(in), int64(len(in)), nowMs)
	if err != nil {
		var where *rdb.Error
		require.ErrorAs(t, err, &where)
		require.True(t, errors.Is(err, rdb.ErrCorrupt) || errors.Is(err, rdb.ErrUnsupported) ||
			errors.Is(err, rdb.ErrVersion), "%v", err)
		require.LessOrEqual(t, where.Offset, int64(len(in)))
		require.Error(t, checked)
		return
	}
	var first, second bytes.Buffer
	ours.write(t, &first, rdb.WriterOptions{})
	again := newKeyspace()
	_, err = again.read(first.Bytes(), rdb.ReadOptions{})
	require.NoError(t, err)
	again.write(t, &second, rdb.WriterOptions{})
	require.Equal(t, first.Len(), second.Len())
}

// seeds returns a file of every type and every sample.
func seeds(t testing.TB) (out [][]byte) {
	recorded, err := os.ReadFile(recordedFile)
	require.NoError(t, err)
	out = append(out, recorded)
	for _, s := range samples() {
		if len(s.payload) > 5000 {
			continue
		}
		body := s.payload[:len(s.payload)-10]
		if body == "" {
			continue
		}
		file := bytesOf("REDIS0011", 0xfe, 0, 0xfc, "\x00\x00\x00\x00\x10\x00\x00\x00", int(body[0]),
			text("key"), body[1:], 0xff, "\x00\x00\x00\x00\x00\x00\x00\x00")
		out = append(out, file)
	}
	return append(out, bytesOf("REDIS0003", 0xfd, "\xff\xff\xff\x7f", 0, text("k"), text("v"), 0xff),
		bytesOf("REDIS0009", 0xf7, 0x81, "\x00\x00\x00\x00\x00\x00\x00\x00", 2, 1, 5, text("x"), 4,
			"12345678", 3, "1234", 1, 7, 0, 0xff, "12345678"))
}

func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(requireSound)
}

func FuzzRestore(f *testing.F) {
	for _, s := range samples() {
		if len(s.payload) < 5000 {
			f.Add([]byte(s.payload[:len(s.payload)-10]))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in := []byte(payload(10, body))
		took := memory(func() {
			value, err := rdb.Restore(in, limits)
			require.Equal(t, err == nil, value != nil)
		})
		require.LessOrEqual(t, took, allowed(in))
	})
}

// TestMutations is FuzzRead with generated mutations, for ordinary test runs.
func TestMutations(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, seed))
	files := seeds(t)
	rounds := 3000
	if testing.Short() || race.Enabled {
		rounds = 300 // slow, with one goroutine
	}
	for i := range rounds {
		in := slices.Clone(files[i%len(files)])
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(in))
			switch rnd.IntN(5) {
			case 0:
				in[at] = byte(rnd.Uint32())
			case 1:
				in[at] ^= 1 << rnd.IntN(8)
			case 2:
				in = in[:at+1]
			case 3:
				in = slices.Insert(in, at, []byte{0x81, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff}...)
			case 4:
				in[at] = []byte{0x80, 0xff, 0xfe, 0xc3, 0xf0}[rnd.IntN(5)]
			}
		}
		requireSound(t, in)
	}
}

// TestMemoryOfManyElements reads what one byte can cost at most: many elements of a
// byte or two.
func TestMemoryOfManyElements(t *testing.T) {
	elements := make([]any, manyElements)
	for i := range elements {
		elements[i] = 7
	}
	for name, file := range map[string][]byte{
		"listpack": bytesOf("REDIS0010", 18, text("k"), 1, 2, text(listpackOf(elements...)), 0xff,
			"\x00\x00\x00\x00\x00\x00\x00\x00"),
		"ziplist": bytesOf("REDIS0010", 10, text("k"), text(ziplist(elements...)), 0xff,
			"\x00\x00\x00\x00\x00\x00\x00\x00"),
		"strings": bytesOf("REDIS0010", 1, text("k"), 0x80, 0, 0, manyElements>>8, manyElements&0xff,
			bytes.Repeat([]byte{1, '7'}, manyElements), 0xff, "\x00\x00\x00\x00\x00\x00\x00\x00"),
		"LZF": bytesOf("REDIS0010", 18, text("k"), 1, 2, lzf(listpackOf(elements...)), 0xff,
			"\x00\x00\x00\x00\x00\x00\x00\x00"),
	} {
		ours := newKeyspace()
		var err error
		took := memory(func() { _, err = ours.read(file, rdb.ReadOptions{}) })
		require.NoError(t, err, name)
		t.Logf("%s: %d bytes for %d", name, took, len(file))
		require.LessOrEqual(t, took, allowed(file), name)
		require.Equal(t, []any{int64(manyElements)}, ours.ask(t, []string{"LLEN", "k"}))
	}
}

// TestMemoryMeasurement checks that a reader that trusts a length is caught.
func TestMemoryMeasurement(t *testing.T) {
	var sink []byte
	took := memory(func() { sink = make([]byte, 64<<20) })
	require.NotEmpty(t, sink)
	require.Greater(t, took, allowed(bytesOf("REDIS0010", 0, text("k"), 0x80, 4, 0, 0, 0)))
}
