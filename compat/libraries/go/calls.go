package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// A rule is a limit in a number of seconds.
type rule struct{ limit, seconds int }

// makeCalls makes a library's calls one at a time, as in says; see compat/libraries/README.md.
func makeCalls(ctx context.Context, library, name string, in io.Reader, out io.Writer) error {
	flows := libraries[library].flows
	i := slices.IndexFunc(flows, func(f flow) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("%s has no flow %s", library, name)
	}
	var (
		connected limiter
		limiters  map[rule]hit
	)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if port, ok := strings.CutPrefix(lines.Text(), "connect "); ok {
			connected, limiters = flows[i].limiter(net.JoinHostPort("127.0.0.1", port)), map[rule]hit{}
			fmt.Fprintln(out, "connected")
			continue
		}
		var (
			key string
			r   rule
		)
		if _, err := fmt.Sscanf(lines.Text(), "hit %s %d %d", &key, &r.limit, &r.seconds); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		call, ok := limiters[r]
		if !ok {
			var err error
			if call, err = connected(r.limit, r.seconds); err != nil {
				return err
			}
			limiters[r] = call
		}
		a, err := call(ctx, key)
		switch {
		case err != nil:
			fmt.Fprintln(out, "error", strings.Join(strings.Fields(err.Error()), " "))
		case a.allowed:
			fmt.Fprintln(out, "allowed", a.fields)
		default:
			fmt.Fprintln(out, "denied", a.fields)
		}
	}
	return nil
}
