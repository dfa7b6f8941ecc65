package server

import (
	"context"
	"io"
	"net"
	"time"
)

// dialMaster is engine.Options.Dial: it connects to a master.
func dialMaster(addr string, stop <-chan struct{}) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	connected := make(chan struct{})
	defer close(connected)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-connected:
		}
	}()
	d := net.Dialer{KeepAlive: 15 * time.Second}
	return d.DialContext(ctx, "tcp", addr)
}
