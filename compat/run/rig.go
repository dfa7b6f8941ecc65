package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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

// runAll runs one client at a time, because one flow flushes the server's scripts. The
// two servers run concurrently.
func (r *rig) runAll(ctx context.Context, root string, clients []client, progress io.Writer) []row {
	var rows []row
	for _, c := range clients {
		on := func(s side) func() outcome {
			return func() outcome {
				if r.cluster {
					if err := announce(s.plain.port, c.announced); err != nil {
						return outcome{err: err}
					}
				}
				return s.run(ctx, root, c)
			}
		}
		rows = append(rows, r.runBoth(c, progress, on(r.ours), on(r.theirs))...)
	}
	return rows
}

// runBoth runs a client on both servers concurrently, if it could be installed.
func (r *rig) runBoth(c client, progress io.Writer, onOurs, onTheirs func() outcome) []row {
	if err := r.prepared[c.preparation]; err != nil {
		failed := outcome{err: fmt.Errorf("the client could not be installed: %w", err)}
		return clientRows(c, failed, failed)
	}
	begin := time.Now()
	var ours, theirs outcome
	var wait sync.WaitGroup
	wait.Go(func() { ours = onOurs() })
	wait.Go(func() { theirs = onTheirs() })
	wait.Wait()
	fmt.Fprintf(progress, "%s ran in %.1f s\n", c.label(ours.transcript.client), time.Since(begin).Seconds())
	return clientRows(c, ours, theirs)
}

// run runs every flow of a client against one server.
func (s side) run(ctx context.Context, root string, c client) outcome {
	all := runClient(ctx, root, c, s.plain.port, s.plain.lost, "all")
	if s.tagged == s.plain {
		return all
	}
	for i, section := range all.transcript.sections {
		if section.flow == tagFlow {
			tagged := runClient(ctx, root, c, s.tagged.port, s.tagged.lost, tagFlow)
			if len(tagged.transcript.sections) == 1 {
				all.transcript.sections[i] = tagged.transcript.sections[0]
			} else {
				all.transcript.sections[i].complete = false
			}
			all.err = errors.Join(all.err, tagged.err)
		}
	}
	return all
}

// runClient runs a program to its end. lost reports whether the server exited
// meanwhile. more is appended to the command line.
func runClient(ctx context.Context, root string, c client, port int, lost func() error, flow string,
	more ...string,
) outcome {
	words, err := c.command(root)
	if err != nil {
		return outcome{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	words = append(words, "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--flow", flow, "--key",
		"compat:"+c.name)
	words = slices.Concat(words, c.args, more)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()

	single := flow
	if flow == "all" {
		single = ""
	}
	t, readErr := readTranscript(&stdout, single)
	if runErr != nil {
		runErr = fmt.Errorf("--flow %s: %w\n%s", flow, runErr, tail(stderr.Bytes(), 30))
	}
	return outcome{t, errors.Join(runErr, lost(), readErr)}
}
