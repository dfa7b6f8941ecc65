package lua

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPow compares small integer powers with exact ones.
func TestPow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	wrong := 0
	for range 20000 {
		x, n := (random.Float64()-0.5)*math.Pow(10, float64(random.IntN(6))), random.IntN(20)-8
		exact := new(big.Float).SetPrec(3000).SetInt64(1)
		for range max(n, -n) {
			exact.Mul(exact, new(big.Float).SetPrec(3000).SetFloat64(x))
		}
		if n < 0 {
			exact.Quo(new(big.Float).SetPrec(3000).SetInt64(1), exact)
		}
		if want, _ := exact.Float64(); pow(x, float64(n)) != want {
			wrong++
		}
	}
	require.Zero(t, wrong)
	require.Equal(t, 1.0, pow(math.NaN(), 0))
	require.Equal(t, math.Inf(1), pow(10, 400))
	require.Equal(t, math.Inf(1), pow(0, -1))
	require.Equal(t, math.Inf(-1), pow(math.Copysign(0, -1), -3))
	require.Equal(t, 1e-300, pow(10, -300))
	require.Equal(t, 2.0, pow(4, 0.5))
	require.Equal(t, math.Ldexp(1, -1074), pow(2, -1074))
}
