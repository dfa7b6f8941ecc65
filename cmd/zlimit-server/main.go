// Command zlimit-server is the rate-limit server. It accepts redis-server's command
// line and configuration file and serves Redis clients.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/metrics"
	"github.com/zlimit/zlimit/server"
)

// shutdownTimeout is how long shutdown waits for commands to finish and for clients
// to read their last replies.
const shutdownTimeout = 10 * time.Second

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, done := check(args, stdout, stderr); done {
		return code
	}
	if code, done := checkConfig(args, stdin, stdout, stderr); done {
		return code
	}
	if code, done := exportKeys(args, stdout, stderr); done {
		return code
	}
	if len(args) > 0 && args[0] == "--help-all" {
		writeHelpAll(stdout)
		return 0
	}
	cfg := config.New()
	in := &usedReader{Reader: stdin}
	switch err := cfg.ParseArgs(args, in); {
	case errors.Is(err, config.ErrHelp):
		writeHelp(stdout)
		return 0
	case errors.Is(err, config.ErrVersion):
		fmt.Fprintf(stdout, "zlimit-server %s, as redis-server %s\n", engine.Version, commands.RedisVersion)
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		if h := hint(err, args); h != "" {
			fmt.Fprintln(stderr, h)
		}
		return 1
	case in.used && cfg.Bool("exit-with-stdin"):
		fmt.Fprintln(stderr, "zlimit-server:", errStdinUsed)
		return 1
	}
	tuneCollector()
	err := serve(cfg, stdin, stdout)
	if line := (*config.FileError)(nil); errors.As(err, &line) { // found only now
		fmt.Fprintln(stderr, line)
		return 1
	}
	if err != nil {
		fmt.Fprintln(stderr, "zlimit-server:", err)
		return 1
	}
	return 0
}

// serve runs a server from its greeting to its shutdown.
func serve(cfg *config.Config, stdin io.Reader, stdout io.Writer) error {
	// Before anyone can know of the process: the system's default must never handle a
	// signal. Like redis-server, the process survives the loss of its terminal and of
	// its log's reader.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	signal.Ignore(syscall.SIGPIPE)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)

	log, err := openLog(cfg, stdout)
	if err != nil {
		return err
	}
	srv, err := server.Listen(server.Options{
		Config: cfg, Log: log, Disk: engine.Directory(cfg.String("dir")), Chdir: engine.Directory,
	})
	if err != nil {
		return err
	}
	logger := srv.Log()
	metricsServer, err := listenMetrics(cfg, srv)
	if err != nil {
		_ = srv.Close()
		return err
	}
	defer closeMetrics(metricsServer)
	pidfile, portFile := cfg.String("pidfile"), cfg.String("port-file") // CONFIG SET may change dir
	defer removeFile(pidfile)
	for _, f := range []struct {
		directive, path string
		number          int
	}{{"pidfile", pidfile, os.Getpid()}, {"port-file", portFile, srv.Port()}} {
		if err := writeNumber(f.path, f.number); err != nil {
			_ = srv.Close()
			return fmt.Errorf("cannot write %s: %w", f.directive, err)
		}
	}
	cfg.View().OnChange("port", func() {
		if err := writeNumber(portFile, srv.Port()); err != nil {
			logger.Warn("cannot write port-file", "error", err)
		}
	})
	logger.Info(srv.Greeting())
	if metricsServer != nil {
		addr := metricsServer.Addr()
		logger.Info(fmt.Sprintf("page at http://%v/, metrics at http://%v/metrics", addr, addr))
	}
	if addr := srv.DoorAddr(); addr != nil {
		logger.Info(fmt.Sprintf("Envoy's rate limit service at %v", addr))
	}
	if addr := srv.HTTPDoorAddr(); addr != nil {
		logger.Info(fmt.Sprintf("decisions over HTTP at %v", addr))
	}
	ended := make(chan struct{})
	defer close(ended)
	notified := make(chan struct{})
	defer func() { <-notified }() // srv ends first, in any case
	go func() {
		defer close(notified)
		notifySupervisor(cfg.String("supervised"), os.Getenv("NOTIFY_SOCKET"), srv)
	}()
	go announce(cfg, srv, stdout)
	go returnMemory(srv.Engine(), ended)
	if cfg.Bool("huge-pages") {
		go keepHuge(ended)
	}
	go reloadAtHangup(srv, hangups, logger, ended)
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	waitForShutdown(srv, signals, watchParent(cfg, stdin), logger)
	if err := shutdown(srv, signals); err != nil {
		return err
	}
	if err := <-served; err != nil {
		return err // loading failed
	}
	logger.Info("bye")
	return nil
}

