package aof_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/store/effects"
)

// A numbered group carries its number and its length in each of its commands, so that
// what is loaded can be compared with what was appended: it must be the groups 0, 1, 2,
// ... up to some number, each of them whole. A base stands for all groups before a
// number.

// numbered returns the i-th group. Its size and form depend on i only.
func numbered(i int) *effects.Group {
	g := new(effects.Group)
	values := values(i)
	for part, value := range values {
		g.Add((i+part)%2, []byte("SET"), fmt.Appendf(nil, "g:%d:%d:%d", i, part, len(values)), value)
	}
	return g
}

// values returns the values of the i-th group.
func values(i int) [][]byte {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	parts := 1
	if rng.IntN(3) == 0 {
		parts = 2 + rng.IntN(3)
	}
	out := make([][]byte, parts)
	for part := range out {
		out[part] = payload(rng)
	}
	return out
}

func payload(rng *rand.Rand) []byte {
	switch rng.IntN(12) {
	case 0:
		return make([]byte, 1+rng.IntN(3000)) // zeros are values, too
	case 1:
		return bytes.Repeat([]byte("\r\n*3\r\n$3\r\nSET\r\n"), 1+rng.IntN(100))
	default:
		return fmt.Appendf(nil, "%0*d", rng.IntN(80), rng.Int64())
	}
}

// replay collects from a log the number of groups in its base and of those that follow
// without a gap.
type replay struct {
	groups int
	part   int
}

func (r *replay) apply(args [][]byte) error {
	switch strings.ToUpper(string(args[0])) {
	case "SELECT":
		return nil
	case "BASE":
		n, err := strconv.Atoi(string(args[1]))
		r.groups = n
		return err
	}
	var i, part, parts int
	if _, err := fmt.Sscanf(string(args[1]), "g:%d:%d:%d", &i, &part, &parts); err != nil {
		return err
	}
	if i != r.groups || part != r.part {
		return fmt.Errorf("group %d part %d follows %d groups and %d parts", i, part, r.groups, r.part)
	}
	if want := values(i); len(want) != parts || !bytes.Equal(want[part], args[2]) {
		return fmt.Errorf("group %d part %d has another value", i, part)
	}
	if r.part++; r.part == parts {
		r.groups, r.part = i+1, 0
	}
	return nil
}

// life is one run of a server: it loads, continues the log, and suffers faults.
type life struct {
	disk   *crashdisk.Disk
	rng    *rand.Rand
	policy aof.Policy
	log    *aof.Log
	o      aof.Options

	groups  int     // appended, or loaded
	ends    []int64 // positions after those appended in this life
	times   []int64 // instants of all groups
	loaded  int     // number of groups before them
	safe    int     // number of groups reported to be on disk
	nowMs   int64
	stopped error
}

var errBase = errors.New("planted: the base cannot be written")

// begin loads what is there. It fails if fewer groups than safe are found or the loader
// refuses.
func (f *life) begin() error {
	f.o = aof.Options{FS: f.disk.FS(), Policy: func() aof.Policy { return f.policy }}
	var r replay
	found, err := aof.Load(f.o, true, aof.Handler{Apply: r.apply})
	if err != nil {
		if errors.Is(err, crashdisk.ErrOff) || errors.Is(err, errDisk) {
			f.stopped = err
			return nil
		}
		return fmt.Errorf("loading: %w", err)
	}
	switch {
	case r.part != 0:
		return fmt.Errorf("group %d is incomplete", r.groups)
	case r.groups < f.safe:
		return fmt.Errorf("%d groups were on disk, %d are loaded", f.safe, r.groups)
	case r.groups > f.groups:
		return fmt.Errorf("%d groups were appended, %d are loaded", f.groups, r.groups)
	}
	if r.groups > 0 && found.InstantMs < f.times[r.groups-1] {
		return fmt.Errorf("the clock starts at %d, before group %d of %d", found.InstantMs, r.groups-1,
			f.times[r.groups-1])
	}
	f.log, f.stopped = nil, nil
	log, err := aof.Open(f.o, found, false, f.base(r.groups))
	if err != nil {
		f.stopped = err // what was loaded is not safe before Open returns, and what was unsafe may come back
		return nil
	}
	f.groups, f.loaded, f.ends, f.safe = r.groups, r.groups, nil, r.groups
	f.log = log
	return nil
}

