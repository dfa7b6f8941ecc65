package page

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/zlimit/zlimit/engine"
)

// A refusal is the reply to a request that is not served.
type refusal struct {
	status int
	text   string
}

// setHeaders sets what every reply has: it is not stored, framed, guessed at or read by
// other sites.
func setHeaders(h http.Header) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-store",
		"Connection":                   "close", // idle connections would take the places of scrapes
		"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
	} {
		h.Set(name, value)
	}
}

func (f *refusal) write(w http.ResponseWriter) {
	switch f.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="zlimit", charset="UTF-8"`)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "10")
	}
	http.Error(w, f.text, f.status)
}

// hangUp answers a request that has a body, without reading that: net/http would read some
// of it before the reply and after it.
func (f *refusal) hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // it is not HTTP/1
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(writeTimeout))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"+
		"Connection: close\r\n\r\n%s\n", f.status, http.StatusText(f.status), len(f.text)+1, f.text)
}

// refuses returns why a request is not served whoever sends it, or nil.
func (p *Page) refuses(r *http.Request) *refusal {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case r.Method == http.MethodHead && r.URL.Path != "/":
		return &refusal{http.StatusMethodNotAllowed, "the method must be GET"}
	case r.URL.Path != "/" && (site == "cross-site" || site == "same-site"):
		return &refusal{http.StatusForbidden, "only the page itself may ask for its data"}
	case !p.Engine.NeedsPassword() && !isOwnName(r.Host):
		return &refusal{http.StatusForbidden, "without a password the page is served at an IP address or " +
			"at localhost only, because anyone can give other names to this address (DNS rebinding)"}
	case p.Engine.ProtectedModeDenies(p.Peer(remote(r)).Local):
		return &refusal{http.StatusForbidden, "protected-mode is on and no password is set, so only " +
			"clients of this machine are answered: set requirepass"}
	}
	return nil
}

// isOwnName reports whether the Host of a request is an IP address or localhost. Other
// names can be made to resolve to this address by a site that the browser visits, whose
// scripts could then read the replies.
func isOwnName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// remote returns the address of a request's client.
func remote(r *http.Request) net.Addr {
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // by net/http, so it is right
	return net.TCPAddrFromAddrPort(from)
}

// login opens a session for the user whose name and password a request gives.
func (p *Page) login(ctx context.Context, r *http.Request) (*client, *refusal) {
	user, password, _ := r.BasicAuth()
	c, err := newClient(ctx, p.Engine, p.Peer(remote(r)), user, password)
	switch {
	case errors.Is(err, engine.ErrManyLogins):
		return nil, &refusal{http.StatusTooManyRequests, err.Error()}
	case err != nil:
		return nil, &refusal{http.StatusUnauthorized, err.Error()}
	}
	return c, nil
}
