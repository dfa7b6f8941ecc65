package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMetricsAddr(t *testing.T) {
	t.Parallel()
	p := start(t, "--port", "0", "--port-file", "p", "--metrics-addr", "0")
	line, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	_, url, ok := strings.Cut(line, "metrics at ")
	require.True(t, ok, line)
	url, _, _ = strings.Cut(url, `"`)
	require.Contains(t, url, "http://127.0.0.1:")
	r, err := http.Get(url)
	require.NoError(t, err)
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	require.Contains(t, string(text), "rate_limit_allowed_total{algorithm=\"log\"} 0\n")
}
