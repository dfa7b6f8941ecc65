package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"

	"github.com/zlimit/zlimit/engine"
)

// Bounds of what a stranger can make the server hold.
const (
	headerTimeout   = 5 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = 2 * time.Minute
	maxHeaderBytes  = 16 << 10
	scrapesAtOnce   = 4 // more are answered 503
	connections     = 8 // more wait until one has ended: they must not take the descriptors that files need
	defaultListenOn = "127.0.0.1"
)

// A Server answers scrapes. Make one with Listen, end it with Close.
type Server struct {
	http     *http.Server
	listener net.Listener
	ended    chan struct{}
}

// Listen opens the address and answers GET /metrics there with the engine's
// figures and those of the process. The address is host:port; without a host
// ("9100", ":9100") it is this machine's alone, and "*:9100" is every one.
func Listen(address string, e *engine.Engine) (*Server, error) {
	address, err := withHost(address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("metrics-addr %s is in use: stop what listens there, or choose another", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen on metrics-addr %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler(e))
	s := &Server{
		listener: l, ended: make(chan struct{}),
		http: &http.Server{
			Handler: mux, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
			WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		},
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(netutil.LimitListener(l, connections)) // until Close
	}()
	return s, nil
}

// handler answers scrapes, a few at a time.
func handler(e *engine.Engine) http.Handler {
	registry := prometheus.NewRegistry() // not the global one: an engine each
	registry.MustRegister(collector{e}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce})
}

// withHost puts this machine's own address where none is named.
func withHost(address string) (string, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("metrics-addr %q is no host:port", address)
	case host == "":
		host = defaultListenOn
	case host == "*":
		host = ""
	}
	return net.JoinHostPort(host, port), nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends the server: no scrape is taken any more, those under way are
// finished until ctx is done, and cut then.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.ended
	return err
}
