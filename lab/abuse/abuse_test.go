package abuse_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/lab/abuse"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/server"
)

// testTimeout only keeps a broken test from hanging.
const testTimeout = time.Minute

// serve runs a server of this process.
func serve(t *testing.T, row *abuse.Row) (srv *server.Server, logged func() string) {
	t.Helper()
	cfg := config.New()
	args := append([]string{"--bind", "127.0.0.1", "--requirepass", row.Password}, row.Directives...)
	if row.TLS {
		certificate, err := abuse.CertificateDirectives(t.TempDir())
		require.NoError(t, err)
		args = append(append(args, certificate...), "--tls-port", "1")
	}
	if row.Doors {
		doors, err := abuse.DoorDirectives(t.TempDir(), "127.0.0.1:0", "127.0.0.1:0")
		require.NoError(t, err)
		args = append(args, doors...)
	}
	require.NoError(t, cfg.ParseArgs(args, nil))
	var lines lockedBuffer
	log := slog.New(logging.Text(&lines, 1))
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true, Log: log})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve() }()
	t.Cleanup(func() {
		require.NoError(t, srv.Close())
		require.NoError(t, <-ended)
	})
	return srv, lines.String
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// holdings is what an abuse must give back.
type holdings struct {
	goroutines, descriptors int
	clientBytes, heapBytes  int64
}

func hold(t *testing.T, srv *server.Server) holdings {
	t.Helper()
	runtime.GC()
	runtime.GC() // what finalizers of the first have freed
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		open = nil // not Linux
	}
	return holdings{
		goroutines: runtime.NumGoroutine(), descriptors: len(open),
		clientBytes: srv.Engine().MemoryUse().Clients, heapBytes: int64(m.HeapAlloc),
	}
}

// within reports whether h is back at before: exactly as many descriptors and
// goroutines, and bytes within a tenth, or a megabyte for what grows once.
func (h holdings) within(before holdings) bool {
	bytes := func(now, then int64) bool { return now <= then+then/10+1<<20 }
	return h.goroutines <= before.goroutines && h.descriptors <= before.descriptors &&
		bytes(h.clientBytes, before.clientBytes) && bytes(h.heapBytes, before.heapBytes)
}

// awaitWithin waits until what the server holds is back at before.
func awaitWithin(t *testing.T, srv *server.Server, before holdings) {
	t.Helper()
	var now holdings
	for end := time.Now().Add(testTimeout); ; {
		if now = hold(t, srv); now.within(before) {
			return
		}
		require.True(t, time.Now().Before(end), "it held %+v before and %+v afterwards", before, now)
	}
}

// TestRows runs every abuse for some rounds, while other clients work.
func TestRows(t *testing.T) {
	for i := range abuse.Rows {
		row := &abuse.Rows[i]
		t.Run(row.Name, func(t *testing.T) { runRow(t, row) })
	}
}

func runRow(t *testing.T, row *abuse.Row) {
	srv, logged := serve(t, row)
	target := &abuse.Target{Addr: srv.Addr().String(), Password: row.Password, Rounds: 3, Size: 500}
	if row.TLS {
		target.TLSAddr = srv.TLSAddr().String()
	}
	if row.Doors {
		target.GRPCAddr, target.HTTPAddr = srv.DoorAddr().String(), srv.HTTPDoorAddr().String()
	}
	admin, err := abuse.Dial(target.Addr, target.Password)
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Do("CLIENT", "NO-EVICT", "ON")
	require.NoError(t, err)
	if row.Setup != nil {
		require.NoError(t, row.Setup(target))
	}
	probe, err := abuse.NewProbe(target, 2, time.Millisecond)
	require.NoError(t, err)
	defer probe.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	calm, end := context.WithCancel(ctx)
	end()
	_, err = probe.Run(calm)
	require.NoError(t, err)
	before := hold(t, srv)

	during, stop := context.WithCancel(ctx)
	var attack error
	var attacking sync.WaitGroup
	attacking.Go(func() {
		attack = row.Attack(ctx, target)
		stop()
	})
	took, err := probe.Run(during)
	attacking.Wait()
	require.NoError(t, attack)
	require.NoError(t, err, "others are answered meanwhile")
	require.NotEmpty(t, took)

	awaitWithin(t, srv, before)
	if row.Limit != "" {
		n, err := admin.Info(row.Limit)
		require.NoError(t, err)
		require.Positive(t, n, row.Limit)
	}
	connected, err := admin.Info("connected_clients")
	require.NoError(t, err)
	require.EqualValues(t, 3, connected, "only those that behave are left")
	require.NotContains(t, logged(), "panic")
}

// TestIdleConnections: 10,000 connections that have asked once and then send nothing
// take less than 150 MB, with what their other ends take, which are of this process
// as well.
func TestIdleConnections(t *testing.T) {
	const connections, most = 2000, 150 << 20 / 5 // a fifth, within the descriptors of one process
	srv, _ := serve(t, &abuse.Row{})
	memory := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse + m.StackInuse)
	}
	before := memory()
	pong := make([]byte, len("+PONG\r\n"))
	for range connections {
		c, err := net.Dial("tcp", srv.Addr().String())
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Write([]byte("PING\r\n"))
		require.NoError(t, err)
		_, err = io.ReadFull(c, pong)
		require.NoError(t, err)
	}
	took := memory() - before
	t.Logf("%d bytes a connection", took/connections)
	if !race.Enabled { // the detector keeps stacks of its own
		require.Less(t, took, int64(most))
	}
	admin, err := abuse.Dial(srv.Addr().String(), "")
	require.NoError(t, err)
	defer admin.Close()
	connected, err := admin.Info("connected_clients")
	require.NoError(t, err)
	require.EqualValues(t, connections+1, connected)
}

// TestWithin checks that goroutines, descriptors and memory that are not released are
// noticed.
func TestWithin(t *testing.T) {
	before := holdings{goroutines: 20, descriptors: 30, clientBytes: 40 << 20, heapBytes: 50 << 20}
	require.True(t, before.within(before))
	for _, leak := range []func(h *holdings){
		func(h *holdings) { h.goroutines++ },
		func(h *holdings) { h.descriptors++ },
		func(h *holdings) { h.clientBytes += 6 << 20 },
		func(h *holdings) { h.heapBytes += 7 << 20 },
	} {
		after := before
		leak(&after)
		require.False(t, after.within(before), "%+v", after)
	}
}

// TestAttacksNotice: an attack fails if the server does not stop it.
func TestAttacksNotice(t *testing.T) {
	srv, _ := serve(t, &abuse.Row{}) // without directives
	target := &abuse.Target{Addr: srv.Addr().String(), Rounds: 1, Size: 500}
	for _, row := range abuse.Rows {
		if row.Limit != "" {
			require.Error(t, row.Attack(context.Background(), target), row.Name)
		}
	}
}

func TestLatencies(t *testing.T) {
	require.Zero(t, abuse.Latencies{}.P(0.99))
	all := make(abuse.Latencies, 1000)
	for i := range all {
		all[i] = time.Duration(i)
	}
	require.Equal(t, time.Duration(990), all.P(0.99))
	require.Equal(t, time.Duration(999), all.P(1))
	require.Equal(t, time.Duration(0), all.P(0))
}
