package upstream

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// refusing starts two nodes of a cluster. The first answers a line, the n-th time, with the n-th
// refusal of that line, if there is one; B in it is the second. ran returns what was not refused, in order.
func refusing(t *testing.T, refusals map[string][]string) (first *fake, ran func() []string) {
	t.Helper()
	var mu sync.Mutex
	var done []string
	var b *fake
	first, b = pair(t, func(node int, args []string) string {
		switch strings.ToLower(args[0]) {
		case "cluster":
			return ""
		case "asking":
			return "+OK\r\n"
		}
		mu.Lock()
		defer mu.Unlock()
		line := strings.ToLower(strings.Join(args, " "))
		if left := refusals[line]; node == 0 && len(left) > 0 {
			refusals[line] = left[1:]
			return "-" + strings.ReplaceAll(left[0], "B", b.addr) + "\r\n"
		}
		done = append(done, fmt.Sprintf("%c %s", 'a'+node, line))
		return "+" + args[len(args)-1] + "\r\n"
	})
	return first, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), done...)
	}
}

// TestOvertakenCallsAreNotRepeated has a node that refuses a call once and answers a later one of its key.
func TestOvertakenCallsAreNotRepeated(t *testing.T) {
	for _, refusal := range []string{
		"MOVED 3300 B", "ASK 3300 B", "TRYAGAIN later", "LOADING soon", "READONLY for now", "CLUSTERDOWN",
	} {
		a, ran := refusing(t, map[string][]string{"set b 1": {refusal}})
		u := open(t, "redis://"+a.addr, nil)
		replies := u.do("SET b 1", "SET {b}other 2", "SET b 3", "SET b 4")
		require.True(t, strings.HasPrefix(replies[0], "-UPSTREAM "+a.addr+": "), replies[0])
		require.Contains(t, replies[0], "a later call of its key has run")
		require.Equal(t, []string{"+2\r\n", "+3\r\n", "+4\r\n"}, replies[1:], refusal)
		require.Equal(t, []string{"a set {b}other 2", "a set b 3", "a set b 4"}, ran(), refusal)

		a, ran = refusing(t, map[string][]string{"set b 1": {refusal}})
		u = open(t, "redis://"+a.addr, nil)
		require.Equal(t, []string{"+1\r\n", "+2\r\n"}, u.do("SET b 1", "SET {b}other 2"), "another key")
		require.Len(t, ran(), 2)

		a, ran = refusing(t, map[string][]string{"get b": {refusal}})
		u = open(t, "redis://"+a.addr, nil)
		require.Equal(t, []string{"+b\r\n", "+b\r\n"}, u.do("GET b", "EXISTS b"), "only reads")
		require.Len(t, ran(), 2)
	}
}

// TestRepeatedCallsKeepTheirOrder has a node that refuses calls of one key for different reasons.
func TestRepeatedCallsKeepTheirOrder(t *testing.T) {
	const again, moved, ask = "TRYAGAIN later", "MOVED 3300 B", "ASK 3300 B"
	for name, refusals := range map[string]map[string][]string{
		"later, elsewhere": {"set b 1": {again, again, again}, "set b 2": {moved}, "set b 3": {again}},
		"elsewhere, later": {"set b 1": {moved}, "set b 2": {again, again}, "set b 3": {ask}},
		"in turns":         {"set b 1": {again, ask}, "set b 2": {ask}, "set b 3": {moved}},
	} {
		a, ran := refusing(t, refusals)
		u := open(t, "redis://"+a.addr, nil)
		require.Equal(t, []string{"+1\r\n", "+2\r\n", "+3\r\n"}, u.do("SET b 1", "SET b 2", "SET b 3"), name)
		var order []string
		for _, line := range ran() {
			order = append(order, line[2:])
		}
		require.Equal(t, []string{"set b 1", "set b 2", "set b 3"}, order, name)
	}
}
