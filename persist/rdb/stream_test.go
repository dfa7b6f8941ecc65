package rdb_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/zset"
)

// portions counts the bytes written to it and records the largest write.
type portions struct {
	bytes.Buffer
	largest int
}

func (p *portions) Write(b []byte) (int, error) {
	p.largest = max(p.largest, len(b))
	return p.Buffer.Write(b)
}

// largeValues returns values that DUMP writes in pieces.
func largeValues() map[string]store.Value {
	hits, scores, texts := &zset.Set{}, &zset.Set{}, &list.List{}
	for i := range 20_000 {
		hits.Add([]byte(strconv.Itoa(1_700_000_000_000_000+7*i)), float64(1_700_000_000_000_000+7*i))
		scores.Add([]byte(fmt.Sprint("member:", i)), float64(i)/3)
		texts.PushBack([]byte(strings.Repeat(strconv.Itoa(i), 10)))
	}
	return map[string]store.Value{
		"log": hits, "tree": scores, "list": texts,
		"alike": store.NewString([]byte(strings.Repeat("abcdef", 50_000))),
		"noise": store.NewString(noise(300_000)),
	}
}

// noise returns text that cannot be compressed.
func noise(n int) []byte {
	b, x := make([]byte, n), uint64(1)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

func TestPayloadInPieces(t *testing.T) {
	for name, value := range largeValues() {
		for _, compress := range []bool{false, true} {
			t.Run(fmt.Sprint(name, compress), func(t *testing.T) {
				require.True(t, rdb.Large(value))
				want := new(rdb.Dumper).Dump(value, compress)
				frozen := value
				if !store.TypeOf(value).FreezesInSteps() {
					frozen, _ = store.Freeze(value)
				}
				p := rdb.NewPayload(compress)
				require.Equal(t, len(want), p.Size(frozen))
				var got portions
				require.NoError(t, p.Write(&got, frozen))
				require.True(t, bytes.Equal(want, got.Bytes()))
				if _, whole := value.(*store.String); !whole {
					require.Less(t, got.largest, 80<<10)
				}
				_, err := rdb.Restore(got.Bytes(), rdb.Limits{})
				require.NoError(t, err)
			})
		}
	}
}

func TestUnreadPayload(t *testing.T) {
	gone := errors.New("gone")
	for _, value := range largeValues() {
		require.ErrorIs(t, rdb.NewPayload(true).Write(refusing{gone}, value), gone)
	}
}

type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

// TestDumperReleasesLargePayloads checks that a large result stays unchanged and that
// the Dumper does not keep its memory.
func TestDumperReleasesLargePayloads(t *testing.T) {
	d := &rdb.Dumper{}
	first := d.Dump(store.NewString(noise(100_000)), true)
	want := bytes.Clone(first)
	require.LessOrEqual(t, cap(first), len(first)+16, "made in its size")
	d.Dump(store.NewString([]byte("small")), true)
	d.Dump(store.NewString(noise(90_000)[1:]), true)
	require.True(t, bytes.Equal(want, first))
}