func (f *life) base(groups int) func(io.Writer) error {
	return func(w io.Writer) error {
		var g effects.Group
		g.Add(0, []byte("BASE"), strconv.AppendInt(nil, int64(groups), 10))
		out, _ := g.AppendTo(aof.AppendInstant(nil, f.nowMs), -1)
		_, err := w.Write(out)
		return err
	}
}

func (f *life) append() {
	f.nowMs++
	f.times = append(f.times[:f.groups], f.nowMs)
	f.ends = append(f.ends, f.log.Append(numbered(f.groups), f.nowMs))
	f.groups++
}

// note records what the log says is on disk.
func (f *life) note() {
	synced := f.log.Synced()
	for i, end := range f.ends {
		if end <= synced {
			f.safe = max(f.safe, f.loaded+i+1)
		}
	}
}

// wait waits for everything appended.
func (f *life) wait() {
	if f.policy == aof.No {
		return
	}
	for f.log.Synced() < f.log.End() {
		f.nowMs += 1000
		f.log.Tick(f.nowMs)
		if f.log.Err() != nil {
			break
		}
		runtime.Gosched()
	}
	if f.policy == aof.Always && f.log.Wait(f.log.End(), nil) == nil {
		f.safe = max(f.safe, f.groups)
	}
	f.note()
}

// rewrite performs a rewrite with events between the steps.
func (f *life) rewrite() {
	if f.log.Prepare() != nil {
		return
	}
	f.some()
	if f.rng.IntN(8) == 0 {
		f.log.Abort()
		return
	}
	f.log.Switch()
	at := f.groups
	f.some()
	if f.rng.IntN(8) == 0 {
		f.log.Abort()
		return
	}
	write := f.base(at)
	if f.rng.IntN(8) == 0 {
		write = func(io.Writer) error { return errBase }
	}
	_ = f.log.Finish(false, write) // an error must leave the log as it was: that is tested
	f.note()
}

func (f *life) some() {
	for range f.rng.IntN(4) {
		f.append()
	}
	if f.rng.IntN(3) == 0 {
		f.wait()
	}
}

// live performs steps until the power goes or they are done.
func (f *life) live(steps int) {
	for range steps {
		if f.stopped != nil || (f.log.Err() != nil && errors.Is(f.log.Err(), crashdisk.ErrOff)) {
			break
		}
		switch f.rng.IntN(8) {
		case 0, 1, 2:
			for range 1 + f.rng.IntN(5) {
				f.append()
			}
		case 3, 4:
			f.wait()
		case 5:
			f.nowMs += 1000
			f.log.Tick(f.nowMs)
			runtime.Gosched()
		case 6:
			f.rewrite()
		case 7:
			f.note()
			if f.log.Status().NeedsRewrite {
				f.rewrite()
			}
		}
	}
	if f.log != nil {
		f.note()
	}
}

// end ends the process without another operation on the disk.
func (f *life) end() {
	f.disk.FS()
	if f.log != nil {
		_ = f.log.Close() // the process is dead
	}
}

// lives runs several lives on one disk. The power goes at some point in each, several
// of the possible resulting disks are loaded, and the next life continues on the last.
func lives(seed uint64, hook func(*rand.Rand) func(crashdisk.Op) crashdisk.Fault) error {
	rng := rand.New(rand.NewPCG(seed, 3))
	f := &life{disk: crashdisk.New(seed), rng: rng, policy: aof.Policy(rng.IntN(3)), nowMs: 1_700_000_000_000}
	for n := range 4 {
		if hook != nil {
			f.disk.Hook(hook(rand.New(rand.NewPCG(seed, uint64(n)+100))))
		}
		f.disk.StopAt(f.disk.Ops() + 1 + rng.IntN(100))
		if err := f.begin(); err != nil {
			return fmt.Errorf("life %d: %w", n, err)
		}
		if f.stopped == nil {
			f.live(40)
		}
		killed := rng.IntN(4) == 0
		f.end()
		groups, safe := f.groups, f.safe
		if killed { // only the process ended: all that it wrote is there
			f.disk.StopAt(0)
			f.disk.Hook(nil)
			continue
		}
		cut := f.disk
		for range 6 {
			f.disk = cut.PowerCut(rng)
			f.groups, f.safe = groups, safe
			if err := f.begin(); err != nil {
				return fmt.Errorf("life %d, %s: %w\n%s", n, []string{"everysec", "always", "no"}[f.policy],
					err, f.disk)
			}
			if f.stopped != nil {
				return fmt.Errorf("life %d: opening: %w", n, f.stopped)
			}
			f.end()
		}
	}
	return nil
}

