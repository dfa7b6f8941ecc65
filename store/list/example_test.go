package list_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/list"
)

func Example() {
	var l list.List
	l.PushBack([]byte("b"))
	l.PushBack([]byte("c"))
	l.PushFront([]byte("a"))
	fmt.Println(l.Len(), l.At(1))
	last, _ := l.PopBack()
	fmt.Println(last)
	// Output:
	// 3 b
	// c
}
