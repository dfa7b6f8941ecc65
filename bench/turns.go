package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Warm-ups before the first round and before each further one.
const (
	firstWarm = 600 * time.Millisecond
	laterWarm = 100 * time.Millisecond
)

// A round is the result of one server in one turn.
type round struct {
	PerSecond  float64       `json:"flows_per_second"`
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	P999       time.Duration `json:"p999_ns"`
	CPUPerMega float64       `json:"server_cpu_seconds_per_million"`
	RSS        int64         `json:"rss_bytes"`
	// Shares of a core's time during the round.
	ServerBusy float64 `json:"server_busy"`
	ClientBusy float64 `json:"client_busy"`
	IdleBusy   float64 `json:"idle_server_busy"`
	// Disturbed is what other processes and the hypervisor took of the core that lost
	// more to them; Stolen is the hypervisor's part of it. They are shares of a core.
	Disturbed float64 `json:"disturbed"`
	Stolen    float64 `json:"stolen"`
	// Repeated is how many attempts at this round were discarded.
	Repeated int   `json:"repeated,omitempty"`
	Admitted int64 `json:"admitted"`
	Denied   int64 `json:"denied"`
}

// A side is a server in one row.
type side struct {
	*serverProcess
	flow    flow
	decides bool
	fill    flow   // nil: a round begins with an empty keyspace
	sink    *sink  // nil: the server has no replica
	filled  bool   // once is enough: see row.keep
	suffix  string // of the comparison's name in the report
	rounds  []round

	idleBytes float64 // memory of each of the row's idle connections
}

// A measurement is the closed loop of a row.
type measurement struct {
	row    row
	where  placement
	length time.Duration // of a round
}

// takeTurns runs a closed loop on each contender in turn, round by round, and compares
// the first with each of the others. An older server of ours runs what ours runs, and
// Valkey and a newer Redis what Redis runs, where they are known, without a floor.
func takeTurns(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	contenders := slices.Clone(r.sides)
	for _, j := range joining {
		i := slices.IndexFunc(r.sides, func(c contender) bool { return c.program == j.as })
		// A log would be written to the directory of the side that the program stands beside.
		if b.programs[j.program] == "" || i < 0 || slices.Contains(r.sides[i].flags, "--appendonly") {
			continue
		}
		c := r.sides[i]
		c.program, c.name, c.joins, c.suffix = j.program, "", true, "-"+string(j.program)
		contenders = append(contenders, c)
	}
	sides, err := b.alternate(ctx, r, contenders, say)
	if err != nil {
		return nil, err
	}
	var results []result
	for i, other := range sides[1:] {
		res := conclude(r, r.targetOf(contenders[i+1], b.quick), sides[0], other)
		if i > 0 { // the first result has what is to be said of ours
			res.Warnings = slices.DeleteFunc(res.Warnings,
				func(w string) bool { return strings.HasPrefix(w, sides[0].name+":") })
		}
		results = append(results, res)
	}
	return results, nil
}

