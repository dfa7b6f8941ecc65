package web

import (
	"crypto/sha256"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/zlimit/zlimit/doors"
)

// Bounds of pooled clients.
const (
	maxIdle = 64
	// maxAge is for how long the credentials of a client are believed: after that it logs in anew, so that a
	// changed password counts.
	maxAge = 10 * time.Second
)

// A pool has clients that have logged in and have nothing to do.
type pool struct {
	login doors.Login
	now   func() time.Time

	mu     sync.Mutex
	idle   []*pooled // the longest idle first; protected by mu
	closed bool      // protected by mu
}

// A pooled client is one that can decide again for the same peer.
type pooled struct {
	client doors.Client
	of     identity
	since  time.Time
}

// An identity is a hash of credentials, so that the pool keeps no passwords, and of the host they came from.
type identity [sha256.Size]byte

func identify(cr *doors.Credentials) (id identity) {
	host, _, err := net.SplitHostPort(cr.Addr)
	if err != nil {
		host = cr.Addr
	}
	h := sha256.New()
	for _, text := range []string{cr.Authorization, cr.CommonName, host} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text))))
		h.Write([]byte(text))
	}
	h.Sum(id[:0])
	return id
}

// get returns a client for credentials, or a *doors.Refusal. The caller must put it back.
func (p *pool) get(cr *doors.Credentials) (*pooled, error) {
	id, now := identify(cr), p.now()
	if c := p.take(id, now); c != nil {
		return c, nil
	}
	client, err := p.login(*cr)
	if err != nil {
		return nil, err
	}
	return &pooled{client, id, now}, nil
}

// take returns the idle client of an identity that was put back last, or nil, and closes those that are too
// old.
func (p *pool) take(id identity, now time.Time) (found *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[:0]
	for _, c := range p.idle {
		age := now.Sub(c.since)
		switch {
		case age < 0 || age >= maxAge:
			c.client.Close()
			continue
		case c.of == id:
			if found != nil {
				kept = append(kept, found)
			}
			found = c
			continue
		}
		kept = append(kept, c)
	}
	clear(p.idle[len(kept):])
	p.idle = kept
	return found
}

// put makes a client idle. If too many are, it closes the one that has been idle longest.
func (p *pool) put(c *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.client.Close()
		return
	}
	if len(p.idle) == maxIdle {
		p.idle[0].client.Close()
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	p.idle = append(p.idle, c)
}

// close closes the idle clients, and those that are put back later.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.client.Close()
	}
	p.idle = nil
}
