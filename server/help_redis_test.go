package server_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpSaysWhereItDiffers compares the HELP of each container with redis-server's: where the texts are our
// own, docs/commands.md says so, and nowhere else.
func TestHelpSaysWhereItDiffers(t *testing.T) {
	redis, _ := startRedisInDir(t, t.TempDir())
	srv := start(t, "--bind", "127.0.0.1")
	nc, err := net.Dial("tcp", srv.Addr().String())
	require.NoError(t, err)
	defer nc.Close()
	ours, compared := newWire(nc), 0
	for _, container := range srv.Engine().Table().All() {
		for _, c := range container.Subs {
			if c.Name != "help" || c.Group == "rate-limit" {
				continue
			}
			theirs := redis.call(t, container.Name, "HELP")
			differs := theirs != ours.call(t, container.Name, "HELP")
			require.Equal(t, differs, c.Deviation != "", "%s HELP: %q", container.Name, c.Deviation)
			compared++
		}
	}
	require.Greater(t, compared, 10)
}
