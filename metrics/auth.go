package metrics

import (
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/zlimit/zlimit/engine"
)

// An Authorizer returns nil if whoever gives a user's name and password may read the
// metrics, and otherwise an error of engine.AuthorizeScrape. Both are empty if the client
// gives none.
type Authorizer func(remote net.Addr, user, password string) error

// authorized answers 401, 403 or 429 to scrapes that authorize refuses.
func authorized(next http.Handler, authorize Authorizer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := netip.ParseAddrPort(r.RemoteAddr) // by net/http, so it is right
		user, password, given := r.BasicAuth()
		err := authorize(net.TCPAddrFromAddrPort(from), user, password)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		status := http.StatusUnauthorized
		switch {
		case errors.Is(err, engine.ErrScrapeManyLogins):
			status = http.StatusTooManyRequests
		case errors.Is(err, engine.ErrScrapeRights) && given:
			status = http.StatusForbidden
		default:
			w.Header().Set("WWW-Authenticate", `Basic realm="zlimit"`)
		}
		http.Error(w, err.Error(), status)
	})
}
