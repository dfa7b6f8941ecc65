// Package web decides for clients of HTTP/1.1. POST /v1/check is asked in JSON for the descriptors that its
// body has, or for a key by the limits that it has. GET /v1/auth is asked by proxies that let another server
// decide about a request, such as nginx's auth_request: the policies make descriptors of that request.
// docs/front-doors.md has the forms.
//
// This package is internal to zlimit: it may change in any release.
package web

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/listener"
	"github.com/zlimit/zlimit/policy"
)

// Bounds on the resources of clients.
const (
	readTimeout    = 5 * time.Second // of a request with its body
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute // longer than proxies keep a connection, so that they close it
	maxHeaderBytes = 32 << 10
	maxBody        = 64 << 10
	// maxRunning is how many decisions are under way at a time. Further requests get 503.
	maxRunning = 256
)

// NewListener returns a listener for Serve that has at most so many connections, and half of them from one
// address. address says what counts as one.
func NewListener(l *net.TCPListener, most int, address func(net.Addr) string) net.Listener {
	return listener.New(l, most, max(most/2, 1), address)
}

// Options are what a Server needs.
type Options struct {
	Login    doors.Login
	Policies func() *policy.Set // the current ones; nil: none
	Serving  func() bool        // decisions can be made
	Now      func() time.Time
	// Log is called when the configuration of a proxy or of the policies is wrong, at most once a second, and
	// when a request has failed by a mistake in the program.
	Log func(format string, args ...any)
}

// A Server answers requests. New makes one.
type Server struct {
	options Options
	http    *http.Server
	pool    *pool
	running chan struct{}
	log     limitedLog
	checks  sync.Pool // of *checking
}

// New returns a server.
func New(o *Options) *Server {
	s := &Server{options: *o, running: make(chan struct{}, maxRunning)}
	s.pool = &pool{login: o.Login, now: o.Now}
	s.log = limitedLog{now: o.Now, log: o.Log}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	s.http = &http.Server{
		Handler:     listener.OwingReply(s),
		ConnContext: listener.WithConnection, ConnState: listener.ConnState,
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, Protocols: protocols,
		ErrorLog: log.New(panicsOnly{o.Log}, "", 0),
	}
	s.checks.New = func() any { return new(checking) }
	return s
}

// Serve serves the connections that l accepts, until it closes or Shutdown is called.
func (s *Server) Serve(l net.Listener) error {
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown waits for requests under way. When ctx is done, it aborts them.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.pool.close()
	return err
}

// Paths of requests.
const (
	checkPath = "/v1/check"
	authPath  = "/v1/auth"
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	serve, method := s.check, http.MethodPost
	switch r.URL.Path {
	case checkPath:
	case authPath:
		serve, method = s.auth, http.MethodGet
	default:
		fail(w, r, http.StatusNotFound, "the path is "+checkPath+" or "+authPath)
		return
	}
	switch {
	case r.Method != method:
		h.Set("Allow", method)
		fail(w, r, http.StatusMethodNotAllowed, "the method is "+method)
	case len(r.TransferEncoding) > 0:
		// Peers that disagree about where such a body ends take part of it for another request.
		fail(w, r, http.StatusLengthRequired, "a body needs Content-Length, without Transfer-Encoding")
	case !s.options.Serving():
		unavailable(w, r, "loading")
	default:
		serve(w, r)
	}
}

// decide asks a client for a decision, unless too many are under way. It reports whether it was made;
// otherwise the peer was answered by refuse.
func (s *Server) decide(
	cr *doors.Credentials, ask func(doors.Client) error, refuse func(*doors.Refusal),
) bool {
	select {
	case s.running <- struct{}{}:
		defer func() { <-s.running }()
	default:
		refuse(&doors.Refusal{Reason: doors.Unavailable, Text: "too many requests at a time"})
		return false
	}
	c, err := s.pool.get(cr)
	if err == nil {
		err = ask(c.client)
		s.pool.put(c)
	}
	if err == nil {
		return true
	}
	var refusal *doors.Refusal
	if !errors.As(err, &refusal) {
		refusal = &doors.Refusal{Reason: doors.Unavailable, Text: err.Error()}
	}
	refuse(refusal)
	return false
}

// credentials returns those of a connection. The value of the Authorization header is the caller's to add.
func credentials(r *http.Request) doors.Credentials {
	cr := doors.Credentials{Addr: r.RemoteAddr}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		cr.CommonName = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	return cr
}

// panicsOnly passes panics of handlers to a log, of what net/http logs: peers can cause the rest at will.
type panicsOnly struct {
	log func(format string, args ...any)
}

// Write implements io.Writer.
func (p panicsOnly) Write(line []byte) (int, error) {
	if strings.HasPrefix(string(line), "http: panic") {
		p.log("%s", strings.TrimSpace(string(line)))
	}
	return len(line), nil
}
