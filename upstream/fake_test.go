package upstream

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/server/pipe"
	"github.com/zlimit/zlimit/upstream/call"
)

// A fake is a node that answers as its test says.
type fake struct {
	addr     string
	listener net.Listener

	mu     sync.Mutex
	answer func(args []string) string // protected by mu; "" hangs up
	calls  []string                   // protected by mu: what was asked, but for the handshake
	conns  []net.Conn                 // protected by mu
	open   int                        // protected by mu: connections that are not closed
}

// hangUp ends an answer after which the node closes the connection.
const hangUp = "\x00"

// newFake starts a node.
func newFake(t *testing.T, answer func(args []string) string) *fake {
	t.Helper()
	return newFakeAt(t, "127.0.0.1:0", answer)
}

// newFakeAt starts a node at an address.
func newFakeAt(t *testing.T, at string, answer func(args []string) string) *fake {
	t.Helper()
	l, err := net.Listen("tcp", at)
	require.NoError(t, err)
	return serveFake(t, l, l.Addr().String(), answer)
}

// piped are the listeners of nodes within the process, by address, and lastPiped is the last one's number.
var (
	piped     sync.Map
	lastPiped atomic.Int64
)

// newPiped starts a node that is reached within the process, so that its test may be a bubble of
// testing/synctest, in which time-outs take no time and never pass too early.
func newPiped(t *testing.T, answer func(args []string) string) *fake {
	t.Helper()
	l, addr := pipe.Listen(), fmt.Sprintf("piped:%d", lastPiped.Add(1))
	piped.Store(addr, l)
	t.Cleanup(func() { piped.Delete(addr) })
	return serveFake(t, l, addr, answer)
}

// inBubble runs a subtest as a bubble of testing/synctest.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// dialPiped connects to what newPiped has started, and to other addresses over the network.
func dialPiped(ctx context.Context, network, addr string) (net.Conn, error) {
	if l, ok := piped.Load(addr); ok {
		return l.(*pipe.Listener).Dial(ctx)
	}
	if strings.HasPrefix(addr, "piped:") {
		return nil, syscall.ECONNREFUSED
	}
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

func serveFake(t *testing.T, l net.Listener, addr string, answer func(args []string) string) *fake {
	f := &fake{addr: addr, listener: l, answer: answer}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, nc)
			f.open++
			f.mu.Unlock()
			served.Go(func() {
				f.serve(nc)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.open--
			})
		}
	})
	t.Cleanup(func() {
		f.close()
		served.Wait()
	})
	return f
}

// close ends the node and its connections.
func (f *fake) close() {
	f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, nc := range f.conns {
		nc.Close()
	}
}

// set changes what the node answers.
func (f *fake) set(answer func(args []string) string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// asked returns the calls so far, and forgets them.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

func (f *fake) serve(nc net.Conn) {
	defer nc.Close()
	r, w := bufio.NewReader(nc), bufio.NewWriter(nc)
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		if strings.EqualFold(args[0], "hello") || strings.EqualFold(args[0], "client") {
			_, _ = io.WriteString(nc, map[bool]string{true: "%0\r\n", false: "+OK\r\n"}[args[0] == "hello"])
			continue
		}
		f.mu.Lock()
		f.calls = append(f.calls, strings.Join(args, " "))
		answer := f.answer
		f.mu.Unlock()
		reply, broken := strings.CutSuffix(answer(args), hangUp)
		_, _ = w.WriteString(reply)
		if err := w.Flush(); err != nil || reply == "" || broken {
			return
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		if line, err = r.ReadString('\n'); err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		if err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return nil, err
		}
		args[i] = string(b[:size])
	}
	return args, nil
}

// slotsOf returns the reply to CLUSTER SLOTS of nodes that share the slots equally.
func slotsOf(nodes ...*fake) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(nodes))
	for i, n := range nodes {
		host, port, _ := net.SplitHostPort(n.addr)
		fmt.Fprintf(&b, "*3\r\n:%d\r\n:%d\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$2\r\nid\r\n",
			i*commands.Slots/len(nodes),
			(i+1)*commands.Slots/len(nodes)-1, len(host), host, port)
	}
	return b.String()
}

// open returns an upstream at an address.
func open(t *testing.T, url string, change func(o *Options)) *Upstream {
	t.Helper()
	a, err := ParseURL(url)
	require.NoError(t, err)
	a.dial = dialPiped
	o := Options{Address: a, Timeout: time.Minute}
	if change != nil {
		change(&o)
	}
	u := Open(o)
	t.Cleanup(func() { require.NoError(t, u.Close()) })
	return u
}

// table has the rows that tests use.
var table = commands.NewTable(commands.Strings, commands.Keys, commands.Lists, rl.Commands,
	commands.Databases(func() {}, func() int64 { return 0 }))

// newCall returns the call of a line.
func newCall(line string) *call.Call {
	var args [][]byte
	for _, word := range strings.Fields(line) {
		args = append(args, []byte(word))
	}
	cmd, refusal := table.Resolve(args)
	if cmd == nil {
		panic(refusal.Str())
	}
	return &call.Call{
		Cmd: cmd, Args: args, Proto: resp.RESP2,
		Settings: &commands.Settings{RLLogMaxUnits: 1 << 24},
	}
}

// do runs lines together and returns the replies.
func (u *Upstream) do(lines ...string) (replies []string) {
	calls := make([]*call.Call, len(lines))
	for i, line := range lines {
		calls[i] = newCall(line)
	}
	u.Run(calls)
	for _, c := range calls {
		replies = append(replies, string(c.Reply))
	}
	return replies
}

// constant answers CLUSTER SLOTS as a single server, and everything else with one reply.
func constant(reply string) func([]string) string {
	return func(args []string) string {
		if strings.EqualFold(args[0], "cluster") {
			return "-ERR This instance has cluster support disabled\r\n"
		}
		return reply
	}
}