const crashSeeds = 40

func TestPowerCuts(t *testing.T) {
	for seed := range seeds() {
		require.NoError(t, lives(uint64(seed), nil), "seed %d", seed)
	}
}

// manySeeds raises the number of seeds for a longer run.
var manySeeds = flag.Int("seeds", 0, "seeds of the power cut tests")

func seeds() int {
	if *manySeeds > 0 {
		return *manySeeds
	}
	if testing.Short() || race.Enabled {
		return crashSeeds / 5 // each takes ten times as long
	}
	return crashSeeds
}

// failing makes some operations fail, and each log file full now and then.
func failing(rng *rand.Rand) func(crashdisk.Op) crashdisk.Fault {
	return func(op crashdisk.Op) crashdisk.Fault {
		if rng.IntN(12) > 0 {
			return crashdisk.Fault{}
		}
		return crashdisk.Fault{Err: errDisk, Short: rng.IntN(op.Size + 1)}
	}
}

var errDisk = errors.New("planted: input/output error")

// TestPowerCutsAmongFaults makes writes, syncs and other operations fail at random
// before the power does.
func TestPowerCutsAmongFaults(t *testing.T) {
	for seed := range seeds() {
		seed += crashSeeds
		require.NoError(t, lives(uint64(seed), locked(failing)), "seed %d", seed)
	}
}

// TestPowerCutsDetectFaults skips operations of one kind on files of one kind and
// requires TestPowerCuts to notice each.
func TestPowerCutsDetectFaults(t *testing.T) {
	for _, planted := range []struct {
		kind crashdisk.Kind
		name string
	}{
		{crashdisk.Sync, ".incr.aof"},
		{crashdisk.Sync, ".base.aof"},
		{crashdisk.Sync, ".manifest"},
		{crashdisk.SyncDir, aof.DefaultDirName},
		{crashdisk.SyncDir, "."},
		{"nothing", ""}, // the control
	} {
		forget := func(*rand.Rand) func(crashdisk.Op) crashdisk.Fault {
			return func(op crashdisk.Op) crashdisk.Fault {
				lie := op.Kind == planted.kind && strings.HasSuffix(op.Name, planted.name)
				return crashdisk.Fault{Lie: lie}
			}
		}
		found, tries := -1, crashSeeds
		if planted.kind == "nothing" {
			tries = 5
		}
		for seed := 0; seed < tries && found < 0; seed++ {
			if lives(uint64(seed), forget) != nil {
				found = seed
			}
		}
		if planted.kind == "nothing" {
			require.Negative(t, found)
			continue
		}
		require.GreaterOrEqual(t, found, 0, "a forgotten %s of %s is not noticed", planted.kind, planted.name)
		t.Logf("a forgotten %s of %s is noticed by seed %d", planted.kind, planted.name, found)
	}
}

// locked makes a hook safe for concurrent use.
func locked(
	hook func(*rand.Rand) func(crashdisk.Op) crashdisk.Fault,
) func(*rand.Rand) func(crashdisk.Op) crashdisk.Fault {
	return func(rng *rand.Rand) func(crashdisk.Op) crashdisk.Fault {
		var mu sync.Mutex
		f := hook(rng)
		return func(op crashdisk.Op) crashdisk.Fault {
			mu.Lock()
			defer mu.Unlock()
			return f(op)
		}
	}
}
