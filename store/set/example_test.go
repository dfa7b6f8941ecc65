package set_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/set"
)

// A set of integers is an intset until another member is added.
func Example() {
	var s set.Set
	const maxInts = 512
	for _, text := range []string{"30", "4", "30", "-1"} {
		s.Add([]byte(text), maxInts)
	}
	for m := range s.All() {
		fmt.Println(m.Text())
	}
	fmt.Println(s.Len(), s.IsIntset())
	s.Add([]byte("user:7"), maxInts)
	fmt.Println(s.Len(), s.IsIntset())
	// Output:
	// -1
	// 4
	// 30
	// 3 true
	// 4 false
}
