package doctor

import (
	"iter"
	"math"
)

// slicesMs are the usual lengths of slices of time. A name may have the slice's start in
// seconds or milliseconds, or its number.
var slicesMs = [...]int64{
	1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
	1_800_000, 3_600_000, 21_600_000, 43_200_000, 86_400_000,
}

// Numbers below these are ids that were counted up to there more often than slices: if
// nothing else speaks for a slice, and if the time to live is that of one.
const (
	smallestAlone = 100_000_000
	smallestDated = 1_000_000
)

// numbersIn returns the numbers in a name that are no smaller than least and that may be
// multiplied by the length of a slice.
func numbersIn(key []byte, least int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := 0; i < len(key); {
			if key[i]-'0' > 9 {
				i++
				continue
			}
			n := int64(0)
			for ; i < len(key) && key[i]-'0' <= 9; i++ {
				if n < math.MaxInt64/100 {
					n = n*10 + int64(key[i]-'0')
				}
			}
			if n >= least && n < 1<<50 && !yield(n) {
				return
			}
		}
	}
}

// startsMs returns when the slices of a length begin that a number may stand for; -1: none.
func startsMs(n, length int64) [3]int64 {
	starts := [3]int64{-1, -1, -1}
	if n < 1<<62/length {
		starts[0] = n * length
	}
	if n*1000%length == 0 {
		starts[1] = n * 1000
	}
	if n%length == 0 {
		starts[2] = n
	}
	return starts
}

// hasSlice reports whether a name has the number or the start of the present slice of time.
func hasSlice(key []byte, nowMs int64) bool {
	for n := range numbersIn(key, smallestAlone) {
		for _, length := range slicesMs {
			for _, start := range startsMs(n, length) {
				if start == nowMs/length*length {
					return true
				}
			}
		}
	}
	return false
}

// wrongSlice returns the length of the present slice of time that a name has the number or
// the start of, if a time to live is a thousand times that or a thousandth; otherwise 0.
func wrongSlice(key []byte, nowMs, ttlMs int64) int64 {
	for n := range numbersIn(key, smallestDated) {
		for _, length := range slicesMs {
			for _, start := range startsMs(n, length) {
				atEnd := (nowMs+ttlMs)%length == 0 // what remains of the slice may be short
				if start == nowMs/length*length && thousandTimes(ttlMs, length) && !atEnd {
					return length
				}
			}
		}
	}
	return 0
}

// The values of sliceOf.
type whichSlice uint8

const (
	noSlice whichSlice = iota
	presentSlice
	otherSlice
)

// sliceOf returns which slice of time a name is for, as far as one a time to live of one to
// three slices belongs to. The present one begins a tenth of a slice early, and ends as much
// late. Others are at most an hour and a thousand slices away.
func sliceOf(key []byte, nowMs, ttlMs int64) whichSlice {
	found := noSlice
	for n := range numbersIn(key, smallestDated) {
		for _, length := range slicesMs {
			if ttlMs < length || ttlMs > 3*length {
				continue
			}
			for _, start := range startsMs(n, length) {
				off, tolerance := nowMs-start, length/10
				switch {
				case off >= -tolerance && off < length+tolerance:
					return presentSlice
				case max(off, -off) <= min(longestMs, 1000*length):
					found = otherSlice
				}
			}
		}
	}
	return found
}
