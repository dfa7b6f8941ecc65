// Package alloc computes the heap memory that Go's allocator uses for an object. The values of the keyspace
// account for their memory with it. Of its functions only Trim allocates.
//
// Small objects have size classes, larger ones whole pages, as in Go's runtime. A test compares the table
// with the allocator of the Go version that runs it.
//
// This package is internal to zlimit: it may change in any release.
package alloc

import "slices"

// classes are the allocator's size classes for small objects.
var classes = [...]uint16{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416,
	448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200,
	3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336,
	16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
}

const (
	grain     = 8
	maxTable  = 2048 // largest size in sizeTable
	pageSize  = 8192
	headerMin = 512 // larger objects with pointers have a header that describes them
	header    = 8
	tiny      = 16 // smaller objects without pointers share blocks of this size
)

// sizeTable has the memory of sizes up to maxTable, by (size+grain-1)/grain.
var sizeTable = func() (table [maxTable/grain + 1]uint16) {
	class := 0
	for i := 1; i < len(table); i++ {
		for int(classes[class]) < i*grain {
			class++
		}
		table[i] = classes[class]
	}
	return table
}()

// Bytes returns the memory of n bytes without pointers: a string, a slice of numbers. Objects that share a
// block count for their part of it.
func Bytes(n int) int64 {
	if n < tiny {
		return int64(tinyTable[max(n, 0)])
	}
	return round(n)
}

// tinyTable has the memory of tiny objects, if as many of one size share a block as fit.
var tinyTable = func() (table [tiny]uint8) {
	for n := 1; n < tiny; n++ {
		table[n] = uint8(tiny / (tiny / n))
	}
	return table
}()

// Single is Bytes for objects that are allocated and freed one by one: the others in a tiny object's block
// may be garbage, and the block is kept nevertheless. Counting half a block is wrong by at most half a block.
func Single(n int) int64 {
	if n > 0 && n < tiny/2 {
		return tiny / 2
	}
	return Bytes(n)
}

// Pointers returns the memory of an object of n bytes that contains pointers.
func Pointers(n int) int64 {
	if n > headerMin {
		n += header
	}
	return round(n)
}

// Trim returns s, in a smaller array if it uses less than a quarter of its own. A slice that shrinks and is
// not trimmed keeps the memory of its greatest length.
func Trim[S ~[]E, E any](s S) S {
	switch {
	case len(s) == 0:
		return nil
	case len(s) < cap(s)/4:
		return append(make(S, 0, 2*len(s)), s...)
	}
	return s
}

func round(n int) int64 {
	if n <= maxTable {
		return int64(sizeTable[(max(n, 0)+grain-1)/grain])
	}
	return roundLarge(n)
}

func roundLarge(n int) int64 {
	if n <= int(classes[len(classes)-1]) {
		i, _ := slices.BinarySearch(classes[:], uint16(n))
		return int64(classes[i])
	}
	return (int64(n) + pageSize - 1) / pageSize * pageSize
}
