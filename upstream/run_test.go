package upstream

import (
	"fmt"
	"net"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair starts two nodes of a cluster. Each answers GET and SET with its letter and the key, unless
// special has another answer.
func pair(t *testing.T, special func(node int, args []string) string) (a, b *fake) {
	t.Helper()
	var nodes [2]*fake
	var ready sync.WaitGroup
	ready.Add(1)
	for i := range nodes {
		nodes[i] = newPiped(t, func(args []string) string {
			ready.Wait()
			if special != nil {
				if reply := special(i, args); reply != "" {
					return reply
				}
			}
			if strings.EqualFold(args[0], "cluster") {
				return slotsOf(nodes[0], nodes[1])
			}
			return fmt.Sprintf("+%c %s\r\n", 'a'+i, strings.Join(args[1:], " "))
		})
	}
	ready.Done()
	return nodes[0], nodes[1]
}

func TestCallsGoToTheNodeOfTheirSlot(t *testing.T) {
	a, b := pair(t, nil)
	u := open(t, "redis://"+a.addr, nil)
	require.Equal(t, []string{"+a b\r\n", "+b a\r\n", "+a {b}x\r\n", "+b a 1\r\n"},
		u.do("GET b", "GET a", "GET {b}x", "SET a 1"))
	require.Equal(t, []string{"get b", "get {b}x"}, lower(a.asked()[1:]))
	require.Equal(t, []string{"get a", "set a 1"}, lower(b.asked()))
	require.Equal(t, []string{"-" + crossSlot + "\r\n"}, u.do("MGET a b"))
	require.Empty(t, b.asked())
}

func lower(calls []string) (out []string) {
	for _, c := range calls {
		out = append(out, strings.ToLower(c))
	}
	return out
}

func TestSplit(t *testing.T) {
	a, _ := pair(t, func(_ int, args []string) string {
		switch strings.ToLower(args[0]) {
		case "del", "exists":
			return fmt.Sprintf(":%d\r\n", len(args)-1)
		case "mset":
			return "+OK\r\n"
		case "mget":
			reply := fmt.Sprintf("*%d\r\n", len(args)-1)
			for _, key := range args[1:] {
				reply += "$2\r\nv" + key[:1] + "\r\n"
			}
			return reply
		}
		return ""
	})
	u := open(t, "redis://"+a.addr, func(o *Options) { o.Split = true })
	require.Equal(t, []string{
		"*3\r\n$2\r\nva\r\n$2\r\nvb\r\n$2\r\nva\r\n", ":3\r\n", ":2\r\n", "+OK\r\n", "-" + crossSlot + "\r\n",
	}, u.do("MGET a b a", "DEL a b c", "EXISTS a b", "MSET a 1 b 2", "MSETNX a 1 b 2"))
	require.Equal(t, []string{"-ERR wrong number of arguments for 'mset' command\r\n"}, u.do("MSET a 1 b"))
}

func TestRedirections(t *testing.T) {
	var a, b *fake
	var mu sync.Mutex
	mode := ""
	a, b = pair(t, func(node int, args []string) string {
		mu.Lock()
		defer mu.Unlock()
		if node == 1 || strings.EqualFold(args[0], "cluster") {
			if strings.EqualFold(args[0], "asking") {
				return "+OK\r\n"
			}
			return ""
		}
		switch mode {
		case "moved":
			return "-MOVED 3300 " + b.addr + "\r\n"
		case "ask":
			return "-ASK 3300 " + b.addr + "\r\n"
		case "loop":
			return "-MOVED 3300 " + a.addr + "\r\n"
		case "tryagain":
			mode = ""
			return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
		case "readonly":
			mode = ""
			return "-READONLY You can't write against a read only replica.\r\n"
		}
		return ""
	})
	u := open(t, "redis://"+a.addr, nil)
	set := func(m string) {
		mu.Lock()
		defer mu.Unlock()
		mode = m
	}
	for m, want := range map[string]string{
		"moved": "+b b\r\n", "ask": "+b b\r\n", "tryagain": "+a b\r\n", "readonly": "+a b\r\n",
	} {
		set(m)
		b.asked()
		require.Equal(t, []string{want}, u.do("GET b"), m)
		if m == "ask" {
			require.Equal(t, []string{"asking", "get b"}, lower(b.asked()))
		}
	}
	set("loop")
	require.Equal(t, []string{
		"-UPSTREAM " + a.addr + ": redirection without end: MOVED 3300 " + a.addr + "\r\n",
	}, u.do("GET b"))
}

// A call that writes is not sent again when its connection is lost, one that reads is.
func TestLostConnections(t *testing.T) {
	var mu sync.Mutex
	lose := true
	f := newFake(t, nil)
	f.set(func(args []string) string {
		mu.Lock()
		defer mu.Unlock()
		if strings.EqualFold(args[0], "cluster") {
			return "-ERR This instance has cluster support disabled\r\n"
		}
		if lose {
			lose = false
			return ""
		}
		return "+OK\r\n"
	})
	u := open(t, "redis://"+f.addr, nil)
	require.Equal(t, []string{"+OK\r\n"}, u.do("GET k"))
	mu.Lock()
	lose = true
	mu.Unlock()
	reply := u.do("SET k v")
	require.Contains(t, reply[0], "the command may have run")
	require.True(t, strings.HasPrefix(reply[0], "-UPSTREAM "+f.addr), reply[0])
	require.Equal(t, []string{"+OK\r\n"}, u.do("SET k v"))
}

// Callers of one node share round trips.
func TestPipelinesAreShared(t *testing.T) {
	gate := make(chan struct{})
	f := newFake(t, nil)
	f.set(func(args []string) string {
		if strings.EqualFold(args[0], "cluster") {
			return "-ERR This instance has cluster support disabled\r\n"
		}
		<-gate
		return "+" + args[1] + "\r\n"
	})
	u := open(t, "redis://"+f.addr, nil)
	const callers = 100
	var done sync.WaitGroup
	replies := make([]string, callers)
	for i := range callers {
		done.Go(func() { replies[i] = u.do(fmt.Sprintf("GET k%d", i))[0] })
	}
	n := u.node(f.addr)
	eventually(t, func() bool {
		l := n.lane(0, 2)
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.queued == callers-1
	})
	close(gate)
	done.Wait()
	for i, reply := range replies {
		require.Equal(t, fmt.Sprintf("+k%d\r\n", i), reply)
	}
	require.LessOrEqual(t, n.trips.Load(), int64(3), "the first call, and all that waited for it")
}

// eventually waits until ok.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, 20*time.Second, time.Millisecond)
}

