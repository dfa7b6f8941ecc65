package commands

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeyPositions(t *testing.T) {
	two := KeySpec{First: 1, Last: 1, Step: 1}
	for _, tc := range []struct {
		name string
		keys []KeySpec
		n    int
		more bool
		at   []int
		tail bool
		ok   bool
	}{
		{"none", nil, 3, false, nil, false, true},
		{"one", []KeySpec{key(1, "")}, 3, false, []int{1}, false, true},
		{"one, and more to come", []KeySpec{key(1, "")}, 2, true, []int{1}, false, true},
		{"one that is still to come", []KeySpec{key(1, "")}, 1, true, nil, true, true},
		{"one that is missing", []KeySpec{key(1, "")}, 1, false, nil, false, false},
		{"two", []KeySpec{two}, 3, false, []int{1, 2}, false, true},
		{"two, the second to come", []KeySpec{two}, 2, true, []int{1}, true, true},
		{"all", []KeySpec{keys(1, "")}, 4, false, []int{1, 2, 3}, false, true},
		{"all, and more to come", []KeySpec{keys(1, "")}, 2, true, []int{1}, true, true},
		{"every second", []KeySpec{keys(2, "")}, 5, false, []int{1, 3}, false, true},
		{"all but the last", []KeySpec{{First: 1, Last: -2, Step: 1}}, 4, false, []int{1, 2}, false, true},
		{
			"all but the last, whichever that is",
			[]KeySpec{{First: 1, Last: -2, Step: 1}},
			4, true,
			[]int{1, 2, 3},
			true, true,
		},
		{"two specs", []KeySpec{key(1, ""), keysFrom(3, "")}, 5, false, []int{1, 3, 4}, false, true},
		{"one that stands nowhere", derivedKeys(), 4, false, nil, false, false},
		{"counted", []KeySpec{CountedKeys(1, "")}, 4, false, nil, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &Command{Keys: tc.keys}
			at, tail, ok := c.KeyPositions(tc.n, tc.more)
			require.Equal(t, tc.ok, ok)
			if ok {
				require.Equal(t, tc.at, at)
				require.Equal(t, tc.tail, tail)
			}
		})
	}
}
