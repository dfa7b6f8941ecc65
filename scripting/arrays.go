package scripting

import lua "github.com/yuin/gopher-lua"

// maxArray is where the array part of a table ends: gopher-lua fills the array
// up to any key below it, so one key may take 64 MB. Its own limit is 16 times
// as much.
const maxArray = 1 << 22

var _ = func() int {
	lua.MaxArrayIndex = maxArray
	return maxArray
}()

// border is #t: an n with t[n] and not t[n+1]. Where the array is full, it
// looks on in the hash as Lua does, by doubling and halving.
func border(t *lua.LTable) int {
	n := t.Len()
	if n < maxArray-1 {
		return n
	}
	low, high := n, n+1
	for at1(t, high) != lua.LNil {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; at1(t, middle) != lua.LNil {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
