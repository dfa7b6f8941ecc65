package commands

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/hash"
)

// Both ways to pick different fields give each field the same chance, pick none twice,
// and return its own value.
func TestPickedFieldsAreDifferentAndUniform(t *testing.T) {
	ways := map[string]func(*hash.Hash, int, func(field, value []byte) bool){
		"distinct": distinctFields,
		"walk":     walkFields,
	}
	for name, way := range ways {
		for _, size := range []struct{ fields, need int }{{1, 1}, {8, 1}, {8, 3}, {8, 8}, {200, 40}} {
			if name == "distinct" && size.need == size.fields {
				continue // it is for a small share only
			}
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				var h hash.Hash
				for i := range size.fields {
					h.Set(fmt.Append(nil, "f", i), fmt.Append(nil, "v", i))
				}
				const runs = 2000
				times := map[string]int{}
				for range runs {
					picked := map[string]bool{}
					way(&h, size.need, func(field, value []byte) bool {
						require.Equal(t, string(field[1:]), string(value[1:]))
						picked[string(field)] = true
						times[string(field)]++
						return true
					})
					require.Len(t, picked, size.need)
				}
				require.True(t, evenly(times, size.fields, runs*size.need), "%v", times)
			})
		}
	}
	require.False(t, evenly(map[string]int{"f0": 2400, "f1": 1600}, 2, 4000))
	require.False(t, evenly(map[string]int{"f0": 4000}, 2, 4000))
}

// evenly reports whether counts that add up to total are within six standard
// deviations of a uniform pick from n.
func evenly(times map[string]int, n, total int) bool {
	each := float64(total) / float64(n)
	for _, k := range times {
		if math.Abs(float64(k)-each) > 6*math.Sqrt(each) {
			return false
		}
	}
	return len(times) == n
}
