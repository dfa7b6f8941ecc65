package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/oracle"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/server"
	"github.com/zlimit/zlimit/server/pipe"
)

// A policySwitch changes what clients wait for. Lines that begin with DISK are for the disk.
type policySwitch struct {
	name  string
	lines []string
	cuts  bool // it may close the connections of clients that wait
}

var policySwitches = []policySwitch{
	{name: "appendfsync", lines: []string{
		"CONFIG SET appendfsync always", "CONFIG SET appendfsync everysec", "CONFIG SET appendfsync no",
		"CONFIG SET no-appendfsync-on-rewrite yes", "CONFIG SET no-appendfsync-on-rewrite no",
	}},
	{name: "appendonly", lines: []string{"CONFIG SET appendonly yes", "CONFIG SET appendonly no"}},
	{name: "save", lines: []string{`CONFIG SET save "1 1"`, `CONFIG SET save ""`, "BGSAVE", "SAVE"}},
	{name: "rewrite", lines: []string{"BGREWRITEAOF", "DEBUG LOADAOF", "DEBUG RELOAD"}},
	{name: "pause", lines: []string{
		"CLIENT PAUSE 50 WRITE", "CLIENT PAUSE 20 ALL", "CLIENT UNPAUSE", "CLIENT PAUSE 3000 WRITE",
	}},
	{name: "role", lines: []string{"REPLICAOF master 1", "REPLICAOF NO ONE"}, cuts: true},
	{name: "disk", lines: []string{
		"DISK write", "DISK sync", "DISK rename", "DISK works", "DISK works", "DISK works",
	}, cuts: true},
}

// A switchRun is a server in a bubble, whose clients write while switches happen.
type switchRun struct {
	seed    uint64
	disk    *crashdisk.Disk
	failing atomic.Pointer[string] // the operations on files that fail; nil: none
	dial    func() (net.Conn, error)
	cuts    bool

	mu    sync.Mutex
	calls int               // protected by mu, as are the fields below
	open  map[string]string // by client, what it has sent and waits for
	sent  map[string]int    // by client, how many batches
	done  []string          // the switches
}

// startSwitchRun starts a server whose directory is a disk in memory and whose master is another server.
func startSwitchRun(t *testing.T, seed uint64) *switchRun {
	r := &switchRun{seed: seed, disk: crashdisk.New(seed), open: map[string]string{}, sent: map[string]int{}}
	random := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	r.disk.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if failing := r.failing.Load(); failing != nil && *failing == string(op.Kind) {
			return crashdisk.Fault{Err: syscall.EIO}
		}
		if op.Kind == crashdisk.Sync {
			mu.Lock()
			us := random.IntN(20_000)
			mu.Unlock()
			time.Sleep(time.Duration(us) * time.Microsecond) //nolint:forbidigo // the bubble's clock
		}
		return crashdisk.Fault{}
	})

	serve := func(o engine.Options, args ...string) *pipe.Listener {
		o.Config, o.Clock = config.New(), zlimit.SystemClock()
		require.NoError(t, o.Config.ParseArgs(args, nil))
		e := engine.New(o)
		require.NoError(t, e.Open())
		require.NoError(t, e.Load(func() {}))
		srv, l := server.New(server.Options{Config: o.Config, Clock: o.Clock, Engine: e}), pipe.Listen()
		require.NoError(t, srv.Add(l))
		served := make(chan error, 1)
		go func() { served <- srv.Serve() }()
		t.Cleanup(func() {
			require.NoError(t, srv.Close())
			require.NoError(t, <-served)
			_ = e.Close() // the disk may have failed
		})
		return l
	}
	master := serve(engine.Options{}, "--repl-diskless-sync-delay", "0")
	l := serve(engine.Options{
		Disk: r.disk.FS(), Turn: runtime.Gosched,
		Pause: func() { time.Sleep(time.Millisecond) }, //nolint:forbidigo // the bubble's clock
		After: func(ms int64, fn func()) func() {
			timer := time.AfterFunc(time.Duration(ms)*time.Millisecond, fn)
			return func() { timer.Stop() }
		},
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) {
			return master.Dial(context.Background())
		},
	}, "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--enable-debug-command", "yes",
		"--client-output-buffer-limit", "normal 0 0 0")
	r.dial = func() (net.Conn, error) { return l.Dial(context.Background()) }
	return r
}

// switchCalls are what clients send, several at a time.
var switchCalls = []string{
	"SET k%d v", "INCR n%d", "GET k%d", "RL.ALLOW u%d 5 1m", "RPUSH l%d a", "BLPOP l%d 0.3",
	"WAITAOF 1 0 500", "WAIT 1 200", "DEL l%d", `EVAL "return{redis.call('INCR',KEYS[1])}" 1 n%d`,
	"MULTI|INCR n%d|GET k%d|EXEC", "PING", "PUBLISH c m", "SAVE", "INFO persistence",
}

