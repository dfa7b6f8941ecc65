package miniredis_test

import (
	"fmt"
	"time"

	"github.com/zlimit/zlimit/zlimittest/miniredis"
)

// A key lives for a minute, and the minute passes at once.
func Example() {
	m, err := miniredis.Run() // or RunT(t) in a test, which closes it
	if err != nil {
		panic(err)
	}
	defer m.Close()
	if err := m.Set("user:42", "1"); err != nil {
		panic(err)
	}
	m.SetTTL("user:42", time.Minute)
	m.FastForward(time.Minute - time.Millisecond)
	fmt.Println(m.Exists("user:42"), m.TTL("user:42"))
	m.FastForward(time.Millisecond)
	fmt.Println(m.Exists("user:42"))
	// Output:
	// true 1ms
	// false
}
