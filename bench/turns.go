package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	// Foreign is what other processes used on the busier of the two cores; 0 if nothing
	// is pinned, because it is then unknown.
	Foreign  float64 `json:"foreign_busy"`
	Admitted int64   `json:"admitted"`
	Denied   int64   `json:"denied"`
}

// A side is a server in one row.
type side struct {
	*serverProcess
	flow   flow
	mix    mix
	fill   flow  // nil: a round begins with an empty keyspace
	sink   *sink // nil: the server has no replica
	rounds []round
}

// A measurement is the closed loop of a row.
type measurement struct {
	row    row
	where  placement
	length time.Duration // of a round
}

// takeTurns runs a closed loop on each contender in turn, round by round, and compares
// the first with each of the others. Valkey, if installed, runs what Redis runs,
// without a floor.
func takeTurns(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	contenders := r.sides
	if _, ok := b.programs[valkeyServer]; ok && r.sides[1].program == redisServer {
		third := r.sides[1]
		third.program = valkeyServer
		contenders = append(slices.Clone(contenders), third)
	}
	sides, err := b.alternate(ctx, r, contenders, say)
	if err != nil {
		return nil, err
	}
	var results []result
	for i, other := range sides[1:] {
		floor := r.target(b.quick)
		if i > 0 {
			floor = 0
		}
		results = append(results, conclude(r, floor, sides[0], other))
	}
	return results, nil
}

