package store

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A server has millions of keys.
func TestKeySizes(t *testing.T) {
	require.Equal(t, uintptr(16), unsafe.Sizeof(Entry{}))
	require.Equal(t, uintptr(32), unsafe.Sizeof(Node{}))
	require.Equal(t, uintptr(64), unsafe.Sizeof(paddedLock{}))
}

var deadlines = []int64{
	0, 1, -1, 1_700_000_000_000, farthest - 1, farthest, farthest + 1, -farthest, -farthest - 1,
	math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1,
}

// Type, charge, value and deadline share two words and must not affect each other.
func TestEntryFields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 28))
	var e Entry
	values := []*String{NewInt(1), NewInt(2), NewInt(3)}
	value, typ, c, atMs := values[0], TypeString, charge(0), int64(0)
	e.replace(unsafe.Pointer(value), typ)
	for range 10_000 {
		switch r.IntN(3) {
		case 0:
			value, typ = values[r.IntN(len(values))], Type(r.IntN(int(NumTypes)))
			e.replace(unsafe.Pointer(value), typ)
		case 1:
			c = charge(r.IntN(1 << chargeBits))
			e.setCharge(c)
		case 2:
			atMs = deadlines[r.IntN(len(deadlines))]
			e.setExpireAtMs(atMs)
		}
		got, has := e.ExpireAtMs()
		require.Equal(t, atMs, got)
		require.Equal(t, atMs != 0, has)
		require.Equal(t, has, e.expires())
		require.Equal(t, c, e.charge())
		p, found := e.value()
		require.Equal(t, typ, found)
		require.True(t, value == (*String)(p))
		for other := range NumTypes {
			if other == typ {
				require.True(t, value == (*String)(e.as(other)))
			} else {
				require.Nil(t, e.as(other))
			}
		}
		for _, nowMs := range deadlines {
			require.Equal(t, atMs != 0 && nowMs > atMs, e.overdue(nowMs), "%d at %d", atMs, nowMs)
		}
	}
}

// Charges are exact for small values, and at most 0.4% off.
func TestChargePrecision(t *testing.T) {
	last := charge(0)
	for size := int64(0); size < 1<<40; size += max(8, size/1000/8*8) {
		c := chargeFor(size)
		require.GreaterOrEqual(t, c, last, size)
		require.Less(t, c, charge(1<<chargeBits))
		last = c
		if size < 2048 {
			require.Equal(t, size, c.bytes())
			continue
		}
		require.InEpsilon(t, size, c.bytes(), 0.004)
	}
	require.Equal(t, charge(0), chargeFor(0))
	require.Equal(t, charge(1<<chargeBits-1), chargeFor(math.MaxInt64/2), "too large: the largest charge")
}
