package rdb_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/store"
)

// closed appends the end of a file.
func closed(parts ...any) []byte {
	file := append(bytesOf(parts...), 0xff)
	return binary.LittleEndian.AppendUint64(file, dump.Checksum(0, file))
}

var (
	stream1 = bytesOf(15, text("events"), 1, text("sixteen bytes id"), text("a listpack"), 3, 1, 2, 1,
		text("group"), 1, 2, 1, "sixteen bytes idan hour.", 1, 1, text("consumer"), "an hour.", 1,
		"sixteen bytes id")
	stream3 = bytesOf(21, text("events"), 0, 3, 1, 2, 1, 1, 0, 0, 5, 1, text("group"), 1, 2, 5, 0, 1,
		text("consumer"), "an hour.an hour.", 0)
	module = bytesOf(7, text("bloom"), 0x81, 0x40, 0, 0, 0, 0, 0, 4, 1, 2, 7, 1, 7, 5, text("x"), 4,
		"12345678", 3, "1234", 0)
)

func TestUnsupported(t *testing.T) {
	for _, c := range []struct {
		name    string
		foreign []byte
		want    string
	}{
		{
			"stream of 5.0", stream1,
			`key "events" of database 0 (stream): not supported: a stream, which is not held here`,
		},
		{
			"stream of 7.2", stream3,
			`key "events" of database 0 (stream): not supported: a stream, which is not held here`,
		},
		{
			"module", module,
			`key "bloom" of database 0 (module type): not supported: a module type "QAAAAAAAB", which is ` +
				`not held here`,
		},
		{
			"database", bytesOf(0xfe, 16, 0, text("far"), text("v"), 0xfe, 0),
			`key "far" of database 16 (string): not supported: a key of database 16, of 16 that there are, ` +
				`which is not held here`,
		},
		{
			"module's data", bytesOf(0xf7, 0x81, 0x40, 0, 0, 0, 0, 0, 4, 1, 2, 1, 0),
			`not supported: data of the module type "QAAAAAAAB", which is not held here`,
		},
		{
			"a type nobody knows", bytesOf(99, text("k"), text("v")),
			`key "k" of database 0 (type 99): not supported: a type 99, which is not held here`,
		},
		{
			"functions of a release candidate", bytesOf(0xf6, text("x")),
			`not supported: functions as release candidates of Redis 7.0 wrote them`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := closed("REDIS0011", 0xfe, 0, 0, text("before"), text("v"), c.foreign, 0, text("after"),
				text("v"))
			ours := newKeyspace()
			_, err := ours.read(file, rdb.ReadOptions{})
			require.ErrorIs(t, err, rdb.ErrUnsupported)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, []any{nil}, ours.ask(t, []string{"GET", "before"}),
				"nothing is read of a file that is refused")

			sum, err := ours.read(file, rdb.ReadOptions{Skip: true})
			if c.name == "a type nobody knows" || strings.Contains(c.name, "candidate") {
				require.ErrorIs(t, err, rdb.ErrUnsupported, "its length is unknown")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []any{"v", "v"},
				ours.ask(t, []string{"GET", "before"}, []string{"GET", "after"}))
			if c.name != "module's data" {
				require.Equal(t, 1, sum.Skipped)
				require.Equal(t, 3, sum.Keys)
			}
		})
	}
}

func TestErrorPositions(t *testing.T) {
	good := closed("REDIS0010", 0xfa, text("redis-ver"), text("7.0.15"), 0xfe, 3, 0xfc,
		"\x00\x00\x00\x00\x10\x00\x00\x00", 0, text("one"), text("v"),
		16, text("two"), text(listpackOf("f", "v")))
	at := bytes.Index(good, []byte(listpackOf("f", "v")))
	require.Positive(t, at)
	edit := func(i int, b byte) []byte {
		out := bytes.Clone(good)
		out[i] = b
		return out
	}
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{
			"another file", "offset 9: corrupt: it does not begin as an RDB file does",
			[]byte("*3\r\n$3\r\nSET\r\n"),
		},
		{"nothing", "offset 0: corrupt: data ends early", nil},
		{
			"version 12", "offset 9: version 12 of the format is not a version that can be read",
			[]byte("REDIS0012"),
		},
		{"version 0", "version 0 of the format", []byte("REDIS0000")},
		{"no version", "it does not begin as", []byte("REDIS00x1")},
		{
			"an element",
			fmt.Sprintf(`offset %d, key "two" of database 3 (hash): corrupt: an element of a packed value `+
				`is malformed`, at+13), edit(at+8, 7),
		},
		{
			"a header", `key "two" of database 3 (hash): corrupt: a packed value's header does not fit it`,
			edit(at, 7),
		},
		{
			"a checksum", fmt.Sprintf("offset %d: corrupt: the checksum is wrong", len(good)),
			edit(bytes.Index(good, []byte("one"))+4, 'w'),
		},
		{"cut in a value", `key "two" of database 3 (hash): corrupt: data ends early`, good[:at+3]},
		{"cut in the checksum", "corrupt: data ends early", good[:len(good)-1]},
		{"a length of nonsense", "corrupt: a string is malformed", bytesOf("REDIS0010", 0xfe, 0x82)},
	} {
		t.Run(c.name, func(t *testing.T) {
			ours := newKeyspace()
			_, err := ours.read(c.file, rdb.ReadOptions{})
			require.ErrorContains(t, err, c.want)
			require.Zero(t, ours.ctx.Store.DB(3).Len())
		})
	}
	t.Run("every cut", func(t *testing.T) {
		for i := range good {
			_, err := newKeyspace().read(good[:i], rdb.ReadOptions{})
			require.ErrorIs(t, err, rdb.ErrCorrupt)
		}
	})
	t.Run("what follows is somebody else's", func(t *testing.T) {
		sum, err := newKeyspace().read(append(bytes.Clone(good), "*1\r\n"...), rdb.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, int64(len(good)), sum.End)
	})
	t.Run("no checksum", func(t *testing.T) {
		wrong := edit(bytes.Index(good, []byte("one"))+4, 'w')
		_, err := newKeyspace().read(wrong, rdb.ReadOptions{NoChecksum: true})
		require.NoError(t, err)
		copy(wrong[len(wrong)-8:], make([]byte, 8))
		sum, err := newKeyspace().read(wrong, rdb.ReadOptions{})
		require.NoError(t, err)
		require.False(t, sum.Checksum)
	})
}

