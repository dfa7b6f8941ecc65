package main

// base is 2023-11-14 22:13:20 UTC in unix milliseconds, a multiple of 5000, so a slice of flow rolling begins
// there.
const base = 1_700_000_000_000

// The default instants of the flows. Each list crosses its flow's limit, meets the window's edge exactly, one
// millisecond before and after it, repeats instants, and steps back.

func at(offsets ...int64) []int64 {
	instants := make([]int64, len(offsets))
	for i, offset := range offsets {
		instants[i] = base + offset
	}
	return instants
}

// wholeSeconds returns instants of a flow in whole seconds. Forwards, a window of as many seconds gets at
// most window members, so a limit of 100 is never reached. A clock that steps back reaches it, because
// members later than now are not trimmed. From there the oldest second leaves exactly one window later.
func wholeSeconds(window int64) []int64 {
	var offsets []int64
	for i := range int64(105) {
		offsets = append(offsets, i*500)
	}
	offsets = append(offsets, 59_999, 60_000, 60_000, 60_001, 120_000)
	for i := range int64(103) {
		offsets = append(offsets, -1000*(i+1))
	}
	edge := window*1000 - 99_000
	offsets = append(offsets, edge-1, edge, edge, edge+1000)
	return at(append(offsets, 110_999, 111_000, 112_001, 300_000)...)
}

// scriptMillisInstants ends with instants of sixteen digits, more than Lua's tostring keeps, and with the
// epoch.
func scriptMillisInstants() []int64 {
	near := at(0, 0, 1, 2, 3, 59_999, 60_000, 60_000, 60_001, 60_002, 60_002, 1000, 200_000)
	return append(near, base*1000+123, base*1000+124, base*1000+60_123, 0)
}

// addFirst returns instants of a flow that adds a hit before it counts. A denied hit stays in the set, so
// each side of the edge is tested separately.
func addFirst() []int64 {
	return at(
		0, 1, 2, 3, 4, 5, 6, 59_999, 60_000, 60_001, 60_004, 60_004, 60_005,
		200_000, 200_001, 200_002, 200_003, 200_004, 259_999,
		400_000, 400_001, 400_002, 400_003, 400_004, 460_000, 460_001, 460_001,
		399_999, 460_000, 700_000,
	)
}

// colliding returns instants of which several are equal. Fifteen calls in five milliseconds are five members,
// and all pass; a sixth millisecond is denied.
func colliding() []int64 {
	return at(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 60_000, 60_000, 60_001, 60_002, 60_005)
}

func fixedSlices() []int64 {
	return at(0, 0, 0, 0, 1, 2, 2500, 4000, 4998, 4999, 4999, 4999, 5000, 5001, 4999, -1, 9999, 10_000)
}

func tagged() []int64 {
	return at(0, 0, 999, 1000, 2000, 3000, 4000, 5000, 9999, 10_000, 10_001, 11_000, 11_000, 12_000, -1,
		60_000)
}
