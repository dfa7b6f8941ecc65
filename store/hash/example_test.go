package hash_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/hash"
)

// A token bucket has two fields that are overwritten often. They keep their order.
func Example() {
	var h hash.Hash
	h.Set([]byte("tokens"), []byte("10"))
	h.Set([]byte("refilled"), []byte("1700000000000"))
	h.Set([]byte("tokens"), []byte("9"))
	h.All(func(field, value []byte) bool {
		fmt.Printf("%s %s\n", field, value)
		return true
	})
	// Output:
	// tokens 9
	// refilled 1700000000000
}