func TestHandler(t *testing.T) {
	file := closed("REDIS0010", 0xfa, text("redis-ver"), text("7.0.15"), 0xfa, text("zlimit-now-ms"),
		text("17"), 0xf5, text("code"),
		0xfe, 2, 0xfb, 4, 2, 0xfd, 1, 0, 0, 0, 0, text("seconds"), text("v"), 0xfc, 5, 0, 0, 0, 0, 0, 0, 0, 0,
		text("ms"), text("v"),
		0xfc, "\xff\xff\xff\xff\xff\xff\xff\xff", 0, text("none"), text("v"), 0xfc, 0, 0, 0, 0, 0, 0, 0, 0,
		0xf8, 5, 0xf9, 6, 0, text("past"), text("v"),
		2, text("empty"), 0)
	var events []string
	say := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	h := rdb.Handler{
		Key: func(db int, key []byte, at int64, value store.Value) error {
			say("%d %s %d %s", db, key, at, value.(*store.String).Bytes(nil))
			return nil
		},
		Function: func(code string) error { say("function %s", code); return nil },
		Aux:      func(name, value string) error { say("aux %s %s", name, value); return nil },
		Sizes:    func(db int, keys, expiring uint64) { say("sizes %d %d %d", db, keys, expiring) },
		Skipped:  func(db int, key []byte, what string) { say("skipped %d %s %s", db, key, what) },
	}
	sum, err := rdb.Read(bytes.NewReader(file), int64(len(file)), rdb.ReadOptions{Limits: limits}, h)
	require.NoError(t, err)
	require.Equal(t, []string{
		"aux redis-ver 7.0.15", "aux zlimit-now-ms 17", "function code", "sizes 2 4 2",
		"2 seconds 1000 v", "2 ms 5 v", "2 none 0 v", "2 past -1 v",
		"skipped 2 empty nothing: its collection is empty",
	}, events)
	require.Equal(t,
		rdb.Summary{Version: 10, End: int64(len(file)), Keys: 5, Expiring: 3, Skipped: 1, Checksum: true},
		sum)

	refuse := errors.New("no")
	for _, h := range []rdb.Handler{
		{Key: func(int, []byte, int64, store.Value) error { return refuse }},
		{Function: func(string) error { return refuse }},
		{Aux: func(string, string) error { return refuse }},
	} {
		_, err := rdb.Read(bytes.NewReader(file), int64(len(file)), rdb.ReadOptions{Limits: limits}, h)
		require.Equal(t, refuse, err)
	}
}

// failing is a file that cannot be read beyond an offset.
type failing struct {
	*bytes.Reader
	from int64
}

var errDisk = errors.New("input/output error")

func (f failing) ReadAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.from {
		return 0, errDisk
	}
	return f.Reader.ReadAt(b, at)
}

