package scripting

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestAddressSet compares with a map, for close and distant addresses.
func TestAddressSet(t *testing.T) {
	buf := make([]byte, 1<<20)
	var a addressSet
	known := make(map[uintptr]bool)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100_000 {
		at := rng.IntN(len(buf))
		if i%2 == 0 {
			at = (i * 16) % len(buf)
		}
		p := unsafe.Pointer(&buf[at])
		place := uintptr(p) / 16
		require.Equal(t, !known[place], a.add(p))
		known[place] = true
	}
}
