package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkAppend compares Append with strconv.
func checkAppend(t *testing.T, n int64) {
	t.Helper()
	require.Equal(t, "x"+strconv.FormatInt(n, 10), string(Append([]byte("x"), n)))
}

func TestAppend(t *testing.T) {
	for n := int64(1); n < math.MaxInt64/10; n *= 10 {
		for _, d := range []int64{-1, 0, 1, n / 3, n / 2, 7 * (n / 8)} {
			checkAppend(t, n+d)
			checkAppend(t, -n-d)
		}
	}
	for _, n := range []int64{0, math.MaxInt64, math.MinInt64} {
		checkAppend(t, n)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		checkAppend(t, draw.Int64N(1<<draw.IntN(62)+1))
	}
}

// Every number of four digits at either place: the products are exact for all of them.
func TestDigits(t *testing.T) {
	for n := range uint64(10_000) {
		for _, eight := range []uint64{n, n * 10_000} {
			want := uint64(0)
			for i, rest := 0, eight; i < 8; i, rest = i+1, rest/10 {
				want = want<<8 | rest%10
			}
			require.Equal(t, want, digits(eight), "%d", eight)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var buf []byte
	for n := int64(1_700_000_000_000_000); b.Loop(); n++ {
		buf = Append(buf[:0], n)
	}
}
