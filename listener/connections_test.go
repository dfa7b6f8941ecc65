package listener

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A dialer connects to a bounded listener and accepts what it has connected.
type dialer struct {
	t       *testing.T
	l       *Connections
	address atomic.Value // of the next connection, a string
}

func newDialer(t *testing.T, most, mostOfOne int) *dialer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &dialer{t: t}
	address := func(net.Addr) string { return d.address.Load().(string) }
	d.l = New(l.(*net.TCPListener), most, mostOfOne, address)
	t.Cleanup(func() { _ = l.Close() }) // unless the test has
	return d
}

// dial returns the client's end of a new connection of an address.
func (d *dialer) dial(address string) net.Conn {
	d.t.Helper()
	d.address.Store(address)
	c, err := net.Dial("tcp", d.l.Addr().String())
	require.NoError(d.t, err)
	d.t.Cleanup(func() { c.Close() })
	return c
}

// connect returns both ends of a new connection of an address.
func (d *dialer) connect(address string) (client net.Conn, c *connection) {
	d.t.Helper()
	client = d.dial(address)
	accepted, err := d.l.Accept()
	require.NoError(d.t, err)
	return client, accepted.(*connection)
}

// requireClosed waits until the server has closed a connection.
func requireClosed(t *testing.T, client net.Conn) {
	t.Helper()
	_, err := client.Read(make([]byte, 1))
	require.Error(t, err)
}

// open returns which connections have not been replaced.
func open(l *Connections, all ...*connection) (numbers []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, c := range all {
		if !c.gone {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// The oldest connection that is owed no reply makes room: of the same address if that has
// reached its bound, else of any.
func TestOldestIdleConnectionIsReplaced(t *testing.T) {
	d := newDialer(t, 4, 3)
	clients, all := make([]net.Conn, 9), make([]*connection, 9)
	connect := func(i int, address string) { clients[i], all[i] = d.connect(address) }
	connect(0, "a")
	connect(1, "b")
	connect(2, "a")
	connect(3, "b")
	require.Equal(t, []int{0, 1, 2, 3}, open(d.l, all[:4]...))
	connect(4, "c") // there are four
	require.Equal(t, []int{1, 2, 3, 4}, open(d.l, all[:5]...))
	requireClosed(t, clients[0])

	all[1].mark(false) // its header is complete
	connect(5, "b")
	require.Equal(t, []int{1, 3, 4, 5}, open(d.l, all[:6]...), "the next oldest")
	connect(6, "b") // the address has three
	require.Equal(t, []int{1, 4, 5, 6}, open(d.l, all[:7]...), "not the oldest of all, which is another's")
	requireClosed(t, clients[3])

	all[1].mark(true) // answered: it is the youngest now
	connect(7, "b")
	connect(8, "b")
	require.Equal(t, []int{1, 4, 7, 8}, open(d.l, all...))
	require.Equal(t, map[string]int{"b": 3, "c": 1}, d.l.of)

	for _, c := range all {
		_ = c.Close()
		_ = c.Close() // as net/http may
	}
	require.Zero(t, d.l.count)
	require.Empty(t, d.l.of)
	require.Zero(t, d.l.idle.Len())
}

// Connections that are owed replies are never replaced: one that comes then is closed, and
// others are still accepted.
func TestBusyConnectionsAreNotReplaced(t *testing.T) {
	d := newDialer(t, 4, 2)
	_, first := d.connect("a")
	_, second := d.connect("a")
	first.mark(false)
	second.mark(false)
	refused := d.dial("a")
	accepted := make(chan net.Conn)
	go func() {
		c, err := d.l.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	requireClosed(t, refused)
	d.dial("b")
	require.False(t, (<-accepted).(*connection).gone)
	require.Equal(t, []int{0, 1}, open(d.l, first, second))

	require.NoError(t, first.CloseWrite()) // net/http has sent the last reply
	_, third := d.connect("a")
	require.Equal(t, []int{1, 2}, open(d.l, first, second, third))
	first.mark(false)
	require.Equal(t, []int{1, 2}, open(d.l, first, second, third), "a late mark changes nothing")
}

// A connection whose request has a body is owed nothing: net/http would wait for a body that may never come
// before it replies.
func TestBodiesKeepNobodyOut(t *testing.T) {
	d := newDialer(t, 4, 4)
	for length, idle := range map[int64]bool{0: false, 100: true, -1: true} {
		_, c := d.connect("a")
		owing := OwingReply(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			require.Equal(t, idle, c.place != nil, length)
			HasRead(r)
			require.Nil(t, c.place, "once the body was read")
		}))
		ctx := WithConnection(t.Context(), c)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
		require.NoError(t, err)
		r.ContentLength = length
		owing.ServeHTTP(nil, r)
	}
}

// Connections that come, are marked and go at once keep the counts right.
func TestConnectionsAtOnce(t *testing.T) {
	d := newDialer(t, 8, 5)
	var addresses atomic.Int32
	d.l.address = func(net.Addr) string { return string('a' + addresses.Add(1)%3) }
	var wait sync.WaitGroup
	const dials = 300
	for range 4 {
		wait.Go(func() {
			for range dials {
				c, err := net.Dial("tcp", d.l.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Read(make([]byte, 1)) // until the server closes it
				c.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var served sync.WaitGroup
		defer served.Wait()
		for {
			c, err := d.l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				c.(*connection).mark(false)
				c.(*connection).mark(true)
				_ = c.Close()
			})
		}
	}()
	wait.Wait()
	require.NoError(t, d.l.Close())
	<-done
	require.Zero(t, d.l.count)
	require.Empty(t, d.l.of)
	require.Zero(t, d.l.idle.Len())
}
