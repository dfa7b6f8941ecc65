package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/store"
)

// transcriptCases are the commands of the server's transcripts; their replies are not
// used here.
const transcriptCases = "../server/testdata/transcripts/*.cases"

// moreCases change keys by commands that Redis does not have, and by those that fail in
// the transcripts.
const moreCases = `== more
RL.ALLOW l 5 1m COST 2
RL.ALLOW l 5 1m
RL.REFUND l 1
RL.ADOPT l BACK ms
RL.ADOPT l
RL.RESET l
RL.ALLOW f 5 1m ALGO FIXED
RL.ALLOW f 5 1m ALGO FIXED
RL.ALLOW b 5 1m ALGO BUCKETS 10
RL.ALLOW b 5 1m ALGO BUCKETS 10
RL.ALLOW g 5 1m ALGO GCRA 2
RL.ALLOW g 5 1m ALGO GCRA 2
RL.CHECK edge ip a
RL.CHECK edge ip a COST 3
RL.MALLOW 2 m1 5 1m m2 5 1m
RL.MALLOW 2 m1 5 1m m2 5 1m
CL.THROTTLE t 5 10 60
CL.THROTTLE t 5 10 60
RL.THROTTLE t 5 10 60
RL.RESERVE h 5 1m 2 HOLD 10000 ID a
RL.RESERVE h 5 1m 2 HOLD 10000 ID b
RL.SETTLE h a 1
RL.CANCEL h b
RL.MRESERVE 2 m3 m4 TERM 5 1m TERM SLOTS 2 LEASE 1m HOLD 10000 ID a
RL.MRESERVE 2 m3 m4 TERM 5 1m TERM SLOTS 2 LEASE 1m HOLD 10000 ID b
RL.MSETTLE 2 m3 m4 a 2 0
RL.MCANCEL 2 m3 m4 b
RL.ACQUIRE s 2 LEASE 10000 ID a
RL.ACQUIRE s 2 LEASE 10000 ID b
@advance 10
RL.RENEW s a LEASE 20000
RL.RELEASE s a
ZADD z 0 a 0 b 0 c
ZREMRANGEBYLEX z [a [b
INCREX i
INCREX i
`

// A snapshotPlayer runs command lines, each writing one during a snapshot that began
// before it.
type snapshotPlayer struct {
	engine            *Engine
	us                int64
	conns             map[string]*Session
	compared, changes int
	changed           map[string]bool // commands that have changed something
}

// begin makes an engine.
func (p *snapshotPlayer) begin() {
	p.end()
	now := func() int64 { return p.us }
	p.us = 1_700_000_000_000_000
	cfg := config.New()
	if err := cfg.ParseArgs([]string{"--rl-policies", "testdata/policies.yaml"}, nil); err != nil {
		panic(err)
	}
	p.engine = New(Options{Clock: clock.New(clock.Sources{Monotonic: now, Wall: now}), Config: cfg})
	if err := p.engine.LoadFiles(); err != nil {
		panic(err)
	}
}

func (p *snapshotPlayer) end() {
	for _, s := range p.conns {
		s.Close()
	}
	p.conns = map[string]*Session{}
}

// empty empties the keyspace, for connections that are new.
func (p *snapshotPlayer) empty() {
	p.end()
	p.session("").Do(fields("FLUSHALL"))
}

func (p *snapshotPlayer) session(conn string) *Session {
	s := p.conns[conn]
	if s == nil {
		s = p.engine.NewSession(Peer{Owner: true})
		p.conns[conn] = s
	}
	return s
}

