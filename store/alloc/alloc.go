// Package alloc says how many bytes of the heap Go's allocator takes for an
// object. The values of the keyspace reckon with it what they hold; it allocates
// nothing itself.
//
// Small objects come in size classes, larger ones in pages (runtime/malloc.go). A
// test compares the table with the allocator that the test runs on.
package alloc

import "slices"

// classes are the sizes in which the allocator hands out small objects.
var classes = [...]uint16{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416,
	448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200,
	3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336,
	16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
}

const (
	grain    = 8
	near     = 2048 // up to here a table has the answer
	pageSize = 8192
	// headerFrom is the size above which an object with pointers is preceded by
	// a word that tells where they are.
	headerFrom = 512
	header     = 8
	// tiny objects without pointers share a block of that many bytes.
	tiny = 16
)

// rounded is what sizes up to near take, by (size+grain-1)/grain.
var rounded = func() (table [near/grain + 1]uint16) {
	class := 0
	for i := 1; i < len(table); i++ {
		for int(classes[class]) < i*grain {
			class++
		}
		table[i] = classes[class]
	}
	return table
}()

// Bytes returns what n bytes without pointers take: a string, a slice of
// numbers. Of those that share a block each has its share.
func Bytes(n int) int64 {
	if n < tiny {
		return int64(shares[max(n, 0)])
	}
	return round(n)
}

// shares are what tiny objects take, as many of a size in a block as fit.
var shares = func() (table [tiny]uint8) {
	for n := 1; n < tiny; n++ {
		table[n] = uint8(tiny / (tiny / n))
	}
	return table
}()

// Alone is Bytes for objects that come and go one by one: what shares a tiny one's
// block may have gone before it, or be garbage, and still the block stays whole.
// Half a block is at most half a block wrong.
func Alone(n int) int64 {
	if n > 0 && n < tiny/2 {
		return tiny / 2
	}
	return Bytes(n)
}

// Pointers returns what an object of n bytes takes in which there are pointers.
func Pointers(n int) int64 {
	if n > headerFrom {
		n += header
	}
	return round(n)
}

func round(n int) int64 {
	if n <= near {
		return int64(rounded[(max(n, 0)+grain-1)/grain])
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
