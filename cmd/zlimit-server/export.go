package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/upstream"
	"github.com/zlimit/zlimit/upstream/directives"
	"github.com/zlimit/zlimit/upstream/export"
)

const exportUsage = "usage: " +
	"zlimit-server --export URL [--from URL] [--replace] [FILE] [--DIRECTIVE VALUE ...]"

// exportKeys handles --export, which moves keys to a server or a cluster: those of a running server or
// cluster, or those of the files that the directives name. done is false if the command line has no --export.
func exportKeys(args []string, stdout, stderr io.Writer) (code int, done bool) {
	if len(args) == 0 || args[0] != "--export" {
		return 0, false
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := runExport(ctx, args, stdout); err != nil {
		fmt.Fprintln(stderr, "zlimit-server:", err)
		return 1, true
	}
	return 0, true
}

func runExport(ctx context.Context, args []string, stdout io.Writer) error {
	o := export.Options{Log: func(text string) { fmt.Fprintln(stdout, text) }}
	rest, from, to := args[1:], "", ""
	if len(rest) > 0 {
		to, rest = rest[0], rest[1:]
	}
	for len(rest) > 0 {
		if rest[0] == "--replace" {
			o.Replace, rest = true, rest[1:]
			continue
		}
		if rest[0] != "--from" || len(rest) < 2 {
			break
		}
		from, rest = rest[1], rest[2:]
	}
	if to == "" || strings.HasPrefix(to, "--") {
		return errors.New(exportUsage)
	}
	if from == "" {
		return exportFiles(ctx, o, to, rest, stdout)
	}
	if err := onlyUpstream(rest); err != nil {
		return err
	}
	cfg := config.New()
	if err := cfg.ParseArgs(rest, strings.NewReader("")); err != nil {
		return err
	}
	var err error
	if o.To, o.ToTLS, err = directives.Address(cfg, to); err != nil {
		return err
	}
	if o.From, o.FromTLS, err = directives.Address(cfg, from); err != nil {
		return err
	}
	report, err := export.Run(ctx, o)
	if err != nil {
		return err
	}
	tellReport(stdout, report)
	fmt.Fprintf(stdout,
		"Writes waited for %v at most. The source refuses them now. To let it accept them:\n%s",
		report.Waited.Round(time.Millisecond), report.Unfence)
	return nil
}

// onlyUpstream returns an error if directives are about something else than how to connect. A file may have
// others, as that of a gateway has.
func onlyUpstream(args []string) error {
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") && !strings.HasPrefix(arg, "--upstream-") {
			return fmt.Errorf("%s: with --from only directives that begin with upstream- count\n%s", arg,
				exportUsage)
		}
	}
	return nil
}

// exportFiles moves the keys of files. A server that nobody else knows loads them.
func exportFiles(ctx context.Context, o export.Options, to string, args []string, stdout io.Writer) error {
	cfg := config.New()
	args = append(args, "--bind", "127.0.0.1", "--requirepass", "", "--save", "", "--upstream", "")
	if err := cfg.ParseArgs(args, strings.NewReader("")); err != nil {
		return err
	}
	var err error
	if o.To, o.ToTLS, err = directives.Address(cfg, to); err != nil {
		return err
	}
	srv, err := server.Listen(server.Options{
		Config: cfg, FreePort: true, Disk: engine.Directory(cfg.String("dir")),
	})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve() }()
	defer func() { _ = srv.Close() }() // it has nothing to save
	select {
	case err := <-served:
		return err
	case <-srv.Loaded():
	case <-ctx.Done():
		return ctx.Err()
	}
	o.Quiet = true
	if o.From, err = upstream.ParseURL("redis+single://" + srv.Addr().String()); err != nil {
		return err
	}
	report, err := export.Run(ctx, o)
	if err == nil {
		tellReport(stdout, report)
	}
	return err
}

func tellReport(stdout io.Writer, r export.Report) {
	fmt.Fprintf(stdout,
		"%d keys were copied in %v, %d of them again because they had changed, %d while writes waited.\n",
		r.Keys, r.Took.Round(time.Millisecond), r.Again, r.Last)
}