// alternate runs a closed loop on each contender in turn, round by round, in an order
// that is drawn anew for every round. The first is compared with the others, as
// progress says.
func (b *bench) alternate(ctx context.Context, r row, contenders []contender, say say) ([]*side, error) {
	m := &measurement{row: r, where: b.where, length: b.length}
	var sides []*side
	for i, c := range contenders {
		server, err := b.start(ctx, c)
		if err != nil {
			return nil, err
		}
		defer server.stop()
		s := &side{
			serverProcess: server, flow: c.flow, decides: r.decidesOn(c), fill: r.fillOf(i), suffix: c.suffix,
		}
		conns, err := m.prepare(ctx, s, c.replica)
		for _, conn := range conns {
			defer conn.Close()
		}
		if s.sink != nil {
			defer s.sink.shut()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		sides = append(sides, s)
	}
	rounds := b.rounds * max(r.times, 1)
	spare := repeats{left: rounds}
	if b.quick {
		spare.left = 0
	}
	for n := range rounds {
		for _, i := range b.shuffle.Perm(len(sides)) {
			s := sides[i]
			taken, err := spare.calmest(
				func() (round, error) { return m.turn(ctx, s, sides) },
				func(r round) {
					say("%s lost %.0f%% of a core to others, at most %.0f%% to the hypervisor", s.name,
						100*r.Disturbed, 100*r.Stolen)
				})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			s.rounds = append(s.rounds, taken)
		}
		text := fmt.Sprintf("round %d of %d:", n+1, rounds)
		for i, s := range sides {
			text += fmt.Sprintf(" %s %s, %.2f us a call", s.name, quantity(s.rounds[n].PerSecond, "/s"),
				s.rounds[n].CPUPerMega)
			if i > 0 {
				text += fmt.Sprintf(" (%.2f times)", s.rounds[n].CPUPerMega/sides[0].rounds[n].CPUPerMega)
			}
			text += ";"
		}
		say("%s", strings.TrimSuffix(text, ";"))
	}
	return sides, nil
}

// load returns this row's traffic on a side.
func (m *measurement) load(s *side, keys *picker) *load {
	return &load{
		address: s.address, flow: s.flow, pipeline: m.row.pipeline,
		connections: m.row.connections, keys: keys, quota: m.row.quota, sink: s.sink,
	}
}

// keys returns the picker of a round.
func (m *measurement) keys() *picker {
	p := uniform(m.row.keys, 0)
	if m.row.renew {
		p.perGeneration = int64(m.row.keys) * m.row.quota.limit / 2
	}
	return p
}

// probeKey is a key number that no row's picker reaches.
const probeKey = 9_999_999

// beyond is how many flows a probe sends above the limit.
const beyond = 20

// prepare loads the scripts and checks the answers before any is counted: a benchmark of
// error replies would be fast and worthless. A row that decides gets limit+beyond
// requests for one key, a millisecond apart, and must admit exactly the limit. Then it
// opens the row's idle connections, and has a sink follow the server if there is a replica.
func (m *measurement) prepare(ctx context.Context, s *side, replica bool) (idle []net.Conn, err error) {
	for _, source := range scripts {
		if err := s.command(shaOf(source), "SCRIPT", "LOAD", source); err != nil {
			return nil, err
		}
	}
	if err := s.command("OK", "FLUSHALL"); err != nil {
		return nil, err
	}
	probe := m.load(s, &picker{only: probeKey})
	probe.pipeline, probe.connections, probe.flows = 1, 1, m.row.quota.limit+beyond
	probe.fromMs = time.Now().UnixMilli() - probe.flows
	t, err := probe.run(ctx)
	if err == nil {
		err = judge(s.decides, t, m.row.quota.limit)
	}
	if err != nil {
		return nil, fmt.Errorf("check of the answers: %w", err)
	}
	if idle, s.idleBytes, err = s.idlers(m.row.idle); err != nil || !replica {
		return idle, err
	}
	if s.sink, err = attach(s.address); err != nil {
		return idle, err
	}
	return idle, s.sink.follow(ctx)
}

// idlers opens n connections, which send a PING and stay. It returns what one takes of the server's resident
// memory.
func (s *serverProcess) idlers(n int) (conns []net.Conn, bytes float64, err error) {
	before, err := readProcess(s.pid)
	if err != nil {
		return nil, 0, err
	}
	for range n {
		conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
		if err != nil {
			return conns, 0, fmt.Errorf("%d connections are open: %w", len(conns), err)
		}
		conns = append(conns, conn)
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return conns, 0, err
		}
		if reply, err := readText(bufio.NewReaderSize(conn, 16)); err != nil || reply != "PONG" {
			return conns, 0, errors.Join(err, fmt.Errorf("PING was answered with %q", reply))
		}
	}
	after, err := readProcess(s.pid)
	return conns, float64(after.rss-before.rss) / float64(max(n, 1)), err
}

