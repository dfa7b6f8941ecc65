package server_test

import (
	"net"
	"os"
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
