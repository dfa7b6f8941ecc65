package dump

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// roundTrip compresses and decompresses. It reports whether that saved anything.
func roundTrip(t *testing.T, c *Compressor, in []byte) bool {
	t.Helper()
	packed := c.Compress(in)
	if packed == nil {
		return false
	}
	require.LessOrEqual(t, len(packed), len(in)-4)
	out, err := Decompress(packed, uint64(len(in)))
	require.NoError(t, err)
	require.True(t, bytes.Equal(in, out))
	return true
}

func TestCompress(t *testing.T) {
	const seed = 7
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, seed))
	var c Compressor
	for n := range 600 {
		require.Equal(t, n > 20, roundTrip(t, &c, bytes.Repeat([]byte("a"), n)) && n > 20, n)
		require.Equal(t, n > 40, roundTrip(t, &c, bytes.Repeat([]byte("abcdefg"), n)[:n]) && n > 40, n)
	}
	for range race.Fewer(2000) {
		in := make([]byte, rnd.IntN(20_000))
		letters := 1 + rnd.IntN(200)
		for i := range in {
			in[i] = byte(rnd.IntN(letters))
		}
		roundTrip(t, &c, in)
	}
	far := []byte(strings.Repeat("x", 10) + "needle in a haystack")
	for range 9000 {
		far = append(far, byte(rnd.Uint32()))
	}
	roundTrip(t, &c, append(far, "needle in a haystack"...)) // beyond the maximum distance
	random := make([]byte, 1000)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	require.False(t, roundTrip(t, &c, random))

	c.base = math.MaxUint32 - 10 // positions start anew
	require.True(t, roundTrip(t, &c, bytes.Repeat([]byte("again "), 20)))
	require.Less(t, c.base, uint32(1000))
}

func TestText(t *testing.T) {
	var c Compressor
	for in, size := range map[string]int{
		"": 1, "0": 2, "-1": 2, "127": 2, "-128": 2, "128": 3, "32767": 3, "-32768": 3, "32768": 5,
		"2147483647":  5,
		"-2147483648": 5, "2147483648": 11, "00": 3, "+1": 3, "-0": 3, strings.Repeat("a", 20): 21,
		strings.Repeat("a", 21): 8, strings.Repeat("ab", 50): 10,
	} {
		b := AppendText(nil, []byte(in), &c)
		require.Len(t, b, size, in)
		r := Reader{b}
		got, err := r.String()
		require.NoError(t, err)
		require.Equal(t, in, got)
	}
	require.Len(t, AppendInt(nil, math.MaxInt64), 20)
}

func BenchmarkCompress(b *testing.B) {
	var c Compressor
	in := []byte("user:1234567:requests:user:1234567:limit:60")
	b.ReportAllocs()
	for b.Loop() {
		c.Compress(in)
	}
}
