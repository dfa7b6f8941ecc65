package engine

import (
	"strings"

	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/engine/slowlog"
)

// view returns what other sessions can see of this one.
func (v *shown) view() public {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.public
}

// edit changes what other sessions can see of this one.
func (v *shown) edit(change func(p *public)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&v.public)
}

func (v *shown) setName(name []byte) {
	v.edit(func(p *public) { p.name = string(name) })
}

// validName reports whether every byte of a client's name is a visible ASCII
// character, as the lines of CLIENT LIST need.
func validName(name []byte) bool {
	for _, ch := range name {
		if ch < '!' || ch > '~' {
			return false
		}
	}
	return true
}

// subscribed reports whether the session has subscriptions.
func (p *public) subscribed() bool { return p.topics != [pubsub.Kinds]int{} }

func isMaster(o *Session) bool { return o.side.follows != nil }

func isReplica(o *Session) bool { return o.shown.view().replica != nil }

// label returns the name of the session's client, or its address without the port if it has
// none. It is called on the session's goroutine, the only one that sets the name.
func (v *shown) label() string {
	s := v.session
	if name := v.public.name; name != "" {
		return name
	}
	addr := s.peer.Addr
	if colon := strings.LastIndexByte(addr, ':'); colon >= 0 {
		return addr[:colon]
	}
	return addr
}

// slowEntry returns an entry about a call of the session. Any goroutine may call it.
func (v *shown) slowEntry(args []string) slowlog.Entry {
	return slowlog.Entry{Args: args, Addr: v.session.peer.Addr, Name: v.view().name}
}

// SetBuffers shows the buffers of the session's connection if they have changed between two batches.
func (s *Session) SetBuffers(b Buffers) {
	s.shown.edit(func(p *public) { s.shown.countBuffers(p, b, p.multiBytes) })
}

// setBuffers is countBuffers for a caller that does not hold mu.
func (v *shown) setBuffers(b Buffers, multiBytes int) {
	v.edit(func(p *public) { v.countBuffers(p, b, multiBytes) })
}

// countBuffers sets what the session's connection and its transaction take. It requires mu.
func (v *shown) countBuffers(p *public, b Buffers, multiBytes int) {
	s := v.session
	if change := b.Memory + multiBytes - p.buffers.Memory - p.multiBytes; change != 0 {
		s.engine.sessions.buffers.Add(int64(change))
	}
	p.buffers, p.multiBytes = b, multiBytes
}

// countNames counts what the names take that the session watches, has subscribed to, tracks as prefixes, or
// waits for room in. It is called when they have changed: one command may name any number.
func (v *shown) countNames() {
	s := v.session
	bytes := s.tx.watch.Bytes() + s.inbox.subscriber.Bytes() + s.tracking.Mode().Bytes() +
		v.blocked.Load().bytes()
	v.edit(func(p *public) {
		s.engine.sessions.buffers.Add(bytes - p.nameBytes)
		p.nameBytes = bytes
	})
}

// CountOutput adds to the bytes of replies that wait until the client reads. Any goroutine may call it.
func (s *Session) CountOutput(change int) {
	s.shown.output.Add(int64(change))
	s.engine.sessions.buffers.Add(int64(change))
}

// bytes returns what a session counts for under maxmemory-clients: tot-mem of CLIENT LIST.
func (v *shown) bytes(p *public) int64 {
	s := v.session
	return sessionBytes + int64(p.buffers.Memory) + int64(p.multiBytes) + p.nameBytes +
		v.output.Load() + s.inbox.subscriber.Mail.Size()
}
