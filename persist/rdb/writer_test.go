package rdb_test

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/hash"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/set"
	"github.com/zlimit/zlimit/store/zset"
)

// noting records the largest write.
type noting struct{ largest, total int }

func (n *noting) Write(b []byte) (int, error) {
	n.largest = max(n.largest, len(b))
	n.total += len(b)
	return len(b), nil
}

const logHits = 1_000_000

// large returns values that are written element by element.
func large(n int) map[string]store.Value {
	log, tree, table, members, elements := &zset.Set{}, &zset.Set{}, &hash.Hash{}, &set.Set{}, &list.List{}
	at := int64(nowMs) * 1000
	for i := range n {
		at += int64(i % 5000)
		log.AppendRun(at, 1)
		at++
	}
	for i := range n / 50 {
		b := []byte("element " + strconv.Itoa(i))
		tree.Add(b, float64(i)+0.5)
		table.Set(b, b)
		members.Add(b, 512)
		elements.PushBack(b)
	}
	log.NoteEncoding(128, 64)
	tree.NoteEncoding(128, 64)
	table.NoteEncoding(128, 64)
	return map[string]store.Value{"log": log, "tree": tree, "hash": table, "set": members, "list": elements}
}

// TestLargeValues checks that a value is neither buffered whole before it is written
// nor held twice when it is read.
func TestLargeValues(t *testing.T) {
	n := logHits
	if testing.Short() || race.Enabled {
		n /= 10
	}
	for name, value := range large(n) {
		t.Run(name, func(t *testing.T) {
			for _, compress := range []bool{false, true} {
				if name == "log" && compress {
					continue // its members are too short to compress
				}
				var out noting
				took := memory(func() {
					w := rdb.NewWriter(&out, rdb.WriterOptions{Compress: compress, Checksum: true})
					require.NoError(t, w.Key(0, "k", 0, value))
					require.NoError(t, w.Close())
				})
				t.Logf("compress %v: %d bytes, in pieces of at most %d, taking %d", compress, out.total,
					out.largest, took)
				require.LessOrEqual(t, out.largest, 96<<10)
				most := uint64(1 << 20) // buffers
				if name != "log" {
					most += uint64(n) // an element is asked for as a string here and there
				}
				require.LessOrEqual(t, took, most)
			}
			var file bytes.Buffer
			w := rdb.NewWriter(&file, rdb.WriterOptions{})
			require.NoError(t, w.Key(0, "k", 0, value))
			require.NoError(t, w.Close())
			var got store.Value
			took := memory(func() {
				_, err := rdb.Read(bytes.NewReader(file.Bytes()), int64(file.Len()),
					rdb.ReadOptions{Limits: limits}, rdb.Handler{
						Key: func(_ int, _ []byte, _ int64, v store.Value) error { got = v; return nil },
					})
				require.NoError(t, err)
			})
			t.Logf("reading %d bytes took %d", file.Len(), took)
			if log, ok := value.(*zset.Set); ok {
				back := got.(*zset.Set)
				require.Equal(t, log.Len(), back.Len())
				require.Equal(t, log.IsLog(), back.IsLog())
				require.False(t, back.IsListpack())
				if log.IsLog() {
					require.LessOrEqual(t, back.Memory(), log.Memory()*11/10)
				}
			}
		})
	}
}

// TestAllocations bounds allocations, because a snapshot runs beside traffic.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates where the code does not")
	}
	log, fields := &zset.Set{}, &hash.Hash{}
	for i := range 20 {
		log.AppendRun(int64(nowMs)*1000+int64(i)*777, 1)
		fields.Set([]byte{byte(i)}, []byte("value"))
	}
	numbers, elements := &set.Set{}, &list.List{}
	for i := range 20 {
		numbers.Add(strconv.AppendInt(nil, int64(i*i*i), 10), 512)
		elements.PushBack([]byte("element"))
	}
	w := rdb.NewWriter(io.Discard, rdb.WriterOptions{Compress: true, Checksum: true})
	for name, value := range map[string]store.Value{
		"text":   store.NewString([]byte("some text that is longer than twenty bytes")),
		"number": store.NewInt(1234567890123),
		"log":    log, "hash": fields, "set": numbers, "list": elements,
	} {
		key := "user:" + name
		require.NoError(t, w.Key(0, key, nowMs, value))
		allocs := testing.AllocsPerRun(200, func() { _ = w.Key(0, key, nowMs, value) })
		require.LessOrEqual(t, allocs, 1.0, name)
	}
}