func TestFileErrors(t *testing.T) {
	var b bytes.Buffer
	w := rdb.NewWriter(&b, rdb.WriterOptions{})
	for i := range 20_000 {
		require.NoError(t, w.Key(0, fmt.Sprint("key:", i), 0, store.NewInt(int64(i))))
	}
	require.NoError(t, w.Close())
	size := int64(b.Len())
	_, err := rdb.Read(failing{bytes.NewReader(b.Bytes()), size / 2}, size, rdb.ReadOptions{}, rdb.Handler{})
	require.ErrorIs(t, err, errDisk)
	_, err = rdb.Read(bytes.NewReader(b.Bytes()[:size/2]), size, rdb.ReadOptions{}, rdb.Handler{})
	require.ErrorIs(t, err, rdb.ErrCorrupt, "shorter than the given size")

	var steps []int64
	_, err = rdb.Read(bytes.NewReader(b.Bytes()), size, rdb.ReadOptions{},
		rdb.Handler{Progress: func(done, total int64) {
			require.Equal(t, size, total)
			steps = append(steps, done)
		}})
	require.NoError(t, err)
	require.IsIncreasing(t, steps)
	require.Equal(t, size, steps[len(steps)-1])
}

func TestCheck(t *testing.T) {
	file, err := os.ReadFile(recordedFile)
	require.NoError(t, err)
	check := func(file []byte) (string, error) {
		var b strings.Builder
		err := rdb.Check(&b, "dump.rdb", bytes.NewReader(file), int64(len(file)), nowMs)
		return b.String(), err
	}
	out, err := check(file)
	require.NoError(t, err)
	for _, line := range []string{
		"[offset 0] Checking RDB file dump.rdb\n", "[offset 27] AUX FIELD redis-ver = '7.0.15'\n",
		"Selecting DB ID 0\n",
		fmt.Sprintf("[offset %d] Checksum OK\n", len(file)),
		fmt.Sprintf("[offset %d] \\o/ RDB looks OK! \\o/\n", len(file)),
		fmt.Sprintf("[info] %d keys read\n", recordedKeys), "[info] 0 already expired\n",
	} {
		require.Contains(t, out, line)
	}
	bad := bytes.Clone(file)
	bad[len(bad)/2]++
	out, err = check(bad)
	require.Error(t, err)
	require.Contains(t, out, "--- RDB ERROR DETECTED ---\n[offset ")
	require.Contains(t, out, "[additional info] While doing: ")

	out, err = check(file[:len(file)/2])
	require.ErrorIs(t, err, rdb.ErrCorrupt)
	require.Contains(t, out,
		"[additional info] While doing: read-object-value\n[additional info] Reading key \"key:")
	require.Contains(t, out, "[additional info] Reading type ")

	out, err = check(closed("REDIS0010", 0xfe, 0, stream1, 0xfc, 1, 0, 0, 0, 0, 0, 0, 0, 0, text("k"),
		text("v"), 2, text("twice"), 2, text("a"), text("a")))
	require.ErrorIs(t, err, rdb.ErrCorrupt)
	require.Contains(t, out,
		"[info] 3 keys read\n[info] 1 expires\n[info] 1 already expired\n[info] 1 keys cannot be loaded "+
			"here\n[info] key \"events\" of database 0 holds a stream\n")
	require.Contains(t, out,
		"an element stands twice\n[additional info] While doing: read-object-value\n"+
			"[additional info] Reading key \"twice\"\n[additional info] Reading type 2 (set)\n")
}

// filling is a writer that fails when full.
type filling struct{ space int }

func (f *filling) Write(b []byte) (int, error) {
	if f.space < len(b) {
		return 0, io.ErrShortWrite
	}
	f.space -= len(b)
	return len(b), nil
}

func TestWriterErrorIsSticky(t *testing.T) {
	w := rdb.NewWriter(&filling{100_000}, rdb.WriterOptions{})
	var err error
	for i := 0; err == nil; i++ {
		require.Less(t, i, 100)
		err = w.Key(0, "k", 0, store.NewString(bytes.Repeat([]byte{byte(i)}, 30_000)))
	}
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.ErrorIs(t, w.Key(0, "k", 0, store.NewInt(1)), io.ErrShortWrite)
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	require.Panics(t, func() { _ = w.Key(0, "k", 0, nil) })
}

// TestDamaged: a changed bit, a lost byte and one too many are seen by the checksum alone, whatever Read
// says of the file. Files without a checksum are not damaged.
func TestDamaged(t *testing.T) {
	damaged := func(file []byte) bool { return rdb.Damaged(bytes.NewReader(file), int64(len(file))) }
	file := closed("REDIS0010", stream1)
	require.False(t, damaged(file))
	for i := range file {
		file[i] ^= 1
		require.True(t, damaged(file), "byte %d", i)
		file[i] ^= 1
	}
	require.True(t, damaged(file[:len(file)-1]))
	require.True(t, damaged(append(bytes.Clone(file), 'x')))
	require.True(t, damaged(nil))
	without := append(bytesOf("REDIS0010", stream1, 0xff), make([]byte, 8)...)
	require.False(t, damaged(without))
	require.False(t, damaged(bytesOf("REDIS0004", stream1, 0xff)), "the version has none")
	large := closed("REDIS0010", 0, text("k"), text(strings.Repeat("v", 200_000)))
	require.False(t, damaged(large))
	large[100_000] ^= 1
	require.True(t, damaged(large))
}
