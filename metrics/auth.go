package metrics

import (
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/zlimit/zlimit/engine"
)

// A PeerFunc describes an HTTP client as a peer of the engine's sessions. It is called
// concurrently.
type PeerFunc func(remote net.Addr) engine.Peer

// authorized answers 401, 403 or 429 to scrapes that protected-mode denies or the engine does
// not authorize.
func authorized(next http.Handler, e *engine.Engine, peer PeerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr, _ := netip.ParseAddrPort(r.RemoteAddr) // by net/http, so it is right
		from := peer(net.TCPAddrFromAddrPort(addr))
		if e.ProtectedModeDenies(from.Local) {
			http.Error(w, "protected-mode is on and no password is set, so only clients of this machine are "+
				"answered: set requirepass", http.StatusForbidden)
			return
		}
		user, password, given := r.BasicAuth()
		err := e.AuthorizeScrape(from, user, password)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		status := http.StatusUnauthorized
		switch {
		case errors.Is(err, engine.ErrManyLogins):
			status = http.StatusTooManyRequests
		case errors.Is(err, engine.ErrScrapeRights) && given:
			status = http.StatusForbidden
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="zlimit"`)
		}
		http.Error(w, err.Error(), status)
	})
}
