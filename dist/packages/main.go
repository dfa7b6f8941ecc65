// Command packages builds the packages of other languages around the binaries that command
// release has built. Equal binaries and sources give equal packages, byte for byte.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// builders build the packages of a language each, by its name in -only.
var builders = []struct {
	name  string
	build func(ctx context.Context, f *frame) error
}{
	{"python", buildPython},
	{"node", buildNode},
	{"java", buildJava},
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	f := &frame{owner: theOwner}
	flags.StringVar(&f.dist, "dist", ".", "`directory` of this module, with the packages' sources")
	flags.StringVar(&f.bin, "bin", "out/bin", "`directory` with the binaries of command release")
	flags.StringVar(&f.out, "out", "out/packages", "`directory` for the packages")
	flags.StringVar(&f.version, "version", "", "`version` of the binaries; the source's if it is empty")
	only := flags.String("only", "", "`languages`, with commas between; all if it is empty")
	checked := flags.Bool("check", false, "check what was built, in the place of building")
	final := flags.Bool("final", false, "with -check: fail if something is open, too")
	flags.Func("platform", "one `platform`, as linux/amd64; all without it", func(name string) error {
		at := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if at < 0 {
			return fmt.Errorf("packages are for %v", platforms)
		}
		f.platforms = platforms[at : at+1]
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := f.prepare(); err != nil {
		return err
	}
	if *checked {
		c, err := f.publishable(ctx)
		if err != nil {
			return err
		}
		return c.report(stdout, *final)
	}
	wanted := strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
	built := 0
	for _, b := range builders {
		if len(wanted) > 0 && !slices.Contains(wanted, b.name) {
			continue
		}
		fmt.Fprintf(stdout, "building the packages for %s\n", b.name)
		if err := b.build(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		built++
	}
	if built < len(wanted) {
		return fmt.Errorf("-only: not all of %q are languages", wanted)
	}
	if err := f.writeSums(); err != nil {
		return err
	}
	if err := f.printSizes(stdout); err != nil {
		return err
	}
	return f.printInstall(stdout)
}
