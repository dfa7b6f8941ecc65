package server_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

var hosts atomic.Int64

// ownHost returns a loopback address that no other test uses, so that no other test
// opens a port there.
func ownHost(t *testing.T) string {
	t.Helper()
	host := "127.77.0." + strconv.FormatInt(hosts.Add(1), 10)
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	l.Close()
	return host
}

// ports counts the ports that freePort has tried.
var ports atomic.Int64

// freePort returns a free TCP port of a host. It is below those that the system gives to others, whose server
// may listen on all addresses, and so on this one, once the port is free again.
func freePort(t *testing.T, host string) string {
	t.Helper()
	var err error
	for range 1000 {
		port := strconv.FormatInt(20_000+(int64(os.Getpid())*100+ports.Add(1))%12_000, 10)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, port)); err == nil {
			l.Close()
			return port
		}
	}
	require.NoError(t, err)
	return ""
}

// requireAnswers requires that a server accepts clients at an address.
func requireAnswers(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "+PONG", newWire(c).call(t, "PING"))
}

func requireRefused(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err == nil {
		c.Close()
	}
	require.ErrorContains(t, err, "refused")
}

func portOf(t *testing.T, w *wire) string {
	t.Helper()
	return infoField(t, w, "tcp_port")
}

// TestConfigSetPort changes the port; connected clients stay.
func TestConfigSetPort(t *testing.T) {
	t.Parallel()
	host := ownHost(t)
	srv, _, logged := serveWith(t, config.New(), "--bind", host, "--unixsocket",
		filepath.Join(t.TempDir(), "s"))
	c := connect(t, srv)
	first := portOf(t, c)
	require.Equal(t, "*2\r\n$4\r\nport\r\n$"+strconv.Itoa(len(first))+"\r\n"+first,
		c.call(t, "CONFIG", "GET", "port"))

	second := freePort(t, host)
	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "port", second))
	require.Equal(t, "+PONG", c.call(t, "PING"), "connected clients stay")
	requireAnswers(t, host+":"+second)
	requireRefused(t, host+":"+first)
	require.Equal(t, second, portOf(t, c))

	taken, err := net.Listen("tcp", host+":0")
	require.NoError(t, err)
	defer taken.Close()
	_, other, _ := net.SplitHostPort(taken.Addr().String())
	const failed = "-ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on " +
		"this port. Check server logs."
	require.Equal(t, failed, c.call(t, "CONFIG", "SET", "timeout", "7", "port", other))
	require.Contains(t, logged(), "port "+other+" is in use")
	requireAnswers(t, host+":"+second)
	require.Equal(t, "*2\r\n$7\r\ntimeout\r\n$1\r\n0", c.call(t, "CONFIG", "GET", "timeout"),
		"all or nothing")

	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "port", "0"))
	requireRefused(t, host+":"+second)
	require.Equal(t, "0", portOf(t, c))
	require.Equal(t, "+PONG", connect(t, srv).call(t, "PING"), "the unix socket stays")
	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "port", first))
	requireAnswers(t, host+":"+first)
}

// TestConfigSetBind changes the addresses at one port.
func TestConfigSetBind(t *testing.T) {
	t.Parallel()
	hosts := [3]string{ownHost(t), ownHost(t), ownHost(t)}
	srv, _, _ := serveWith(t, config.New(), "--bind", hosts[0])
	c := connect(t, srv)
	port := portOf(t, c)
	set := func(words string) string { return c.call(t, "CONFIG", "SET", "bind", words) }
	one, two := hosts[0]+":"+port, hosts[1]+":"+port

	require.Equal(t, "+OK", set(hosts[0]+" "+hosts[1]))
	requireAnswers(t, one)
	requireAnswers(t, two)
	require.Equal(t, "+OK", set(hosts[1]))
	requireRefused(t, one)
	requireAnswers(t, two)
	require.Equal(t, "+OK", set(hosts[0]+" -192.0.2.1"), "the optional one is missing")
	requireAnswers(t, one)
	requireRefused(t, two)

	const failed = "-ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to " +
		"specified addresses."
	require.Equal(t, failed, set("192.0.2.1"))
	require.Equal(t, failed, set(hosts[1]+" no.such.host.invalid"))
	taken, err := net.Listen("tcp", hosts[2]+":"+port)
	require.NoError(t, err)
	defer taken.Close()
	require.Equal(t, failed, set(hosts[1]+" "+hosts[2]))
	require.Equal(t, failed, set("*"), "the port is in use at one of the addresses")
	requireAnswers(t, one)
	requireRefused(t, two)
	require.Contains(t, c.call(t, "CONFIG", "GET", "bind"), "\r\n"+hosts[0]+" -192.0.2.1")

	require.Equal(t, "+OK", set(""), "no address means no TCP, as in Redis")
	requireRefused(t, one)
	require.Equal(t, "+OK", set(hosts[0]))
	requireAnswers(t, one)
}

