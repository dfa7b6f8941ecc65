package metrics

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
)

// authenticated answers 401 to requests without the password, if there is one. The
// name of the user does not matter, as requirepass belongs to no name.
func authenticated(next http.Handler, password func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if want := password(); want != "" {
			_, given, _ := r.BasicAuth()
			if !equal(given, want) {
				w.Header().Set("WWW-Authenticate", `Basic realm="zlimit"`)
				http.Error(w, "the password is that of requirepass", http.StatusUnauthorized)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// equal compares in a time that tells nothing of the strings, not even their length.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
