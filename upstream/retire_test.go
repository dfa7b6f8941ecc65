package upstream

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// leaving starts two nodes of a cluster, of which the first is no longer named once gone is closed. Until
// answer is closed it keeps callers of SET and BLPOP waiting.
func leaving(t *testing.T) (a, b *fake, gone, answer chan struct{}) {
	t.Helper()
	gone, answer = make(chan struct{}), make(chan struct{})
	a, b = pair(t, func(node int, args []string) string {
		switch {
		case strings.EqualFold(args[0], "cluster"):
			select {
			case <-gone:
				return slotsOf(b)
			default:
				return ""
			}
		case node == 0 && (strings.EqualFold(args[0], "set") || strings.EqualFold(args[0], "blpop")):
			<-answer
		}
		return ""
	})
	return a, b, gone, answer
}

// A node that is no longer named answers what it was asked before.
func TestRetiredNodeAnswers(t *testing.T) {
	a, b, gone, answer := leaving(t)
	u := open(t, "redis://"+a.addr, nil)
	require.Equal(t, []string{"+a b\r\n"}, u.do("GET b"))
	n := u.node(a.addr)
	var done sync.WaitGroup
	var first, second string
	done.Go(func() { first = u.do("SET b 1")[0] })
	l := n.lane(0, 2)
	asked := func() bool { return contains(a.asked(), "SET b 1") }
	eventually(t, asked)
	done.Go(func() { second = u.do("SET b 2")[0] })
	eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.queued == 1
	})
	var third string
	done.Go(func() {
		c := newCall("BLPOP b 0")
		u.Await(c, nil)
		third = string(c.Reply)
	})
	eventually(t, func() bool { return contains(a.asked(), "BLPOP b 0") })

	close(gone)
	eventually(t, func() bool {
		<-u.refresh.ask()
		return len(u.topology.Load().masters) == 1
	})
	require.Equal(t, []string{"+b b\r\n"}, u.do("GET b"))
	close(answer)
	done.Wait()
	require.Equal(t, []string{"+a b 1\r\n", "+a b 2\r\n", "+a b 0\r\n"}, []string{first, second, third})
	require.True(t, contains(b.asked(), "GET b"))
	eventually(t, func() bool { // then its connections are closed
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.open == 0
	})
}

func contains(calls []string, call string) bool {
	return strings.Contains("\n"+strings.Join(calls, "\n")+"\n", "\n"+call+"\n")
}
