package page

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/zlimit/zlimit/engine"
)

// Bounds on what viewers use.
const (
	// MaxStreams is how many event streams there are at a time; further ones get 503.
	MaxStreams = 4
	// writeTimeout is how long a viewer may take to receive an event.
	writeTimeout = 10 * time.Second
	// pauseTimeout is how long a command waits while CLIENT PAUSE postpones it.
	pauseTimeout = 5 * time.Second
	// interval is the time between two events.
	interval = time.Second
)

// Options configures a Page. Both fields are required.
type Options struct {
	Engine *engine.Engine
	// Peer describes a client as a peer of its sessions.
	Peer func(remote net.Addr) engine.Peer
}

// A Page answers the requests of viewers. Its methods may be called concurrently.
type Page struct {
	Options
	past    history
	streams chan struct{} // holds an element for each stream
	timeout time.Duration // writeTimeout, but in tests
	ticks   func() (ticks <-chan time.Time, stop func())
	ended   context.Context
	end     context.CancelFunc
}

// New returns a Page. Close ends its streams and Run.
func New(o Options) *Page {
	p := &Page{
		Options: o, streams: make(chan struct{}, MaxStreams), ticks: everyInterval, timeout: writeTimeout,
	}
	p.ended, p.end = context.WithCancel(context.Background())
	return p
}

// Register makes mux serve the page at /, and what its script asks for.
func (p *Page) Register(mux *http.ServeMux) {
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /{$}": p.page, "GET /command": p.command, "GET /events": p.events,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.ContentLength != 0 {
				(&refusal{http.StatusRequestEntityTooLarge, "a request has no body"}).hangUp(w)
				return
			}
			setHeaders(w.Header())
			if refusal := p.refuses(r); refusal != nil {
				refusal.write(w)
				return
			}
			handler(w, r)
		})
	}
}

func everyInterval() (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(interval)
	return t.C, t.Stop
}

// Close ends the event streams and Run.
func (p *Page) Close() { p.end() }

// page sends the HTML file to whoever may log in.
func (p *Page) page(w http.ResponseWriter, r *http.Request) {
	c, refusal := p.login(r.Context(), r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	c.close()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	_, _ = w.Write(document) // the client may have gone
}
