package metrics

import (
	"io"
	"net/http"

	"github.com/zlimit/zlimit/engine"
)

// Probes ask without a password, also from other machines: those of orchestrators have
// none, and the answers tell no more than a connection to the server's port does.

const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// healthy answers that the process is up.
func healthy(w http.ResponseWriter, _ *http.Request) { answerProbe(w, http.StatusOK, "ok") }

// ready answers whether clients should be sent here: 200, or 503 and the reason.
func ready(e *engine.Engine) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			answerProbe(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answerProbe(w, http.StatusOK, "ready")
	}
}

// answerProbe writes one line and closes the connection: there are few, and a probe
// that keeps its own would take one from the scrapes.
func answerProbe(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Connection", "close")
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have gone
}

// boundedBesideProbes answers 503 to requests beyond so many at a time. Probes are answered
// whatever the others do.
func boundedBesideProbes(next http.Handler, most int) http.Handler {
	running := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == healthPath || r.URL.Path == readyPath {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			http.Error(w, "there are too many requests at a time", http.StatusServiceUnavailable)
		}
	})
}
