package envoy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	types "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A Mode selects what Generate makes.
type Mode struct {
	// Apart keeps counters apart that the reference shares because it names a counter by
	// its domain, keys and values, joined by "_", and the instant at which its window
	// starts. Two descriptors whose names run together are one counter there, and so is
	// one descriptor under limits of different units while their windows start at the
	// same instant. zlimit counts these apart on purpose. In this mode names and values
	// have no "_", so that no two descriptors run together, and a descriptor has one unit
	// throughout a history.
	Apart bool

	// Underscores lets names and values have "_" with Apart, too: a descriptor that runs
	// together with an earlier one is not sent. Which limit matches a descriptor depends
	// on names that run together, in zlimit as in the reference.
	Underscores bool

	Steps int // requests of a history; 0: 40
}

// A History is a configuration and what follows.
type History struct {
	Seed  uint64
	Files map[string]string
	Steps []Step
	EndMs int64 // the instant after the last step, in Unix milliseconds
}

// A Step advances the clock, then replaces the configuration unless Load is nil, then asks
// for a decision.
type Step struct {
	Advance time.Duration
	Load    map[string]string
	Request *pb.RateLimitRequest
}

// Generate makes the history of a seed, which begins at nowMs. Its domains' names have the
// seed in them, so that deciders can go through many histories without being emptied.
func Generate(seed uint64, nowMs int64, m Mode) *History {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), mode: m, seed: seed, nowMs: nowMs}
	g.counted = map[string]string{}
	g.narrow, g.replace = g.percent(40), pick(g, 0, 8, 40)
	for range 1 + g.IntN(2) {
		g.domains = append(g.domains, g.newDomain())
	}
	h := &History{Seed: seed, Files: g.files()}
	steps := m.Steps
	if steps == 0 {
		steps = 40
	}
	for range steps {
		h.Steps = append(h.Steps, g.step())
	}
	h.EndMs = g.nowMs
	return h
}

type generator struct {
	*rand.Rand
	mode    Mode
	seed    uint64
	nowMs   int64
	domains []*domain
	narrow  bool                          // one key mostly, so that its values compete
	replace int                           // percent of the names that a limit replaces
	sent    []*common.RateLimitDescriptor // may be sent again
	counted map[string]string             // the entries that a joined name stands for
}

func (g *generator) percent(n int) bool { return g.IntN(100) < n }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) step() Step {
	s := Step{Advance: g.advance()}
	g.nowMs += s.Advance.Milliseconds()
	if g.percent(6) {
		s.Load = g.reload()
	}
	s.Request = g.request()
	return s
}

var unitSeconds = []int64{1, 60, 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400}

// advance returns how far the clock moves: mostly not at all, and often to the end of a
// window or right before it.
func (g *generator) advance() time.Duration {
	if g.percent(60) {
		return 0
	}
	unit := unitSeconds[min(g.IntN(len(unitSeconds)), g.IntN(len(unitSeconds)))] * 1000
	left := unit - g.nowMs%unit
	ms := int64(0)
	switch g.IntN(5) {
	case 0:
		ms = left
	case 1:
		ms = left - 1
	case 2:
		ms = g.Int64N(1000)
	case 3:
		ms = 1000 * (1 + g.Int64N(3))
	case 4:
		ms = g.Int64N(2 * unit)
	}
	return time.Duration(ms) * time.Millisecond
}

// reload returns the files after some limits have changed, or files that are refused.
func (g *generator) reload() map[string]string {
	if g.percent(20) {
		files := g.files()
		files["refused.yaml"] = pick(g, "", "domain: [", "domain: d\nnothing: 1\n", "domain: ''\n")
		return files
	}
	for _, d := range g.domains {
		for _, n := range d.all {
			if n.limit != nil && !n.limit.unlimited && g.percent(30) {
				n.limit.requests = g.requests()
			}
		}
	}
	return g.files()
}

func (g *generator) request() *pb.RateLimitRequest {
	d := pick(g, g.domains...)
	r := &pb.RateLimitRequest{Domain: d.name, HitsAddend: g.hits()}
	switch g.IntN(60) {
	case 0:
		r.Domain = ""
	case 1:
		r.Domain = d.name + "unknown"
	case 2:
		return r // without descriptors
	}
	for range 1 + min(g.IntN(4), g.IntN(4)) {
		r.Descriptors = append(r.Descriptors, g.again(d))
	}
	if g.percent(15) {
		r.Descriptors = append(r.Descriptors, pick(g, r.Descriptors...))
	}
	return r
}

// hits returns a request's hits_addend. 0 counts as 1.
func (g *generator) hits() uint32 {
	switch {
	case g.percent(65):
		return 0
	case g.percent(3):
		return 1<<32 - 1
	default:
		return 1 + g.Uint32N(4)
	}
}