func (p *snapshotPlayer) run(conn string, args ...[]byte) error {
	s := p.session(conn)
	if b := s.Blocked(); b != nil {
		if !b.Over() {
			return nil
		}
		s.Resume()
	}
	if s.Closing() {
		return nil
	}
	e := p.engine
	cmd := e.table.Lookup(args[0])
	if cmd == nil || !cmd.Is(commands.Write) && cmd.Locks == nil && cmd.Name != "exec" {
		s.Do(args)
		return nil
	}
	got := contents{}
	var twice error
	e.store.Lock(store.AllShards)
	sn := e.store.BeginSnapshot(func(db int, n *store.Node) {
		if err := got.add(db, n); err != nil {
			twice = err
		}
	})
	want := contentsOf(e.store)
	e.store.Unlock(store.AllShards)
	s.Do(args)
	p.compared++
	if cmd.Is(commands.Write) {
		if contentsOf(e.store).differs(want) != "" {
			p.changed[cmd.Name] = true
			p.changes++
		}
	}
	for shard := range store.NumShards {
		for more := true; more; {
			e.store.Lock(1 << shard)
			more = sn.Step(shard, 128)
			e.store.Unlock(1 << shard)
		}
	}
	switch diff := got.differs(want); {
	case twice != nil:
		return twice
	case diff != "":
		return fmt.Errorf("%q: %s", args, diff)
	case sn.Unpreserved() > 0:
		return fmt.Errorf("%q: late", args)
	}
	return nil
}

// unplayable reports whether a command waits forever or ends the test.
func unplayable(args [][]byte) bool {
	name := strings.ToLower(string(args[0]))
	return name == "shutdown" || name == "debug" ||
		slices.ContainsFunc(args, func(a []byte) bool { return bytes.Contains(a, []byte("while ")) })
}

func (p *snapshotPlayer) play(t *testing.T, f scenario.File) {
	p.begin() // once a file, since most of the time of an engine for each section would go into its start
	for _, s := range f.Sections {
		p.empty()
		conn := ""
		for _, step := range s.Steps {
			switch step.Action {
			case scenario.Conn:
				conn = step.Text
			case scenario.Clock:
				p.us = max(p.us, step.Value*1000)
			case scenario.Advance:
				p.us += step.Value * 1000
			case scenario.Command:
				if !unplayable(step.Args) {
					require.NoError(t, p.run(conn, step.Args...))
				}
			}
		}
	}
}

// TestNoCommandGoesPastASnapshot runs every writing command line of the transcripts,
// scripts, transactions and served waiters among them, between the begin and the walk of
// a snapshot, which must not contain its effects. Every writing command changes keys at
// least once.
func TestNoCommandGoesPastASnapshot(t *testing.T) {
	race.OneGoroutine(t)
	p := &snapshotPlayer{changed: map[string]bool{}}
	defer func() { p.end() }()
	files, err := scenario.Glob(transcriptCases)
	require.NoError(t, err)
	more, err := scenario.Read(moreCases)
	require.NoError(t, err)
	for _, f := range append(files, more) {
		p.play(t, f)
	}
	payload := strings.Clone(send(p.session(""), "DUMP", "i").Str())
	for _, line := range []string{
		"RESTORE restored 0 ?", "RESTORE-ASKING restored 0 ? REPLACE", "RESTORE-ASKING again 0 ?",
	} {
		args := fields(line)
		args[3] = []byte(payload)
		require.NoError(t, p.run("", args...))
	}
	var never []string
	for _, cmd := range p.engine.table.All() {
		if cmd.Is(commands.Write) && len(cmd.Keys) > 0 && !p.changed[cmd.Name] {
			never = append(never, cmd.Name)
		}
	}
	t.Log(p.compared, p.changes)
	require.Empty(t, never, "these were never seen to change anything")
}

// TestMissingHookIsDetected runs the same comparison with a row that is wrongly flagged
// as read-only.
func TestMissingHookIsDetected(t *testing.T) {
	p := &snapshotPlayer{changed: map[string]bool{}}
	p.begin()
	defer func() { p.end() }()
	require.NoError(t, p.run("", fields("RPUSH k a")...))
	p.engine.table.Lookup([]byte("rpush")).Reads = func([][]byte) bool { return true }
	require.Error(t, p.run("", fields("RPUSH k b")...))
}
