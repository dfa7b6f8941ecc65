package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartupMatchesRedis runs testdata/startup.txt. In a case
//
//	$ | + ^ are those of a fileCase
//	? are arguments of CONFIG GET afterwards; none if the start fails
func TestStartupMatchesRedis(t *testing.T) {
	runFileCases(t, "startup.txt", func(t *testing.T, c *fileCase) {
		if *record {
			c.redis = startRedisCase(t, c)
		}
		config := New()
		err := config.ParseArgs(c.args, strings.NewReader(c.stdin))
		c.compare(t, startOurCase(t, c, config, err))
	})
}

func startRedisCase(t *testing.T, c *fileCase) []string {
	t.Helper()
	args := c.args
	queries := c.marked("?")
	socket := filepath.Join(c.dir, "s")
	if queries != nil {
		// In front of the options, so that a last option without a value and a
		// final - stay last.
		own := []string{"--port", "0", "--unixsocket", socket}
		at := 0
		if len(args) > 0 && (!strings.HasPrefix(args[0], "-") || args[0] == "-") {
			at = 1
		}
		args = append(append(append([]string(nil), args[:at]...), own...), args[at:]...)
	}
	r, output := startRedis(t, c.dir, socket, strings.NewReader(c.stdin), args...)
	if queries == nil {
		require.Nil(t, r, "redis-server accepts it: the case needs a ? line")
		return startError(output, c.dir)
	}
	require.NotNil(t, r, output)
	var lines []string
	for _, query := range queries {
		lines = append(lines,
			formatPairs(r.do(t, append([]string{"CONFIG", "GET"}, wordsOf(t, query)...)...))...)
	}
	r.do(t, "CONFIG", "SET", "save", "") // no save at exit
	return lines
}

func startOurCase(t *testing.T, c *fileCase, config *Config, err error) []string {
	t.Helper()
	if err == nil {
		var lines []string
		for _, query := range c.marked("?") {
			lines = append(lines, get(config, wordsOf(t, query))...)
		}
		return lines
	}
	var line *FileError
	var open *OpenError
	require.True(t, errors.As(err, &line) || errors.As(err, &open), "%v", err)
	require.Equal(t, New().values, config.values, "a failed start leaves nothing behind")
	return startError(err.Error(), c.dir)
}
