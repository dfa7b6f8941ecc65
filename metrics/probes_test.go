package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Probes are answered while every other place is taken.
func TestProbesBesideRequests(t *testing.T) {
	started, end := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(boundedBesideProbes(http.HandlerFunc(func(
		w http.ResponseWriter, r *http.Request,
	) {
		if r.URL.Path == "/metrics" {
			started <- struct{}{}
			<-end
		}
		_, _ = io.WriteString(w, r.URL.Path)
	}), 3))
	defer s.Close()
	get := func(path string) (status int, body string) {
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return r.StatusCode, string(text)
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() { get("/metrics") })
		<-started
	}
	for _, path := range []string{healthPath, readyPath} {
		status, body := get(path)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, path, body)
	}
	for _, path := range []string{"/metrics", "/", "/healthz/x"} {
		status, body := get(path)
		require.Equal(t, http.StatusServiceUnavailable, status, path)
		require.Equal(t, "there are too many requests at a time\n", body)
	}
	close(end)
	wait.Wait()
	status, _ := get("/")
	require.Equal(t, http.StatusOK, status)
}