// talk sends batches and reads every reply. A connection that ends is replaced.
func (r *switchRun) talk(name string, random *rand.Rand) error {
	var w *wire
	for range 40 {
		if w == nil {
			c, err := r.dial()
			if err != nil {
				return err
			}
			w = newWire(c)
			defer c.Close()
		}
		var lines []string
		for range 1 + random.IntN(5) {
			line := switchCalls[random.IntN(len(switchCalls))]
			line = strings.ReplaceAll(line, "%d", fmt.Sprint(random.IntN(20)))
			lines = append(lines, strings.Split(line, "|")...)
		}
		switch err := r.call(name, w, lines); {
		case errors.Is(err, io.EOF) && r.cuts:
			w = nil
		case err != nil:
			return fmt.Errorf("%s: %q: %w", name, lines, err)
		}
	}
	return nil
}

// call sends lines and reads as many replies, each of which must come within wireTimeout of the bubble's
// clock, or the end of the connection.
func (r *switchRun) call(name string, w *wire, lines []string) error {
	r.mu.Lock()
	r.open[name] = strings.Join(lines, "; ")
	r.sent[name]++
	r.mu.Unlock()
	var out []byte
	for _, line := range lines {
		args, err := oracle.Words(line)
		if err != nil {
			return err
		}
		out = appendCommand(out, args)
	}
	if err := w.sendRaw(out); err != nil {
		if errors.Is(err, io.ErrClosedPipe) {
			return io.EOF
		}
		return err
	}
	for range lines {
		if _, err := w.readReply(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, name)
	r.calls += len(lines)
	return nil
}

// operate switches at random until over is closed, and then makes all well.
func (r *switchRun) operate(kinds []policySwitch, over <-chan struct{}) error {
	random := rand.New(rand.NewPCG(r.seed, 2))
	var w *wire
	do := func(line string) error {
		r.done = append(r.done, line)
		if what, ok := strings.CutPrefix(line, "DISK "); ok {
			r.failing.Store(&what)
			return nil
		}
		if w == nil {
			c, err := r.dial()
			if err != nil {
				return err
			}
			w = newWire(c)
		}
		err := r.call("operator", w, []string{line})
		if errors.Is(err, io.EOF) && r.cuts {
			w = nil
			return nil
		}
		if err != nil {
			return fmt.Errorf("operator: %s: %w", line, err)
		}
		return nil
	}
	defer func() {
		if w != nil {
			w.conn.Close()
		}
	}()
	for {
		select {
		case <-over:
			for _, line := range []string{"DISK works", "CLIENT UNPAUSE", "REPLICAOF NO ONE"} {
				if err := do(line); err != nil {
					return err
				}
			}
			return nil
		case <-time.After(time.Duration(random.IntN(40_000)) * time.Microsecond): // of the bubble
		}
		kind := kinds[random.IntN(len(kinds))]
		if err := do(kind.lines[random.IntN(len(kind.lines))]); err != nil {
			return err
		}
		// Another switch may end what this one has left waiting, so there is none before the calls under way
		// have ended. Where a disk may fail they do so only when it works again.
		if !r.cuts && random.IntN(4) == 0 {
			if err := r.settle(); err != nil {
				return err
			}
		}
	}
}

// settle waits until every call under way has ended.
func (r *switchRun) settle() error {
	r.mu.Lock()
	open := maps.Clone(r.sent)
	r.mu.Unlock()
	for range 6000 { // a minute of the bubble
		r.mu.Lock()
		ended := func(name string, n int) bool { return r.open[name] == "" || r.sent[name] != n }
		maps.DeleteFunc(open, ended)
		r.mu.Unlock()
		if len(open) == 0 {
			return nil
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the bubble's clock
	}
	return fmt.Errorf("calls of %v do not end after %q",
		slices.Collect(maps.Keys(open)), r.done[len(r.done)-1])
}

// TestSwitchesEndEveryCall switches policies at random while clients write, and requires that every call
// ends: with a reply, or where a disk fails or the role changes with the end of the connection. Time is the
// bubble's, so a busy machine delays nothing, and a wait that nobody ends is seen.
func TestSwitchesEndEveryCall(t *testing.T) {
	always := policySwitches[0]
	sets := map[string][]policySwitch{"all": policySwitches}
	for _, s := range policySwitches {
		sets[s.name] = []policySwitch{always, s}
	}
	for name, kinds := range sets {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { runSwitches(t, seed, kinds) })
			})
		}
	}
}

func runSwitches(t *testing.T, seed uint64, kinds []policySwitch) {
	const clients = 24
	r := startSwitchRun(t, seed)
	for _, k := range kinds {
		r.cuts = r.cuts || k.cuts
	}
	var all sync.WaitGroup
	failed := make(chan error, clients+1)
	for client := range clients {
		all.Go(func() {
			failed <- r.talk(fmt.Sprint("client ", client), rand.New(rand.NewPCG(seed, uint64(10+client))))
		})
	}
	over, operated := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(operated)
		failed <- r.operate(kinds, over)
	}()
	all.Wait()
	close(over)
	<-operated
	for range clients + 1 {
		if err := <-failed; err != nil {
			t.Errorf("%v", err)
		}
	}
	t.Logf("seed %d: %d calls, %d switches", seed, r.calls, len(r.done))
	if t.Failed() {
		t.Logf("switches: %q", r.done)
		for name, lines := range r.open {
			t.Logf("%s waits for %s", name, lines)
		}
	}
}
