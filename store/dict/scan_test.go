package dict

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// scanFn is the type of Scan, so that faulty versions can replace it.
type scanFn func(d *Dict[int], cursor uint64, fn func(*Node[int])) uint64

// scanHistory scans a table while keys are added and removed between the calls, in swings that make it grow
// and shrink many times, and fn deletes some of its nodes. It returns how many of the keys that stayed were
// missed.
func scanHistory(t *testing.T, scan scanFn, seed uint64) (missed int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	var d Dict[int]
	put := func(prefix string, i int) {
		key := strconv.AppendInt([]byte(prefix), int64(i), 10)
		d.Put(Hash(key), key)
	}
	del := func(prefix string, i int) {
		key := strconv.AppendInt([]byte(prefix), int64(i), 10)
		d.Delete(Hash(key), key)
	}
	stay := 1 + rng.IntN(300)
	for i := range stay {
		put("stay", i)
	}
	churn := rng.IntN(4000)
	for i := range churn {
		put("churn", i)
	}

	seen := map[string]bool{}
	cursor, swing := uint64(0), rng.IntN(2) == 0
	for calls := 0; ; calls++ {
		require.Less(t, calls, 1_000_000, "the scan does not end")
		cursor = scan(&d, cursor, func(n *Node[int]) {
			key := n.Key()
			seen[key] = true
			if key[0] == 'c' && rng.IntN(4) == 0 {
				require.NotNil(t, d.Delete(n.Hash(), []byte(key)))
			}
			if rng.IntN(20) == 0 {
				put("churn", rng.IntN(4000))
			}
		})
		if cursor == 0 {
			break
		}
		if rng.IntN(10) == 0 {
			swing = !swing
		}
		for range rng.IntN(150) {
			if swing {
				put("churn", rng.IntN(4000))
			} else {
				del("churn", rng.IntN(4000))
			}
		}
		if rng.IntN(15) == 0 { // a sudden collapse, as by a mass expiry
			for i := range 4000 {
				del("churn", i)
			}
		}
	}
	require.NoError(t, d.check())
	for i := range stay {
		if !seen[fmt.Sprintf("stay%d", i)] {
			missed++
		}
	}
	return missed
}

func TestScanReturnsWhatStays(t *testing.T) {
	for seed := range uint64(race.Fewer(30)) {
		missed := scanHistory(t, (*Dict[int]).Scan, seed)
		require.Zero(t, missed, "seed %d", seed)
	}
}

// scanHistory must detect a cursor that counts buckets upwards and one that ignores the buddy.
func TestScanHistoryDetectsFaults(t *testing.T) {
	counting := func(d *Dict[int], cursor uint64, fn func(*Node[int])) uint64 {
		if cursor >= d.n {
			return 0
		}
		d.visit(cursor, fn)
		return cursor + 1
	}
	lowerOnly := func(d *Dict[int], cursor uint64, fn func(*Node[int])) uint64 {
		half := d.mask >> 1
		d.visit(cursor&half, fn)
		return bits.Reverse64(bits.Reverse64(cursor|^half) + 1)
	}
	for name, scan := range map[string]scanFn{
		"counting upwards":       counting,
		"only the lower buckets": lowerOnly,
	} {
		t.Run(name, func(t *testing.T) {
			missed := 0
			for seed := uint64(0); seed < 20 && missed == 0; seed++ {
				missed = scanHistory(t, scan, seed)
			}
			require.NotZero(t, missed)
		})
	}
}

// Without changes a scan sees every node exactly once, in at most n calls, and its cursors leave the upper
// bits free.
func TestScanWithoutChanges(t *testing.T) {
	for _, size := range []int{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 63, 64, 65, 100,
		1000, 1023, 1024, 1025, 1500, 2048, 2049, 5000,
	} {
		var d Dict[int]
		for i := range size {
			key := fmt.Append(nil, i)
			d.Put(Hash(key), key)
		}
		seen := map[*Node[int]]int{}
		calls, cursor := uint64(0), uint64(0)
		for {
			calls++
			cursor = d.Scan(cursor, func(n *Node[int]) { seen[n]++ })
			require.LessOrEqual(t, cursor, d.mask)
			if cursor == 0 {
				break
			}
		}
		require.Len(t, seen, size)
		for n, times := range seen {
			require.Equal(t, 1, times, "size %d key %s", size, n.Key())
		}
		require.Equal(t, max(d.n, 1), calls)
	}
}

// A client may send any cursor.
func TestScanAcceptsAnyCursor(t *testing.T) {
	var d Dict[int]
	for _, cursor := range []uint64{0, 1, math.MaxInt64, math.MaxUint64} {
		require.Zero(t, d.Scan(cursor, func(*Node[int]) { require.Fail(t, "empty") }))
	}
	for i := range 3000 {
		key := fmt.Append(nil, i)
		d.Put(Hash(key), key)
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 10_000 {
		cursor := rng.Uint64() >> rng.Uint64N(64)
		require.LessOrEqual(t, d.Scan(cursor, func(*Node[int]) {}), d.mask)
	}
	require.Zero(t, d.Scan(math.MaxUint64, func(*Node[int]) {}), "the end of the last interval")
}

// Every node is in one class of each modulus, whatever the number of buckets. fn may unlink nodes.
func TestClass(t *testing.T) {
	for _, size := range []int{0, 1, 5, 64, 1000, 1500} {
		for _, m := range []uint64{1, 2, 64, 512, 4096} {
			var d Dict[int]
			for i := range size {
				key := fmt.Appendf(nil, "k%d", i)
				d.Put(Hash(key), key)
			}
			seen := map[string]bool{}
			for i := range m {
				d.Class(i, m, func(n *Node[int]) {
					require.Equal(t, i, uint64(n.Hash())%m)
					require.False(t, seen[n.Key()])
					seen[n.Key()] = true
					if i%2 == 1 {
						d.Unlink(n)
					}
				})
			}
			require.NoError(t, d.check())
			require.Len(t, seen, size)
			for key := range seen {
				odd := uint64(HashString(key))%m%2 == 1
				require.Equal(t, odd, d.GetString(HashString(key), key) == nil)
			}
		}
	}
}
