package expire_test

import (
	"fmt"

	"github.com/zlimit/zlimit/store/expire"
)

// The keys have the deadlines; the index only knows where and when to look.
func Example() {
	type entry struct {
		key        string
		hash       uint32
		expireAtMs int64 // exists while now <= expireAtMs
	}
	login := &entry{"login", 4, 1000}
	search := &entry{"search", 6, 1500}
	var index expire.Index
	index.Add(login.hash, login.expireAtMs+1)
	index.Add(search.hash, search.expireAtMs+1)

	login.expireAtMs = 9000 // a hit extends the deadline: the bound still holds
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
				fmt.Println("expired:", e.key)
			default:
				next = min(next, e.expireAtMs+1)
			}
		}
		index.SetBound(group, next)
	}
	// Output:
	// nothing to do: true
	// expired: search
}
