package oracle

import "testing"

// StartFor runs a redis-server until the test ends. It skips the test on a machine that has none.
func StartFor(t testing.TB, o Options) *Redis {
	t.Helper()
	if _, err := find(!o.RealTime); err != nil {
		// go test ./... must pass with Go alone; CI has redis-server, see .ci/run.
		t.Skip("there is no redis-server to compare with: ", err)
	}
	r, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