// crowded is a closed loop beside idle connections. It compares also p99 and what an idle connection takes.
func crowded(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	sides, err := b.alternate(ctx, r, r.sides, say)
	if err != nil {
		return nil, err
	}
	var p99, idle [2]series
	for i, s := range sides {
		p99[i] = seriesOf(s.name, s.rounds, func(r round) float64 { return ms(r.P99) })
		idle[i] = series{s.name, []float64{s.idleBytes / 1000}}
	}
	return []result{
		conclude(r, b.floor(r.floor), sides[0], sides[1]),
		weigh(r.name+"-p99", "p99 of "+r.about, "ms", b.floor(r.floor), p99[0], p99[1]),
		weigh(r.name+"-memory", "resident memory of an idle connection that has sent a PING", "KB",
			b.floor(r.floor), idle[0], idle[1]),
	}, nil
}

var errVerdicts = errors.New("wrong verdicts")

// judge compares the decisions of a probe with the limit.
func judge(decides bool, t *tally, limit int64) error {
	var admitted, denied int64
	if decides {
		admitted, denied = limit, beyond
	}
	if t.admitted != admitted || t.denied != denied {
		return fmt.Errorf("%w: %d admitted and %d denied, want %d and %d", errVerdicts, t.admitted, t.denied,
			admitted, denied)
	}
	return nil
}

// empty restores the keyspace to its state at the start of a round.
func (m *measurement) empty(ctx context.Context, s *side) error {
	if m.row.keep && s.filled {
		return nil
	}
	s.filled = true
	if err := s.command("OK", "FLUSHALL"); err != nil || s.fill == nil {
		return err
	}
	// Fill all keys once, then all again. A millisecond passes with each batch, so that
	// no key gets two hits in one.
	times := int64(m.row.fillTimes)
	fill := m.load(s, &picker{keys: m.row.keys, inOrder: true})
	fill.flow, fill.pipeline, fill.connections = s.fill, int(min(m.row.keys, 100)), 1
	fill.flows = int64(m.row.keys) * times
	fill.fromMs = time.Now().UnixMilli() - fill.flows/int64(fill.pipeline)
	if _, err := fill.run(ctx); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	return nil
}

// turn runs a round on one side while the other servers idle.
func (m *measurement) turn(ctx context.Context, s *side, all []*side) (round, error) {
	if err := m.empty(ctx, s); err != nil {
		return round{}, err
	}
	l := m.load(s, m.keys())
	if m.row.span == 0 { // filling warms the others
		l.duration = laterWarm
		if len(s.rounds) == 0 {
			l.duration = firstWarm
		}
		if _, err := l.run(ctx); err != nil {
			return round{}, fmt.Errorf("warm: %w", err)
		}
	}
	before, err := m.sample(s, all)
	if err != nil {
		return round{}, err
	}
	l.duration, l.flows = m.length, maxFlows
	if m.row.span > 0 {
		l.duration, l.flows = 0, int64(m.row.keys)*int64(m.row.span)
	}
	t, err := l.run(ctx)
	if err != nil {
		return round{}, err
	}
	if t.flows == 0 {
		return round{}, fmt.Errorf("%w: not one flow in %s", errNoAnswer, m.length)
	}
	after, err := m.sample(s, all)
	if err == nil && s.decides {
		err = t.admits()
	}
	return after.since(before).round(t), err
}

// admits checks that every flow of a round was a decision, and that nearly all admitted.
func (t *tally) admits() error {
	if t.admitted+t.denied != t.all {
		return fmt.Errorf("%w: %d of %d flows had one", errVerdicts, t.admitted+t.denied, t.all)
	}
	if t.denied*100 > t.all {
		return fmt.Errorf("%w: %d of %d denied in a row that admits", errVerdicts, t.denied, t.all)
	}
	return nil
}

// maxFlows ends a round in any case.
const maxFlows = 200_000_000
