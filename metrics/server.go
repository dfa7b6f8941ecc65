package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/listener"
	"github.com/zlimit/zlimit/page"
)

// Bounds on the resources of clients.
const (
	headerTimeout  = 5 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 16 << 10
	maxScrapes     = 4 // further ones get 503
	// maxRequests is how many requests there are at a time beside probes; further ones get 503.
	maxRequests = maxScrapes + page.MaxStreams + 2
	// maxOfAddress and maxConnections leave room for probes and for those who have not asked yet. They
	// are few, so that the descriptors that files need are not used up.
	maxOfAddress   = maxRequests + 3
	maxConnections = maxRequests + 6
	defaultHost    = "127.0.0.1"
)

// A Server answers scrapes and viewers of the page. Listen makes one, Close ends it.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// Listen serves GET /metrics at an address, with figures of the engine and the
// process, for probes /healthz and /readyz, and the page of package page at /. The
// address is host:port. Without a host ("9100", ":9100") only this machine can connect;
// "*:9100" listens on all addresses. Unless the address is a loopback one, scrapes have
// to log in; the page has to if clients have.
func Listen(address string, e *engine.Engine, peer PeerFunc) (*Server, error) {
	address, err := withHost(address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("metrics-addr %s is in use: stop what listens there, or choose another",
			address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on metrics-addr %s: %w", address, err)
	}
	scrape := handler(e)
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		scrape = authorized(scrape, e, peer)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape)
	mux.HandleFunc("GET "+healthPath, healthy)
	mux.HandleFunc("GET "+readyPath, ready(e))
	pages := page.New(page.Options{Engine: e, Peer: peer})
	pages.Register(mux)
	network := func(remote net.Addr) string { return peer(remote).Network }
	accepting := listener.New(l.(*net.TCPListener), maxConnections, maxOfAddress, network)
	s := &Server{
		listener: l, done: make(chan struct{}),
		http: &http.Server{
			Handler:     listener.OwingReply(boundedBesideProbes(cleanPaths(mux), maxRequests)),
			ConnContext: listener.WithConnection, ConnState: listener.ConnState,
			ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		},
	}
	s.http.RegisterOnShutdown(pages.Close)
	go func() {
		defer close(s.done)
		var sampling sync.WaitGroup
		sampling.Go(pages.Run)
		_ = s.http.Serve(accepting) // until Close
		pages.Close()
		sampling.Wait()
	}()
	return s, nil
}

// cleanPaths answers 404 to paths with empty, . or .. elements, which http.ServeMux
// would redirect.
func cleanPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != r.URL.Path {
			http.NotFound(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// handler answers scrapes, a few at once.
func handler(e *engine.Engine) http.Handler {
	registry := prometheus.NewRegistry() // not the global one: there may be several engines
	registry.MustRegister(newCollector(e), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}

// withHost adds the loopback address if the address has no host.
func withHost(address string) (string, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("metrics-addr %q is no host:port", address)
	case host == "":
		host = defaultHost
	case host == "*":
		host = ""
	}
	return net.JoinHostPort(host, port), nil
}

// Addr returns the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops accepting scrapes and waits for current ones. When ctx is done, it
// aborts them.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return err
}
