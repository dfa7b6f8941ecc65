package metrics_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/metrics"
)

// TestPassword: a listener that is not on a loopback address asks for the password,
// the one that holds now.
func TestPassword(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{
		Monotonic: func() int64 { return 0 }, Wall: func() int64 { return 0 },
	})})
	var password atomic.Pointer[string]
	for _, row := range []struct {
		address, password string
		given             string // "-": no header
		want              int
	}{
		{"*:0", "", "-", 200},
		{"*:0", "", "any", 200},
		{"*:0", "secret", "-", 401},
		{"*:0", "secret", "", 401},
		{"*:0", "secret", "Secret", 401},
		{"*:0", "secret", "secre", 401},
		{"*:0", "secret", "secret ", 401},
		{"*:0", "secret", strings.Repeat("x", 8000), 401},
		{"*:0", "secret", "secret", 200},
		{"*:0", "a:b", "a:b", 200},
		{"0", "secret", "-", 200},
		{"127.0.0.1:0", "secret", "wrong", 200},
	} {
		password.Store(&row.password)
		m, err := metrics.Listen(row.address, e, func() string { return *password.Load() })
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(m.Addr().String())
		require.NoError(t, err)
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port+"/metrics", http.NoBody)
		require.NoError(t, err)
		if row.given != "-" {
			r.SetBasicAuth("any", row.given)
		}
		reply, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		require.Equal(t, row.want, reply.StatusCode, row)
		require.Equal(t, row.want == 401, reply.Header.Get("WWW-Authenticate") != "")
		if row.want == 401 {
			now := ""
			password.Store(&now)
			reply, err = http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, reply.Body.Close())
			require.Equal(t, 200, reply.StatusCode, "no password is required any more")
		}
		require.NoError(t, m.Close(t.Context()))
	}
}