// heapBytes returns how much memory objects take, with those that nobody uses any more.
func heapBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// While nothing answers, every caller gets an error that says what has become of its call, no more
// commands wait than the queue has room for, and neither they nor those that are refused leave anything.
func TestNothingAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // whose connections nobody accepts
	require.NoError(t, err)
	defer l.Close()
	const queueSize = 1000
	u := open(t, "redis+single://"+l.Addr().String(), func(o *Options) {
		o.Timeout, o.Queue = 50*time.Millisecond, queueSize
	})
	const callers = 10_000
	var done sync.WaitGroup
	replies := make([]string, callers)
	n := u.node(l.Addr().String())
	queue := n.lane(0, 2)
	waiting := func() int {
		queue.mu.Lock()
		defer queue.mu.Unlock()
		return queue.queued
	}
	lines := []string{"SET k v", "RL.ALLOW k 1 1s"}
	u.do(lines...) // what the first calls allocate stays
	answered := u.counts.errors.Load()
	runtime.GC()
	before := heapBytes()
	var most, heap atomic.Int64
	for i := range callers {
		done.Go(func() {
			replies[i] = u.do(lines[i%2])[0]
			raise(&most, int64(waiting()))
			if i%64 == 0 {
				raise(&heap, heapBytes())
			}
		})
	}
	done.Wait()
	require.LessOrEqual(t, most.Load(), int64(queueSize))
	require.Zero(t, waiting(), "nothing of a call is left")
	kinds := make(map[string]int)
	for _, reply := range replies {
		text, ok := strings.CutPrefix(reply, "-UPSTREAM "+l.Addr().String()+": ")
		require.True(t, ok, reply)
		switch text := strings.TrimSuffix(text, "\r\n"); {
		case text == errQueueFull.Error():
			kinds["refused"]++
		case text == errLate.Error(), strings.HasPrefix(text, "dial tcp "):
			kinds["never sent"]++
		case text == errLate.Error()+"; the command may have run":
			kinds["sent"]++
		case strings.HasPrefix(text, errAway.Error()+": "):
			kinds["away"]++
		default:
			require.Fail(t, "another error", reply)
		}
	}
	t.Log(kinds, n.trips.Load(), "round trips")
	require.Equal(t, callers, kinds["refused"]+kinds["never sent"]+kinds["sent"]+kinds["away"])
	require.EqualValues(t, callers, u.counts.errors.Load()-answered)
	require.LessOrEqual(t, int64(kinds["refused"]), u.counts.full.Load(), "and loadings of the library")
	require.Positive(t, kinds["away"])
	require.LessOrEqual(t, int64(kinds["sent"]), n.trips.Load()*maxPipeline)
	require.Less(t, n.trips.Load(), int64(100),
		"the breaker is open most of the time")

	t.Logf("the heap grew by %d bytes a caller at most", (heap.Load()-before)/callers)
	require.Less(t, heap.Load()-before, int64(callers*bytesPerCaller))
	runtime.GC()
	t.Logf("%d bytes a caller are left", (heapBytes()-before)/callers)
	require.Less(t, heapBytes()-before, int64(callers*bytesLeft))
}

const (
	// bytesPerCaller is more than a call takes on the heap, with what it has taken and given back.
	bytesPerCaller = 8 << 10
	// bytesLeft is more than is left of a call: its reply, and Go's goroutine.
	bytesLeft = 1 << 10
)

// raise makes a number the highest of those that it was raised to.
func raise(highest *atomic.Int64, n int64) {
	for {
		old := highest.Load()
		if n <= old || highest.CompareAndSwap(old, n) {
			return
		}
	}
}

// A stalled node costs callers of another one nothing.
func TestStalledNode(t *testing.T) {
	gate := make(chan struct{})
	a, _ := pair(t, func(node int, args []string) string {
		if node == 0 && args[0] == "GET" {
			<-gate
		}
		return ""
	})
	u := open(t, "redis://"+a.addr, func(o *Options) { o.Queue = 10 })
	u.do("SET b 1", "SET a 1")
	var stalled sync.WaitGroup
	for range 50 {
		stalled.Go(func() { u.do("GET b") })
	}
	eventually(t, func() bool { return u.counts.full.Load() > 0 })
	for range 100 {
		require.Equal(t, []string{"+b a\r\n"}, u.do("GET a"))
	}
	close(gate)
	stalled.Wait()
}