// TestConfigSetBindToAllAddresses changes to all addresses at a port that the
// server has open at one.
func TestConfigSetBindToAllAddresses(t *testing.T) {
	t.Parallel()
	hosts := [2]string{ownHost(t), ownHost(t)}
	srv, _, _ := serveWith(t, config.New(), "--bind", hosts[0])
	c := connect(t, srv)
	// Another test may have the port open at another address: try another port.
	for c.call(t, "CONFIG", "SET", "bind", "*") != "+OK" {
		require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "port", freePort(t, hosts[0])))
	}
	port := portOf(t, c)
	requireAnswers(t, hosts[0]+":"+port)
	requireAnswers(t, hosts[1]+":"+port)
	require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "bind", hosts[1]))
	requireRefused(t, hosts[0]+":"+port)
	requireAnswers(t, hosts[1]+":"+port)
}

// TestRebindUnderLoad: while addresses come and go, clients of all of them work on, and new ones are admitted
// at the address that stays.
func TestRebindUnderLoad(t *testing.T) {
	t.Parallel()
	hosts := [2]string{ownHost(t), ownHost(t)}
	srv, _, _ := serveWith(t, config.New(), "--bind", hosts[0], "--io-loops", "2")
	control := connect(t, srv)
	port := portOf(t, control)
	work := func(address string) (stop func()) {
		nc, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { nc.Close() })
		w := newWire(nc)
		require.Equal(t, "+PONG", w.call(t, "PING")) // it is admitted
		return meanwhile(t, func() error { return w.exchange("PING\r\nINCR n\r\n") })
	}
	stays := net.JoinHostPort(hosts[0], port)
	stops := []func(){work(stays), meanwhile(t, func() error {
		nc, err := net.Dial("tcp", stays)
		if err != nil {
			return err
		}
		defer nc.Close()
		return newWire(nc).exchange("PING\r\n")
	})}
	for range 20 {
		require.Equal(t, "+OK", control.call(t, "CONFIG", "SET", "bind", hosts[0]+" "+hosts[1]))
		stops = append(stops, work(net.JoinHostPort(hosts[1], port)))
		require.Equal(t, "+OK", control.call(t, "CONFIG", "SET", "bind", hosts[0]))
	}
	for _, stop := range stops {
		stop()
	}
}

// TestConfigSetPortDuringShutdown requires that no listener stays open.
func TestConfigSetPortDuringShutdown(t *testing.T) {
	t.Parallel()
	host := ownHost(t)
	for range 20 {
		cfg := config.New()
		srv, served := serve(t, server.Options{Config: cfg}, "--bind", host)
		ports := [2]string{freePort(t, host), freePort(t, host)}
		var both sync.WaitGroup
		both.Go(func() {
			for i := range 10 {
				_ = cfg.Set([][]byte{[]byte("port"), []byte(ports[i%2])})
			}
		})
		require.NoError(t, srv.Close())
		both.Wait()
		require.NoError(t, <-served)
		requireRefused(t, host+":"+ports[0])
		requireRefused(t, host+":"+ports[1])
	}
}
