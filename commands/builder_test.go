package commands

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/resp"
)

// replyText is the text of random replies. No two parts of it are equal.
var replyText = func() string {
	b := make([]byte, 0, 3*resp.BlockSize)
	for i := 0; len(b) < 3*resp.BlockSize; i++ {
		b = strconv.AppendInt(append(b, ' '), int64(i), 36)
	}
	return string(b)
}()

// randomText returns a part of replyText, with less than n bytes.
func randomText(rnd *rand.Rand, n int) string {
	return replyText[rnd.IntN(resp.BlockSize):][:rnd.IntN(n)]
}

// randomReply returns a reply of any shape, with at most left values, made by Builders or by none.
func randomReply(c *Ctx, rnd *rand.Rand, left *int, build bool) resp.Value {
	*left--
	kind := rnd.IntN(40)
	if *left == 999 {
		kind = 6 + rnd.IntN(3) // the whole
	}
	switch {
	case kind == 0:
		return resp.Int(rnd.Int64N(1e6) - 5e5)
	case kind == 1:
		return resp.Null
	case kind == 2:
		return resp.Double(rnd.Float64())
	case kind == 3:
		most := 2 * resp.LongText
		if rnd.IntN(4) == 0 {
			most = 2 * resp.BlockSize
		}
		return c.Copy([]byte(randomText(rnd, most)))
	case kind == 4:
		return resp.Bulk(randomText(rnd, 2*resp.LongText))
	case kind == 5:
		return resp.Verbatim(randomText(rnd, 2*resp.LongText))
	case kind > 5 && kind < 9 && *left > 0:
		n := rnd.IntN(8)
		if rnd.IntN(4) == 0 {
			n = rnd.IntN(3 * maxPending)
		}
		n = min(n, *left/2)
		if !build {
			elems := make([]resp.Value, 2*n)
			for i := range elems {
				elems[i] = randomReply(c, rnd, left, false)
			}
			return resp.Aggregate([]resp.Kind{resp.KindArray, resp.KindMap, resp.KindSet}[kind-6], elems)
		}
		b := c.Build(rnd.IntN(2*n + 2))
		for range 2 * n {
			b.Add(randomReply(c, rnd, left, true))
		}
		return []func() resp.Value{b.Array, b.Map, b.Set}[kind-6]()
	}
	return c.Copy([]byte("short"))
}

// A Builder's reply is the one that the same values make without it, however it is nested and whatever its
// parts are.
func TestBuilderEncodesTheSame(t *testing.T) {
	var got [2][]byte
	for _, proto := range []int{resp.RESP2, resp.RESP3} {
		for seed := range uint64(30) {
			for i, encodes := range []bool{false, true} {
				rnd := rand.New(rand.NewPCG(seed, 1))
				c := &Ctx{Proto: proto, Out: Output{Encodes: encodes}}
				left := 1000
				v := randomReply(c, rnd, &left, true)
				got[i] = resp.Append(got[i][:0], &v, proto)
			}
			require.Len(t, got[1], len(got[0]), "seed %d", seed)
			require.True(t, bytes.Equal(got[0], got[1]), "seed %d", seed)
		}
	}
}

// Values that no Builder made are encoded by Encode as Append does.
func TestEncodeIsAppend(t *testing.T) {
	var want, got []byte
	for seed := range uint64(30) {
		c := &Ctx{Proto: resp.RESP3, Out: Output{Encodes: true}}
		left := 1000
		v := randomReply(&Ctx{}, rand.New(rand.NewPCG(seed, 2)), &left, false)
		want = resp.Append(want[:0], &v, c.Proto)
		reply := c.Encode(v)
		got = resp.Append(got[:0], &reply, c.Proto)
		require.True(t, bytes.Equal(want, got), "seed %d", seed)
	}
}

// Once a reply passes its bound, nothing of it is kept, and Add says that it may end.
func TestBuilderKeepsTheBound(t *testing.T) {
	long := strings.Repeat("x", 3*resp.LongText)
	for name, text := range map[string]string{"short": "element", "long": long} {
		for _, encodes := range []bool{false, true} {
			c := &Ctx{Proto: resp.RESP2, Out: Output{Encodes: encodes}}
			c.Out.Limit = 1 << 20
			outer := c.Build(2)
			inner, added := c.Build(0), 0
			for inner.Add(c.Copy([]byte(text))) {
				added++
				require.Less(t, added, 1<<20, name)
			}
			require.Greater(t, added*max(len(text), valueBytes), 1<<18, "%s: far below the bound", name)
			require.True(t, c.Out.Exceeded())
			outer.Add(inner.Array())
			require.Equal(t, resp.KindNone, outer.Array().Kind(), name)
			c.Reset()
			require.False(t, c.Out.Exceeded())
		}
	}
}

// The scratch space of elements that are encoded is used again, also in the builders of parts.
func TestBuilderReusesScratch(t *testing.T) {
	c := &Ctx{Proto: resp.RESP2, Out: Output{Encodes: true}}
	outer := c.Build(1 << 20)
	for range 1 << 12 {
		inner := c.Build(2)
		inner.AddPair(c.Copy([]byte("field")), c.Copy([]byte(strings.Repeat("v", 1000))))
		outer.Add(inner.Array())
	}
	require.Less(t, cap(c.scratch.bytes), 4*maxPendingBytes)
	require.Less(t, cap(c.scratch.values), 4*maxPending*3)
	reply := outer.Array()
	n, err := reply.Stream().WriteTo(io.Discard)
	require.NoError(t, err)
	require.Greater(t, n, int64(4<<20))
}

// A reply ends when its client is gone.
func TestDrawnEndsWithItsClient(t *testing.T) {
	d := newDrawn(&Ctx{Proto: resp.RESP2}, randomQuery{count: 1 << 50}, 1)
	d.add(resp.Bulk("member"), resp.None)
	w := &closedAfter{left: 10}
	_, err := d.WriteTo(w)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.Equal(t, -1, w.left)
}

type closedAfter struct{ left int }

func (w *closedAfter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

// The value of a pair is not lost when its key is encoded at once, because it is long or because many
// elements wait.
func TestBuilderKeepsBothOfAPair(t *testing.T) {
	for _, key := range []string{"k", strings.Repeat("k", 2*resp.LongText)} {
		for used := range 8 {
			c := &Ctx{Proto: resp.RESP2}
			c.Out.Encodes = true
			c.Values(maxPending * used / 4) // so that elements wait to different numbers
			b := c.Build(maxPending)
			var plain []resp.Value
			for i := range 2 * maxPending {
				value := []byte(strings.Repeat(strconv.Itoa(i), 1+i/100))
				b.AddPair(resp.Bulk(key), c.Copy(value))
				plain = append(plain, resp.Bulk(key), resp.BulkBytes(value))
			}
			want, got := resp.Array(plain...), b.Array()
			require.True(t, bytes.Equal(resp.Append(nil, &want, c.Proto), resp.Append(nil, &got, c.Proto)),
				"keys of %d bytes, after %d values", len(key), maxPending*used/4)
		}
	}
}