// again returns a descriptor that was sent before, or a new one.
func (g *generator) again(d *domain) *common.RateLimitDescriptor {
	var r *common.RateLimitDescriptor
	if len(g.sent) > 0 && g.percent(65) {
		r = pick(g, g.sent[max(0, len(g.sent)-8):]...)
	} else {
		for r = g.descriptor(d); g.mode.Apart && g.runsTogether(r); {
			r = g.descriptor(d)
		}
		g.sent = append(g.sent, r)
	}
	r = &common.RateLimitDescriptor{Entries: r.Entries, Limit: r.Limit}
	if g.percent(20) {
		r.HitsAddend = wrapperspb.UInt64(pick[uint64](g, 0, 0, 1, 2, 3, 7, 1<<33))
	}
	return r
}

// runsTogether reports whether the names and values of r, joined by "_", are those of
// another descriptor that was sent.
func (g *generator) runsTogether(r *common.RateLimitDescriptor) bool {
	var joined, plain strings.Builder
	for _, e := range r.Entries {
		joined.WriteString(e.Key + "_" + e.Value + "_")
		fmt.Fprintf(&plain, "%q=%q ", e.Key, e.Value)
	}
	was, ok := g.counted[joined.String()]
	if !ok {
		g.counted[joined.String()] = plain.String()
	}
	return ok && was != plain.String()
}

// descriptor returns a new descriptor: a way down the configuration, mostly with values
// that match, and mostly as deep as a limit.
func (g *generator) descriptor(d *domain) *common.RateLimitDescriptor {
	r := &common.RateLimitDescriptor{}
	for level := d.nodes; len(level) > 0; {
		n := pick(g, level...)
		key, value := g.matching(n)
		r.Entries = append(r.Entries, &common.RateLimitDescriptor_Entry{Key: key, Value: value})
		level = n.nodes
		if n.limit != nil && g.percent(50) {
			break
		}
	}
	if g.percent(15) && len(r.Entries) < 5 {
		r.Entries = append(r.Entries, &common.RateLimitDescriptor_Entry{Key: g.key(), Value: g.plainValue()})
	}
	if g.percent(3) {
		r.Entries = r.Entries[:0]
	}
	if g.percent(3) {
		slices.Reverse(r.Entries)
	}
	if g.percent(8) {
		g.override(r)
	}
	return r
}

// override gives r a limit of its own. A descriptor with a limit has a value that others
// do not have, and its unit follows from the descriptor; see Mode.Apart. Unit 7 is a week,
// for which the type of overrides has no name.
func (g *generator) override(r *common.RateLimitDescriptor) {
	unit := 1 + g.IntN(7)
	if g.mode.Apart {
		if len(r.Entries) == 0 {
			return
		}
		unit = 1 + len(r.Entries)%7
		last := r.Entries[len(r.Entries)-1]
		r.Entries[len(r.Entries)-1] = &common.RateLimitDescriptor_Entry{
			Key: last.Key, Value: pick(g, "over1", "over2"),
		}
	}
	r.Limit = &common.RateLimitDescriptor_RateLimitOverride{
		RequestsPerUnit: g.requests(), Unit: types.RateLimitUnit(unit),
	}
}

// matching returns an entry that n matches, with few exceptions.
func (g *generator) matching(n *node) (key, value string) {
	key, value = n.key, n.value
	if g.percent(4) {
		return g.key(), g.plainValue()
	}
	switch {
	case value == "" && strings.HasSuffix(key, "*"):
		key = strings.TrimSuffix(key, "*") + pick(g, "", "t", "th")
		value = g.plainValue()
	case value == "":
		value = g.plainValue()
	case strings.HasSuffix(value, "*"):
		value = strings.TrimSuffix(value, "*") + pick(g, "", "x", "y", "xy", "yx")
	case g.percent(10):
		value = g.plainValue()
	}
	return key, value
}

// underscores reports, at times, that a name shall have one.
func (g *generator) underscores() bool {
	return (!g.mode.Apart || g.mode.Underscores) && g.percent(20)
}

func (g *generator) key() string {
	if g.underscores() {
		return pick(g, "a", "a_b", "a_b_c")
	}
	if g.narrow && g.percent(80) {
		return "path"
	}
	return pick(g, "path", "user", "ip", "Path")
}

// plainValue returns a value of a request's entry.
func (g *generator) plainValue() string {
	if g.underscores() {
		return pick(g, "b", "b_c", "c", "_")
	}
	if !g.mode.Apart && g.percent(10) {
		return pick(g, "x*", "*")
	}
	return pick(g, "", "x", "xy", "xyz", "y", "10", "a b", "ü", "x.y", "10.1.2.3", "x:y|z")
}

func (g *generator) requests() uint32 {
	switch {
	case g.percent(4):
		return pick[uint32](g, 1<<32-1, 1<<31, 1<<24+1)
	case g.percent(6):
		return 0
	default:
		return 1 + g.Uint32N(9)
	}
}

func (g *generator) domainName() string {
	separator := "x"
	if !g.mode.Apart && g.percent(30) {
		separator = "_"
	}
	return fmt.Sprintf("d%d%s%d", g.seed, separator, len(g.domains))
}
