package exporter

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/oracle"
)

// scrapeTimeout is far more than a scrape needs on a busy machine.
const scrapeTimeout = time.Minute

// flags make the exporter ask for everything that it can ask of a server.
var flags = []string{
	"--redis-only-metrics", "--include-config-metrics", "--include-system-metrics",
	"--include-modules-metrics", "--export-client-list", "--check-keys", "db0=k:*,db2=k:*",
	"--check-single-keys", "db0=k:text,db1=absent", "--check-key-groups", "^(k|other):",
	"--count-keys", "db0=k:*,db1=*,db2=*",
}

// TestExporter scrapes both servers after the same load.
func TestExporter(t *testing.T) {
	require.NoError(t, oracle.FindRealTime())
	programs := t.TempDir()
	exporter := build(t, ".", filepath.Join(programs, "exporter"), "github.com/oliver006/redis_exporter")
	ours := os.Getenv("ZLIMIT_SERVER")
	if ours == "" {
		ours = build(t, "../..", filepath.Join(programs, "zlimit-server"), "./cmd/zlimit-server")
	}
	theirSeries, theirErrors := scrape(t, exporter, "redis-server")
	ourSeries, ourErrors := scrape(t, exporter, ours)

	wrong := compare(theirSeries, ourSeries, listedDifferences(t))
	require.Empty(t, wrong, "- only redis-server, + only zlimit-server:\n%s", strings.Join(wrong, "\n"))
	require.Equal(t, theirErrors, ourErrors, "what the exporter logs as errors")
	require.Greater(t, len(ourSeries), 500, "the exporter has read little")
}

// listedDifferences returns those of testdata/differences.txt, and the directives that
// Redis has not.
func listedDifferences(t *testing.T) []difference {
	t.Helper()
	f, err := os.Open("testdata/differences.txt")
	require.NoError(t, err)
	defer f.Close()
	listed, err := readDifferences(f)
	require.NoError(t, err)
	for _, d := range config.New().Directives() {
		if d.Ours && !d.Hidden {
			listed = append(listed, difference{'+', `redis_config_*{key="` + d.Name + `"*`, d.About})
		}
	}
	return listed
}

// build builds a Go program in dir and returns its path.
func build(t *testing.T, dir, output, pkg string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-o", output, pkg)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return output
}

// scrape starts a server, loads it, and returns the series of one scrape and what the
// exporter has logged as errors.
func scrape(t *testing.T, exporter, server string) (series, logged []string) {
	t.Helper()
	dir := t.TempDir()
	process, err := abuse.Start(t.Context(), server, dir, &abuse.Row{Directives: []string{
		"--dir", dir, "--slowlog-log-slower-than", "0", "--appendonly", "yes",
	}})
	require.NoError(t, err)
	defer process.Stop()
	load(t, process.Addr)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	addrs := []string{"--web.listen-address", addr, "--redis.addr", "redis://" + process.Addr}
	cmd := exec.CommandContext(ctx, exporter, append(addrs, flags...)...)
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed
		close(ended)
	}()

	awaitHealthy(t, addr, ended)
	body := get(t, "http://"+addr+"/metrics")
	stop()
	<-ended
	series, err = readSeries(strings.NewReader(body))
	require.NoError(t, err, "%s", body)
	return series, errorsIn(log.String())
}

// awaitHealthy waits until the exporter answers.
func awaitHealthy(t *testing.T, addr string, ended <-chan struct{}) {
	t.Helper()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for deadline := time.Now().Add(scrapeTimeout); ; {
		response, err := http.Get("http://" + addr + "/health")
		if err == nil {
			response.Body.Close()
			return
		}
		select {
		case <-retry.C:
		case <-ended:
			t.Fatal("the exporter has ended")
		}
		require.True(t, time.Now().Before(deadline), "the exporter does not answer: %v", err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	client := http.Client{Timeout: scrapeTimeout}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", body)
	return string(body)
}

var errorLine = regexp.MustCompile(`level=(?:error|warning|fatal) .*`)

// errorsIn returns the lines of the exporter's log that report a failure.
func errorsIn(log string) []string { return errorLine.FindAllString(log, -1) }