// alternate runs a closed loop on each contender in turn, round by round. Each second one is what the one
// before it is compared with, as progress says.
func (b *bench) alternate(ctx context.Context, r row, contenders []contender, say say) ([]*side, error) {
	m := &measurement{row: r, where: b.where, length: b.length}
	var sides []*side
	for i, c := range contenders {
		server, err := b.start(ctx, c)
		if err != nil {
			return nil, err
		}
		defer server.stop()
		s := &side{serverProcess: server, flow: c.flow, mix: r.mixOf(c), fill: r.fillOf(min(i, 1))}
		if err := m.prepare(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if c.replica {
			if s.sink, err = attach(s.address); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			defer s.sink.shut()
			if err := s.sink.follow(ctx); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		sides = append(sides, s)
	}
	for n := range b.rounds {
		for _, s := range sides {
			if err := m.turn(ctx, s, sides); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
		}
		text := fmt.Sprintf("round %d of %d:", n+1, b.rounds)
		for _, s := range sides {
			text += fmt.Sprintf(" %s %s/s", s.name, thousands(s.rounds[n].PerSecond))
		}
		say("%s, %.2f times", text, sides[0].rounds[n].PerSecond/sides[1].rounds[n].PerSecond)
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
	if m.row.zipf {
		p = zipf(m.row.keys)
	}
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
// requests for one key, a millisecond apart, and must admit exactly the limit.
func (m *measurement) prepare(ctx context.Context, s *side) error {
	for _, source := range []string{script, libraryScript} {
		if sha, err := s.ask("SCRIPT", "LOAD", source); err != nil {
			return fmt.Errorf("SCRIPT LOAD: %w", err)
		} else if sha != shaOf(source) {
			return fmt.Errorf("SCRIPT LOAD answered %q, want %q", sha, shaOf(source))
		}
	}
	if err := m.empty(ctx, s); err != nil {
		return err
	}
	probe := m.load(s, &picker{only: probeKey})
	probe.pipeline, probe.connections, probe.flows = 1, 1, m.row.quota.limit+beyond
	probe.fromMs = time.Now().UnixMilli() - probe.flows
	t, err := probe.run(ctx)
	if err != nil {
		return fmt.Errorf("check of the answers: %w", err)
	}
	if err := judge(s.mix != undecided, t, m.row.quota.limit); err != nil {
		return fmt.Errorf("check of the answers: %w", err)
	}
	return nil
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
	if reply, err := s.ask("FLUSHALL"); err != nil {
		return fmt.Errorf("FLUSHALL: %w", err)
	} else if reply != "OK" {
		return fmt.Errorf("FLUSHALL answered %q", reply)
	}
	if s.fill == nil {
		return nil
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
func (m *measurement) turn(ctx context.Context, s *side, all []*side) error {
	if err := m.empty(ctx, s); err != nil {
		return err
	}
	l := m.load(s, m.keys())
	l.duration = laterWarm
	if len(s.rounds) == 0 {
		l.duration = firstWarm
	}
	if _, err := l.run(ctx); err != nil {
		return fmt.Errorf("warm: %w", err)
	}

	before, err := m.sample(s, all)
	if err != nil {
		return err
	}
	l.duration = m.length
	l.flows = maxFlows
	t, err := l.run(ctx)
	if err != nil {
		return err
	}
	if t.flows == 0 {
		return fmt.Errorf("%w: not one flow in %s", errNoAnswer, m.length)
	}
	after, err := m.sample(s, all)
	if err != nil {
		return err
	}
	if err := s.mix.check(t); err != nil {
		return err
	}
	s.rounds = append(s.rounds, after.since(before, t))
	return nil
}

// check compares a round's decisions with its mix.
func (x mix) check(t *tally) error {
	if x == undecided {
		return nil
	}
	if t.admitted+t.denied != t.all {
		return fmt.Errorf("%w: %d of %d flows had one", errVerdicts, t.admitted+t.denied, t.all)
	}
	switch {
	case x == admitting && t.denied*100 > t.all:
		return fmt.Errorf("%w: %d of %d denied in a row that admits", errVerdicts, t.denied, t.all)
	case x == denying && t.admitted*100 > t.all:
		return fmt.Errorf("%w: %d of %d admitted in a row that denies", errVerdicts, t.admitted, t.all)
	}
	return nil
}

// maxFlows ends a round in any case.
const maxFlows = 200_000_000

// counters is a reading of the kernel's counters.
type counters struct {
	at                     time.Time
	server, client, idle   processUse
	serverCore, clientCore time.Duration
	pinned                 bool
}

func (m *measurement) sample(s *side, all []*side) (counters, error) {
	l := counters{at: time.Now(), pinned: m.where.pinned()}
	var errs [4]error
	l.server, errs[0] = readProcess(s.pid)
	l.client, errs[1] = readProcess(os.Getpid())
	if l.pinned {
		l.serverCore, errs[2] = readCore(m.where.server)
		l.clientCore, errs[3] = readCore(m.where.client)
	}
	for _, other := range all {
		if other != s {
			use, err := readProcess(other.pid)
			l.idle.cpu += use.cpu
			errs[0] = errors.Join(errs[0], err)
		}
	}
	return l, errors.Join(errs[:]...)
}

// since computes a round from two readings and the client's tally.
func (l counters) since(before counters, t *tally) round {
	wall := l.at.Sub(before.at)
	server := l.server.cpu - before.server.cpu
	client := l.client.cpu - before.client.cpu
	idle := l.idle.cpu - before.idle.cpu
	share := func(d time.Duration) float64 { return float64(d) / float64(wall) }
	r := round{
		PerSecond:  float64(t.flows) / t.elapsed.Seconds(),
		P50:        t.latency.quantile(0.50),
		P99:        t.latency.quantile(0.99),
		P999:       t.latency.quantile(0.999),
		CPUPerMega: server.Seconds() / float64(t.all) * 1e6,
		RSS:        l.server.rss,
		ServerBusy: share(server),
		ClientBusy: share(client),
		IdleBusy:   share(idle),
		Admitted:   t.admitted,
		Denied:     t.denied,
	}
	if l.pinned {
		r.Foreign = max(0,
			share(l.serverCore-before.serverCore-server-idle),
			share(l.clientCore-before.clientCore-client))
	}
	return r
}
