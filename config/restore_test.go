package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

// TestRestore: what CONFIG SET has changed is undone, and what the server has set by itself stays.
func TestRestore(t *testing.T) {
	c := config.New()
	set := func(by func(pairs [][]byte) error, words ...string) {
		var pairs [][]byte
		for _, word := range words {
			pairs = append(pairs, []byte(word))
		}
		require.NoError(t, by(pairs))
	}
	client := func(pairs [][]byte) error { return c.SetAs(config.Setter{}, pairs) }
	require.NoError(t, c.ParseArgs([]string{"--port", "0", "--maxmemory", "100mb"}, nil))
	set(c.Set, "port", "7000")
	set(client, "maxmemory", "1mb", "hz", "20")
	set(client, "maxmemory", "2mb", "maxmemory-policy", "allkeys-lru")
	var told []int64
	c.View().OnChange("maxmemory", func() { told = append(told, c.Int("maxmemory")) })
	for range 2 {
		require.NoError(t, c.Restore())
		require.EqualValues(t, 7000, c.Int("port"))
		require.EqualValues(t, 100<<20, c.Int("maxmemory"))
		require.EqualValues(t, 10, c.Int("hz"))
		require.Equal(t, "noeviction", c.String("maxmemory-policy"))
	}
	require.Equal(t, []int64{100 << 20}, told)

	// A port that a client has set returns to the one that the server has chosen.
	set(client, "port", "7001")
	require.NoError(t, c.Restore())
	require.EqualValues(t, 7000, c.Int("port"))
}
