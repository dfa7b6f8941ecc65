package dict_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/dict"
)

func Example() {
	var d dict.Dict[int]
	key := []byte("visits")

	n, created := d.Put(dict.Hash(key), key)
	n.Value++
	fmt.Println(n.Key(), n.Value, created)

	n, created = d.Put(dict.Hash(key), key)
	n.Value++
	fmt.Println(n.Key(), n.Value, created, d.Len())
	// Output:
	// visits 1 true
	// visits 2 false 1
}

// A rename moves the value to a node with another key.
func ExampleDict_Insert() {
	var d dict.Dict[string]
	from, to := []byte("from"), []byte("to")
	n, _ := d.Put(dict.Hash(from), from)
	n.Value = "moved"
	old, _ := d.Put(dict.Hash(to), to)
	old.Value = "overwritten"

	d.Delete(dict.Hash(from), from)
	n = n.Renamed(dict.Hash(to), to)
	replaced := d.Insert(n)
	fmt.Println(d.Get(dict.Hash(to), to).Value, replaced.Value, d.Len())
	// Output: moved overwritten 1
}

// A whole scan takes many calls, as with SCAN.
func ExampleDict_Scan() {
	var d dict.Dict[int]
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		d.Put(dict.HashString(key), []byte(key))
	}
	found := 0
	cursor := uint64(0)
	for {
		cursor = d.Scan(cursor, func(*dict.Node[int]) { found++ })
		if cursor == 0 {
			break
		}
	}
	fmt.Println(found)
	// Output: 5
}