// waitForShutdown waits until the server has to shut down: at a signal, if the
// final save succeeds; at a second signal in any case; when orphaned is closed; or at
// SHUTDOWN.
func waitForShutdown(
	srv *server.Server, signals <-chan os.Signal, orphaned <-chan struct{}, logger *slog.Logger,
) {
	for tried := false; ; {
		select {
		case s := <-signals:
			err := prepareShutdown(srv, signals, logger)
			if errors.Is(err, engine.ErrShutdownAborted) {
				logger.Info(s.String()+": the server goes on", "error", err)
				continue
			}
			if err != nil && !tried {
				logger.Warn(s.String()+": the keys cannot be saved, so the server goes on; the next signal "+
					"ends it all the same", "error", err)
				tried = true
				continue
			}
			logger.Info(s.String() + ": finishing the commands under way")
		case <-orphaned:
			logger.Info("standard input has ended: finishing the commands under way")
			if err := prepareShutdown(srv, signals, logger); err != nil {
				logger.Warn("the keys cannot be saved", "error", err)
			}
		case <-srv.Ending():
			if !srv.LoadFailed() {
				logger.Info("SHUTDOWN: finishing the commands under way")
			}
		}
		return
	}
}

// prepareShutdown waits for replicas and saves what a signal must not lose. Another
// signal or SHUTDOWN ends the wait; prepareShutdown then returns nil, and the server
// shuts down anyway, after a signal without saving.
func prepareShutdown(srv *server.Server, signals <-chan os.Signal, logger *slog.Logger) error {
	force, saved := make(chan struct{}), make(chan error, 1)
	go func() { saved <- srv.Engine().PrepareShutdown(force) }()
	select {
	case err := <-saved:
		return err
	case s := <-signals:
		logger.Warn(s.String() + " once more: the server ends as it is")
		close(force)
		srv.Engine().CancelSaves()
	case <-srv.Ending():
		close(force)
	}
	if err := <-saved; err != nil {
		logger.Warn("not saved", "error", err)
	}
	return nil
}

// reloadAtHangup reads policies and certificates again at every SIGHUP, until ended is closed. Without
// either, the signal has no effect.
func reloadAtHangup(
	srv *server.Server, hangups <-chan os.Signal, logger *slog.Logger, ended <-chan struct{},
) {
	for {
		select {
		case <-hangups:
		case <-ended:
			return
		}
		switch read, err := srv.Engine().LoadPolicies(); {
		case err != nil:
			logger.Warn("hangup: the policies stay as they are", "error", err)
		case read:
			logger.Info("hangup: read the policies again")
		}
		if !srv.HasTLS() {
			continue
		}
		if err := srv.ReloadTLS(); err != nil {
			logger.Warn("hangup: the certificates stay as they are", "error", err)
			continue
		}
		logger.Info("hangup: read the certificates again")
	}
}

// listenMetrics serves Prometheus metrics and the page at metrics-addr, or returns nil if
// that is empty.
func listenMetrics(cfg *config.Config, srv *server.Server) (*metrics.Server, error) {
	address := cfg.String("metrics-addr")
	if address == "" {
		return nil, nil
	}
	return metrics.Listen(address, srv.Engine(), func(remote net.Addr) engine.Peer {
		return engine.Peer{
			Addr: remote.String(), LocalAddr: address, Network: server.Network(remote),
			Local: server.IsLocal(remote),
		}
	})
}

// closeMetrics is called after the server's shutdown, so that it can be observed.
// It interrupts slow scrapes.
func closeMetrics(m *metrics.Server) {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = m.Close(ctx)
}

// shutdown shuts the server down gracefully, or at once at another signal. Final
// saves take the time they need.
func shutdown(srv *server.Server, signals <-chan os.Signal) error {
	ctx, force := context.WithCancelCause(context.Background())
	defer force(nil)
	go func() {
		late := time.NewTimer(shutdownTimeout)
		defer late.Stop()
		for {
			select {
			case s := <-signals:
				force(fmt.Errorf("%v once more: ended before all commands were finished", s))
			case <-late.C:
				if srv.Connections() == 0 {
					continue // still saving
				}
				force(fmt.Errorf("gave up after %v: commands were still running", shutdownTimeout))
			case <-ctx.Done():
			}
			return
		}
	}()
	if srv.CloseWithin(ctx) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// writeNumber atomically writes a file of one line, so that a waiting reader finds it
// complete. An empty path means no file.
func writeNumber(path string, n int) error {
	if path == "" {
		return nil
	}
	part := fmt.Sprintf("%s.%d", path, os.Getpid())
	err := os.WriteFile(part, []byte(strconv.Itoa(n)+"\n"), 0o644)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		removeFile(part)
	}
	return err
}

func removeFile(path string) {
	if path != "" {
		_ = os.Remove(path) // it may be gone already
	}
}
