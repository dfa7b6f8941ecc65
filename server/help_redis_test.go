package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHelpSaysWhereItDiffers compares the HELP of each container with redis-server's: where the texts are our
// own, docs/commands.md says so, and nowhere else.
func TestHelpSaysWhereItDiffers(t *testing.T) {
	f := newFabric(t)
	// Without a cluster CLUSTER HELP is refused by both.
	cluster := []string{"--cluster-enabled", "yes"}
	theirs, ours, compared := f.node(redis, cluster...), f.node(ours, cluster...), 0
	for _, container := range ours.srv.Engine().Table().All() {
		for _, c := range container.Subs {
			if c.Name != "help" || c.Group == "rate-limit" {
				continue
			}
			differs := theirs.call(t, container.Name, "HELP") != ours.call(t, container.Name, "HELP")
			require.Equal(t, differs, c.Deviation != "", "%s HELP: %q", container.Name, c.Deviation)
			compared++
		}
	}
	require.Greater(t, compared, 10)
}
