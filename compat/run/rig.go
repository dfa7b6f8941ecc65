package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// tagFlow uses CLUSTER KEYSLOT, which Redis outside a cluster refuses. Redis runs it in
// a cluster of one node.
const tagFlow = "hash-tag"

// clientTimeout is far more than the slowest program needs, a Spring application on a
// busy machine.
const clientTimeout = 10 * time.Minute

// A rig has both running servers and the result of each preparation.
type rig struct {
	ours, theirs         side             // for the documents' flows; libraries have their own servers
	oursPath, theirsPath string           // the servers' programs
	gateway              bool             // ours is a gateway over a cluster of redis-servers
	cluster              bool             // each is a cluster of one node
	prepared             map[string]error // by name; absent if not needed
	folder               string           // working folder of the servers, removed at the end
}

// A side is one of the two servers. tagged is where tagFlow runs; it equals plain if
// that answers CLUSTER KEYSLOT.
type side struct {
	plain, tagged *held
}

// prepareAll builds, installs and starts everything concurrently, except the libraries'
// servers. A client that cannot be prepared loses its rows. A server that cannot be
// started ends the run.
func prepareAll(ctx context.Context, root string, o options, clients []client, progress io.Writer) (*rig,
	error,
) {
	stamps := filepath.Join(root, "compat", ".bin")
	if err := os.MkdirAll(stamps, 0o755); err != nil {
		return nil, err
	}
	redis, err := exec.LookPath(underRoot(root, o.redis))
	if err != nil {
		return nil, fmt.Errorf("nothing to compare with: %w", err)
	}
	folder, err := os.MkdirTemp("", "zlimit-compat-")
	if err != nil {
		return nil, err
	}
	r := &rig{
		prepared: map[string]error{}, folder: folder, theirsPath: redis,
		gateway: o.gateway, cluster: o.cluster,
	}

	var (
		wait sync.WaitGroup
		mu   sync.Mutex // protects progress and r.prepared
	)
	prepare := func(p preparation) error {
		begin := time.Now()
		done, err := p.run(ctx, stamps)
		mu.Lock()
		defer mu.Unlock()
		r.prepared[p.name] = err
		switch {
		case err != nil:
			fmt.Fprintf(progress, "%s could not be prepared: %v\n", p.name, err)
		case done:
			fmt.Fprintf(progress, "%s prepared in %.1f s\n", p.name, time.Since(begin).Seconds())
		default:
			fmt.Fprintf(progress, "%s was prepared\n", p.name)
		}
		return err
	}
	for _, p := range preparations(root) {
		if needed(clients, p.name) {
			wait.Go(func() { _ = prepare(p) }) // kept in r.prepared
		}
	}
	var oursErr, theirsErr error
	wait.Go(func() {
		path := o.server
		if path == "" {
			path = filepath.Join(stamps, "zlimit-server")
			if oursErr = prepare(serverPreparation(root, path)); oursErr != nil {
				return
			}
		} else if path, oursErr = exec.LookPath(underRoot(root, path)); oursErr != nil {
			return
		}
		r.oursPath = path
		if o.libraries {
			return
		}
		if isRedis(path) && !o.gateway {
			r.ours, oursErr = r.startRedisSide(ctx, path, folder)
			return
		}
		plain, err := r.startOurs(ctx)
		r.ours, oursErr = side{plain, plain}, err
	})
	if !o.libraries {
		wait.Go(func() { r.theirs, theirsErr = r.startRedisSide(ctx, redis, folder) })
	}
	wait.Wait()
	if err := errors.Join(oursErr, theirsErr); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// underRoot resolves a relative path against the root, because `go -C` has left the
// user's folder. A bare program name is left for PATH.
func underRoot(root, path string) string {
	if filepath.IsAbs(path) || !strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	return filepath.Join(root, path)
}

func needed(clients []client, preparation string) bool {
	for _, c := range clients {
		if c.preparation == preparation {
			return true
		}
	}
	return false
}

// isRedis reports whether path is a redis-server in the place of our server. It then
// needs a cluster for tagFlow, too.
func isRedis(path string) bool { return strings.HasPrefix(filepath.Base(path), "redis-server") }

// startRedisSide starts redis-servers with held clocks, so that no time to live depends on the
// machine's load.
func (r *rig) startRedisSide(ctx context.Context, path, folder string) (side, error) {
	if r.cluster {
		node, err := startCluster(ctx)
		return side{node, node}, err
	}
	plain, err := startHeld(ctx, path, folder, true)
	if err != nil {
		return side{}, err
	}
	tagged, err := startCluster(ctx)
	return side{plain, tagged}, err
}

func (r *rig) stop() error {
	var errs []error
	for _, s := range []side{r.ours, r.theirs} {
		if s.tagged != nil && s.tagged != s.plain {
			errs = append(errs, s.tagged.stop())
		}
		if s.plain != nil {
			errs = append(errs, s.plain.stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(r.folder))...)
}

// runAll runs one client at a time, because one flow flushes the server's scripts.
func (r *rig) runAll(ctx context.Context, root string, clients []client, progress io.Writer) []row {
	var rows, limits []row
	for i, c := range clients {
		ours, theirs := r.ours.invocations(c), r.theirs.invocations(c)
		calls := slices.Concat(ours, theirs)
		asksLimits := r.cluster && !isRedis(r.oursPath)
		if asksLimits { // with a key of its own: ids are remembered
			calls = append(calls, r.ours.plain.invocation(c, limitFlow, "--key", fmt.Sprintf("compat:%d", i)))
		}
		var last outcome
		rows = append(rows, r.runBoth(c, progress, func() (outcome, outcome) {
			if r.cluster {
				err := errors.Join(announce(r.ours.plain.port, c.announced),
					announce(r.theirs.plain.port, c.announced))
				if err != nil {
					return outcome{err: err}, outcome{err: err}
				}
			}
			outs := runClient(ctx, root, c, calls)
			last = outs[len(outs)-1]
			return asOne(outs[:len(ours)]), asOne(outs[len(ours):][:len(theirs)])
		})...)
		if asksLimits && r.prepared[c.preparation] == nil {
			limits = append(limits, limitRow(c, last))
		}
	}
	return append(rows, limits...)
}

// runBoth runs a client on both servers, if it could be installed.
func (r *rig) runBoth(c client, progress io.Writer, on func() (ours, theirs outcome)) []row {
	if err := r.prepared[c.preparation]; err != nil {
		failed := outcome{err: fmt.Errorf("the client could not be installed: %w", err)}
		return clientRows(c, failed, failed)
	}
	begin := time.Now()
	ours, theirs := on()
	fmt.Fprintf(progress, "%s ran in %.1f s\n", c.label(ours.transcript.client), time.Since(begin).Seconds())
	return clientRows(c, ours, theirs)
}

// invocations returns those that run every flow of a client against one server, with tagFlow on tagged.
func (s side) invocations(c client) []invocation {
	all := []invocation{s.plain.invocation(c, "all")}
	if s.tagged != s.plain && slices.Contains(c.expected, tagFlow) {
		all = append(all, s.tagged.invocation(c, tagFlow))
	}
	return all
}

// asOne returns the outcome of a side's invocations as that of one.
func asOne(outs []outcome) outcome {
	all := outs[0]
	for _, tagged := range outs[1:] {
		i := slices.IndexFunc(all.transcript.sections, func(s section) bool { return s.flow == tagFlow })
		if i >= 0 {
			if len(tagged.transcript.sections) == 1 {
				all.transcript.sections[i] = tagged.transcript.sections[0]
			} else {
				all.transcript.sections[i].complete = false
			}
		}
		all.err = errors.Join(all.err, tagged.err)
	}
	return all
}
