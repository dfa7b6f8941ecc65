package expire_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/expire"
)

// Reclaiming in a bounded step: the entry decides, the index only knows when
// to look.
func Example() {
	type entry struct {
		key        string
		expireAtMs int64 // lives while now <= expireAtMs
		handle     expire.Handle
	}
	index := expire.New(func(e *entry) *expire.Handle { return &e.handle })

	login := &entry{key: "login", expireAtMs: 1000}
	search := &entry{key: "search", expireAtMs: 1500}
	index.File(login, login.expireAtMs+1)
	index.File(search, search.expireAtMs+1)

	login.expireAtMs = 9000 // a hit extends: its bound still holds
	index.File(login, login.expireAtMs+1)

	nowMs := int64(2000)
	for range 20 { // the budget of one step
		e, ok := index.Due(nowMs)
		if !ok {
			break
		}
		if e.expireAtMs >= nowMs {
			index.Refile(e, e.expireAtMs+1)
			continue
		}
		index.Remove(e)
		fmt.Println("gone:", e.key)
	}
	next, _ := index.Next()
	fmt.Println("look again at", next)
	// Output:
	// gone: search
	// look again at 9001
}
