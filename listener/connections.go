// Package listener has a TCP listener for servers of HTTP that bounds the number of connections, in all and
// for each address.
//
// This package is internal to zlimit: it may change in any release.
package listener

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// Connections is a listener that bounds the number of connections, in all and for each address. One that
// arrives at a bound replaces the oldest idle one, so that peers who send nothing, or half a header, keep
// nobody out. A connection is idle while its server owes it no reply: before it has sent a complete header,
// and after the reply.
type Connections struct {
	*net.TCPListener
	most, mostOfOne int
	address         func(remote net.Addr) string // what counts as one address

	mu    sync.Mutex
	count int            // protected by mu, as are the fields below
	of    map[string]int // by address
	idle  list.List      // of *connection, the oldest first
}

// A connection is an accepted connection.
type connection struct {
	*net.TCPConn
	owner   *Connections
	address string
	place   *list.Element // in idle, or nil; protected by owner.mu
	gone    bool          // protected by owner.mu
}

// New bounds the connections of l by most, and by mostOfOne for those whose address is the same. address says
// what counts as one.
func New(l *net.TCPListener, most, mostOfOne int, address func(net.Addr) string) *Connections {
	return &Connections{
		TCPListener: l, most: most, mostOfOne: mostOfOne, address: address, of: make(map[string]int),
	}
}

// Accept returns the next connection that there is room for, and closes those before it.
func (l *Connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		c := &connection{TCPConn: conn, owner: l, address: l.address(conn.RemoteAddr())}
		replaced, ok := l.admit(c)
		if replaced != nil {
			_ = replaced.TCPConn.Close()
		}
		if ok {
			return c, nil
		}
		_ = conn.Close()
	}
}

// admit makes room for a connection. It returns the one that c replaces, if any, and reports
// whether there is room.
func (l *Connections) admit(c *connection) (replaced *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.of[c.address] >= l.mostOfOne:
		replaced = l.oldest(func(o *connection) bool { return o.address == c.address })
	case l.count >= l.most:
		replaced = l.oldest(func(*connection) bool { return true })
	default:
		ok = true
	}
	if replaced != nil {
		l.remove(replaced)
		ok = true
	}
	if ok {
		l.count++
		l.of[c.address]++
		c.place = l.idle.PushBack(c)
	}
	return replaced, ok
}

// oldest returns the oldest idle connection of those that match, or nil. It requires that mu is
// held.
func (l *Connections) oldest(matches func(*connection) bool) *connection {
	for at := l.idle.Front(); at != nil; at = at.Next() {
		if c := at.Value.(*connection); matches(c) {
			return c
		}
	}
	return nil
}

// remove forgets a connection. It requires that mu is held.
func (l *Connections) remove(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	c.setIdle(false)
	l.count--
	if l.of[c.address]--; l.of[c.address] == 0 {
		delete(l.of, c.address)
	}
}

// setIdle says whether the server owes the connection no reply. It requires that owner.mu is
// held.
func (c *connection) setIdle(idle bool) {
	if c.place != nil {
		c.owner.idle.Remove(c.place)
		c.place = nil
	}
	if idle && !c.gone {
		c.place = c.owner.idle.PushBack(c)
	}
}

func (c *connection) mark(idle bool) {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.setIdle(idle)
}

// CloseWrite is called by net/http behind the last reply, before it lingers.
func (c *connection) CloseWrite() error {
	err := c.TCPConn.CloseWrite()
	c.mark(true)
	return err
}

// Close closes the connection.
func (c *connection) Close() error {
	c.owner.mu.Lock()
	c.owner.remove(c)
	c.owner.mu.Unlock()
	return c.TCPConn.Close()
}

type connectionKey struct{}

// accepted returns the accepted connection under one that may be over TLS, or nil if a Connections has not
// accepted it.
func accepted(c net.Conn) *connection {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = over.NetConn()
	}
	under, _ := c.(*connection)
	return under
}

// WithConnection is http.Server.ConnContext.
func WithConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, accepted(c))
}

// ConnState is http.Server.ConnState: between two requests a connection is idle.
func ConnState(c net.Conn, state http.ConnState) {
	if c := accepted(c); c != nil && state == http.StateIdle {
		c.mark(true)
	}
}

// OwingReply marks the connection of each request, whose header is complete by then. One with a body stays
// idle: net/http does not reply before it has read that, and it may never come.
func OwingReply(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connectionKey{}).(*connection)
		if c != nil && r.ContentLength == 0 {
			c.mark(false)
		}
		next.ServeHTTP(w, r)
	})
}

// HasRead marks the connection of a request whose body the handler has read: a reply is owed from then on.
func HasRead(r *http.Request) {
	if c, _ := r.Context().Value(connectionKey{}).(*connection); c != nil {
		c.mark(false)
	}
}
