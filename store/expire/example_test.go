package expire_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/expire"
)

// The keys decide, the index only knows where to look, and when.
func Example() {
	type entry struct {
		key        string
		hash       uint32
		expireAtMs int64 // lives while now <= expireAtMs
	}
	login := &entry{"login", 4, 1000}
	search := &entry{"search", 6, 1500}
	var index expire.Index
	index.File(login.hash, login.expireAtMs+1)
	index.File(search.hash, search.expireAtMs+1)

	login.expireAtMs = 9000 // a hit extends: the bound still holds
	fmt.Println("nothing to do:", index.Covers(login.hash, login.expireAtMs+1))

	nowMs := int64(2000)
	for {
		group, ok := index.Due(nowMs)
		if !ok {
			break
		}
		next := int64(expire.Never)
		for _, e := range []*entry{login, search} {
			switch {
			case int(e.hash)%index.Groups() != group:
			case e.expireAtMs < nowMs:
				fmt.Println("gone:", e.key)
			default:
				next = min(next, e.expireAtMs+1)
			}
		}
		index.Settle(group, next)
	}
	// Output:
	// nothing to do: true
	// gone: search
}
