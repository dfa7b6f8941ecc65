// Command zlimit-server is the rate-limit server: it takes redis-server's
// command line and configuration file and answers Redis' clients.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server"
)

// patience is how long clients have at the end to take their last replies.
const patience = 10 * time.Second

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cfg := config.New()
	switch err := cfg.ParseArgs(args, stdin); {
	case errors.Is(err, config.ErrHelp):
		fmt.Fprint(stdout, usage)
		writeDirectives(stdout)
		return 0
	case errors.Is(err, config.ErrVersion):
		fmt.Fprintf(stdout, "zlimit-server %s, as redis-server %s\n", engine.Version, engine.RedisVersion)
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	}
	out, err := openLog(cfg.String("logfile"), stdout)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	logger := log.New(out, "", log.LstdFlags|log.Lmsgprefix)

	srv, err := server.Listen(server.Options{Config: cfg, Log: logger})
	if err != nil {
		fmt.Fprintln(stderr, "zlimit-server:", err)
		return 1
	}
	for name, text := range map[string]string{
		"port-file": strconv.Itoa(srv.Port()) + "\n",
		"pidfile":   strconv.Itoa(os.Getpid()) + "\n",
	} {
		if path := cfg.String(name); path != "" {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				fmt.Fprintf(stderr, "zlimit-server: cannot write %s: %v\n", name, err)
				srv.Close()
				return 1
			}
		}
	}
	logger.Print(srv.Greeting())

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		logger.Printf("%v: finishing the commands under way", <-signals)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		srv.CloseWithin(ctx)
	}()
	srv.Serve()
	logger.Print("bye")
	if path := cfg.String("pidfile"); path != "" {
		os.Remove(path)
	}
	return 0
}

// openLog opens what logfile names; an empty name is standard output.
func openLog(path string, stdout io.Writer) (io.Writer, error) {
	if path == "" {
		return stdout, nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("zlimit-server: cannot open logfile: %w", err)
	}
	return f, nil
}

const usage = `Usage: zlimit-server [FILE | -] [--DIRECTIVE VALUE ...] ...
       zlimit-server --help | --version

  zlimit-server                          listens on 127.0.0.1:6379
  zlimit-server --port 7000              the same on another port
  zlimit-server zlimit.conf --port 0     a file as for redis-server; any free port
  echo "port 7000" | zlimit-server -     directives from standard input

Then:
  redis-cli PING
  redis-cli RL.ALLOW user:42 100 1m      at most 100 a minute

Directives:
`

// writeDirectives lists every directive with its default.
func writeDirectives(w io.Writer) {
	cfg := config.New()
	for _, d := range cfg.Directives() {
		name := d.Name
		if value := cfg.Text(d.Name); value != "" {
			name += " " + value
		}
		fmt.Fprintf(w, "  --%-38s %s\n", name, d.About)
	}
}
