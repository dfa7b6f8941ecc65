package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	b := &build{}
	flags.StringVar(&b.source, "source", "../", "`directory` of the module")
	flags.StringVar(&b.version, "version", "", "`version`; the source's if it is empty")
	flags.StringVar(&b.out, "out", "out", "`directory` for the files")
	flags.Func("pgo", "off builds in half the time, without the `profile`", func(profile string) error {
		b.extra = append(b.extra, "-pgo="+profile)
		return nil
	})
	only := flags.String("only", "", "one `platform`, as linux/amd64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen := platforms
	if *only != "" {
		system, arch, ok := strings.Cut(*only, "/")
		if !ok {
			return fmt.Errorf("%q is no system/architecture", *only)
		}
		chosen = [][2]string{{system, arch}}
	}
	licences, err := readLicences(filepath.Join(b.source, "docs", "dependencies.md"))
	if err != nil {
		return err
	}
	return b.release(ctx, chosen, licences)
}
