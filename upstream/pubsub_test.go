package upstream

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/upstream/call"
)

// Notifications of keys come from every master, so SUBSCRIBE is answered when all have confirmed it.
func TestSettleWaitsForEveryMaster(t *testing.T) {
	const pattern = "__keyspace@0__:*"
	confirm := make(chan struct{})
	var once sync.Once
	confirmAll := func() { once.Do(func() { close(confirm) }) }
	a, b := pair(t, func(node int, args []string) string {
		if !strings.EqualFold(args[0], "psubscribe") {
			return ""
		}
		if node == 1 {
			<-confirm
		}
		return fmt.Sprintf("*3\r\n$10\r\npsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(pattern), pattern)
	})
	u := open(t, "redis://"+a.addr, nil)
	t.Cleanup(confirmAll) // the first of all
	u.Subscribe(call.Pattern, pattern, true)
	confirmed := func(f *fake) (ok, settled bool) {
		u.topics.mu.Lock()
		defer u.topics.mu.Unlock()
		s := u.topics.subs[receiver{node: u.node(f.addr)}]
		return s != nil && s.topics[topic{call.Pattern, pattern}], u.topics.settled()
	}
	eventually(t, func() bool {
		ok, _ := confirmed(a)
		return ok
	})
	_, settled := confirmed(a)
	require.False(t, settled)
	confirmAll()
	u.settle()
	ok, settled := confirmed(b)
	require.True(t, ok && settled)
}
