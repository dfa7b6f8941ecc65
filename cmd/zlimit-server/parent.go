package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server"
)

// What a program that starts the server, such as a test, relies on: docs/embedding.md.

var errStdinUsed = errors.New("exit-with-stdin cannot be combined with a configuration from standard input")

// A usedReader records whether it was read from.
type usedReader struct {
	io.Reader
	used bool
}

func (r *usedReader) Read(p []byte) (int, error) {
	r.used = true
	return r.Reader.Read(p)
}

// watchParent returns a channel that is closed when standard input ends, if
// exit-with-stdin is set, and nil otherwise. What is read is discarded.
func watchParent(cfg *config.Config, stdin io.Reader) <-chan struct{} {
	if !cfg.Bool("exit-with-stdin") {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, stdin) // an error is an end, too
	}()
	return ended
}

// announce writes the line of ready-line once the server is loaded. It returns then, or
// when the server ends.
func announce(cfg *config.Config, srv *server.Server, stdout io.Writer) {
	if !cfg.Bool("ready-line") {
		return
	}
	select {
	case <-srv.Loaded():
		doors := ""
		if addr := srv.HTTPDoorAddr(); addr != nil {
			doors = " http=" + addr.String()
		}
		if addr := srv.DoorAddr(); addr != nil {
			doors += " grpc=" + addr.String()
		}
		fmt.Fprintf(stdout, "ready port=%d pid=%d version=%s%s\n", srv.Port(), os.Getpid(), engine.Version,
			doors)
	case <-srv.Ending():
	}
}
