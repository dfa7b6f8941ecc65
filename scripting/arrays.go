package scripting

import lua "github.com/yuin/gopher-lua"

// maxArray bounds the array part of a table. gopher-lua fills the array up to
// any key below it, so one key may take 64 MB. Its own limit is 16 times as
// large.
const maxArray = 1 << 22

var _ = func() int {
	lua.MaxArrayIndex = maxArray
	return maxArray
}()

// border returns #t: an n for which t[n] exists and t[n+1] does not. If the
// array is full, it searches the hash part as Lua does, by doubling and
// bisection.
func border(t *lua.LTable) int {
	n := t.Len()
	if n < maxArray-1 {
		return n
	}
	low, high := n, n+1
	for rawGetInt(t, high) != lua.LNil {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; rawGetInt(t, middle) != lua.LNil {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
