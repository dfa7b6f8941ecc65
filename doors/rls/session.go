package rls

import (
	"errors"
	"slices"

	"github.com/zlimit/zlimit/doors"
)

// The bounds of the clients that a connection keeps.
const (
	maxIdle       = 32 // clients that do not decide
	maxIdleLogins = 4  // distinct values of the Authorization header that they belong to
)

// A session is a client, and the memory of its decisions.
type session struct {
	client        doors.Client
	authorization string
	decoder       requestDecoder
	response      doors.Response
}

// decide decodes a message and decides about it.
func (s *session) decide(message []byte) error {
	if err := s.decoder.decode(message); err != nil {
		return err
	}
	return s.client.Decide(&s.decoder.request, &s.response)
}

// trim forgets the message, which the request refers to, and the memory of a large one.
func (s *session) trim() {
	d := &s.decoder
	d.request.Domain = nil
	clear(d.entries)
	if cap(d.entries) > maxKeptEntries || cap(d.request.Descriptors) > maxKeptEntries {
		*d, s.response = requestDecoder{}, doors.Response{}
	}
}

// sessions are a connection's sessions that do not decide. The last used is the last.
type sessions struct {
	idle   []*session
	inline *session // used by the connection's goroutine
}

// acquire removes a session with a login; nil if none is idle.
func (p *sessions) acquire(authorization string) *session {
	for i := len(p.idle) - 1; i >= 0; i-- {
		if s := p.idle[i]; s.authorization == authorization {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return s
		}
	}
	return nil
}

// release keeps a session, without its last request, for the next use. It returns those that exceed the
// bounds, for the caller to close.
func (p *sessions) release(s *session) (excess []*session) {
	s.trim()
	p.idle = append(p.idle, s)
	logins := 0
	for i := len(p.idle) - 1; i >= 0; i-- {
		known := i+1 < len(p.idle) && p.hasLogin(i+1, p.idle[i].authorization)
		if !known {
			logins++
		}
		if logins > maxIdleLogins || len(p.idle)-i > maxIdle {
			excess = slices.Clone(p.idle[:i+1])
			p.idle = slices.Delete(p.idle, 0, i+1)
			break
		}
	}
	return excess
}

// hasLogin reports whether a session from the i-th on has a login.
func (p *sessions) hasLogin(i int, authorization string) bool {
	for _, s := range p.idle[i:] {
		if s.authorization == authorization {
			return true
		}
	}
	return false
}

// close closes all sessions.
func (p *sessions) close() {
	for _, s := range p.idle {
		s.client.Close()
	}
	if p.inline != nil { // its decision has panicked
		p.inline.client.Close()
	}
	p.idle, p.inline = nil, nil
}

// login returns a new session.
func (c *conn) login(authorization string) (*session, error) {
	credentials := c.credentials
	credentials.Authorization = authorization
	client, err := c.opts.Login(credentials)
	if err != nil {
		return nil, err
	}
	return &session{client: client, authorization: authorization}, nil
}

// decide answers a request by the connection's goroutine.
func (c *conn) decide(s *stream, message []byte) *connError {
	ses, err := c.sessions.acquire(s.head.authorization), error(nil)
	if ses == nil {
		ses, err = c.login(s.head.authorization)
	}
	if err == nil {
		c.sessions.inline = ses
		err = ses.decide(message)
		c.sessions.inline = nil
	}
	return c.answer(s, ses, err)
}

// answer answers a request that was decided, or failed, and releases its session, which may be nil.
func (c *conn) answer(s *stream, ses *session, err error) *connError {
	var cerr *connError
	switch {
	case s.orphan:
		c.end(s, false)
	case err != nil:
		st := errorStatus(err)
		if st.code == statusInternal && !errors.Is(err, errMalformed) && !errors.Is(err, errUTF8) {
			c.opts.Log("rls: deciding for %s: %v", c.credentials.Addr, err)
		}
		cerr = c.fail(s, st)
		if st.code == statusUnauthenticated && ses != nil {
			ses.client.Close()
			ses = nil
		}
	default:
		at := c.out.beginMessage(s.id)
		c.out.buf = appendResponse(c.out.buf, &ses.decoder.request, &ses.response, c.opts)
		cerr = c.endMessage(s, at)
	}
	if ses != nil {
		for _, old := range c.sessions.release(ses) {
			old.client.Close()
		}
	}
	return cerr
}
