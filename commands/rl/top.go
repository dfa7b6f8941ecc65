package rl

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var rlTopRows = []commands.Command{{
	Name: "rl.top", Arity: -3,
	Flags:      commands.ReadOnly | commands.AllShards | commands.Stepwise | commands.Random,
	Categories: []string{"dangerous"}, Tips: []string{"nondeterministic_output"},
	Group: "rate-limit", Since: "0.1.0", Complexity: "O(1) for DENIED and HOT, O(N) with N keys for BYTES",
	Handler: rlTop,
	Syntax:  "<DENIED | HOT | BYTES> n [MATCH pattern] [WITHIN window]",
	Summary: "Returns the keys with the most refusals, decisions or bytes.",
	Example: "DENIED 10",
	Deviation: "zlimit's own; DENIED and HOT count a sample of the decisions while they are many, and the " +
		"reply says how far each count may be off",
}}

// TopKeys counts the decisions about each key, in bounded memory. Its methods may be
// called concurrently.
type TopKeys interface {
	// Add counts weight decisions about a key of a database, under a quota that is zero if it is not known.
	Add(nowMs int64, db int, key []byte, denied bool, weight int64, q limiter.Quota)
	// Exact reports whether so few decisions are made at present that each is to be added.
	Exact() bool
	// Top returns the keys with the most decisions.
	Top(q *TopQuery) TopReport
}

// A TopSampler picks the decisions of one session that are counted.
type TopSampler struct {
	Keys   TopKeys
	random uint32 // state of a linear congruential generator
}

// NewTopSampler returns the sampler of the session with a number.
func NewTopSampler(keys TopKeys, session int64) TopSampler {
	// Consecutive seeds would make the first choices of all sessions the same.
	return TopSampler{keys, uint32(uint64(session) * 0x9e3779b97f4a7c15 >> 32)}
}

// picks reports whether to count a decision, for one in sampling of them.
func (s *TopSampler) picks(sampling uint32) bool {
	s.random = s.random*1664525 + 1013904223
	return uint64(s.random)*uint64(sampling)>>32 == 0
}

// A TopQuery says which keys RL.TOP lists.
type TopQuery struct {
	NowMs    int64
	DB       int
	Denied   bool                  // count refusals only
	WithinMs int64                 // 0: since the counts were last reset
	N        int                   // at most so many keys
	Keep     func(key string) bool // only keys for which it returns true
}

// A TopReport is the keys that a TopQuery asks for. The counts are those of the decisions
// that were added: see TopSampling.
type TopReport struct {
	FromMs  int64 // the first instant that is counted; 0: there was none
	Total   int64 // of all keys
	Sampled int64 // of Total, what was added with a weight above 1
	Skipped int64 // decisions about keys with names that are too long to be counted
	Others  int64 // an upper bound of the count of every key that Keep keeps and Keys lacks
	Keys    []TopKey
}

// A TopKey is a key with bounds of its count: at most Count, and at least Count - Error.
type TopKey struct {
	Name         string
	Count, Error int64
	Last         limiter.Quota // of the last decision that was added; zero: not known
}

// Bounds of RL.TOP.
const (
	MaxTop      = 1000
	MaxTopKey   = 256 // bytes of a name
	MaxWithinMs = 3_600_000
)

// sample counts a decision about a key, if it is in the sample.
func (s *TopSampler) sample(c *commands.Ctx, key []byte, denied bool, q limiter.Quota) {
	sampling := c.Settings.TopSampling
	switch {
	case s.Keys.Exact():
		s.Keys.Add(c.NowMs, c.DBIndex, key, denied, 1, q)
	case s.picks(sampling):
		s.Keys.Add(c.NowMs, c.DBIndex, key, denied, int64(sampling), q)
	}
}

// RL.TOP DENIED | HOT | BYTES n [MATCH pattern] [WITHIN window]
//
// The reply is a map: by, window_ms (what the counts cover), sampling (one in so many
// decisions was counted, for that many, while they were many), total (of all keys of all
// databases), skipped (decisions about keys with long names, not counted), others_at_most (the
// count of any key that is not listed), and keys: the name, the count and how far it may be
// off, and but for BYTES the limit and the window of the last decision that was counted (null if
// they are not known), the highest count first. If there are none, note says what is not
// counted. Only keys of the selected database are listed that the user may read.
func rlTop(c *commands.Ctx) resp.Value {
	var q TopQuery
	by := strings.ToLower(string(c.Args[1]))
	switch by {
	case "denied":
		q.Denied = true
	case "hot", "bytes":
	default:
		return commands.SyntaxError(commands.Quote(c.Args[1]) + " is not DENIED, HOT or BYTES")
	}
	n, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return errRefundNumber
	case n < 1 || n > MaxTop:
		return errTopN
	}
	var pattern []byte
	for r := (optionReader{options: options{c.Args[3:]}, allowed: topOptions}); r.more(); {
		option, refusal := r.next()
		switch {
		case refusal.IsError():
			return refusal
		case option == optMatch:
			if !r.more() {
				return errMatchMissing
			}
			pattern = r.value()
		case option == optWithin:
			if !r.more() {
				return errWithinMissing
			}
			if q.WithinMs, refusal = parseWithin(r.value()); refusal.IsError() {
				return refusal
			}
		}
	}
	q.NowMs, q.DB, q.N = c.NowMs, c.DBIndex, int(n)
	q.Keep = func(key string) bool {
		return (pattern == nil || commands.NameMatch(pattern, key)) &&
			(c.Guard() == nil || c.Guard().ReadsKey(c.Cmd, c.Args, key))
	}
	if by == "bytes" {
		if q.WithinMs != 0 {
			return errWithinBytes
		}
		return topBytes(c, &q)
	}
	sampling := int64(c.Settings.TopSampling)
	if sampling == 0 {
		return errTopOff
	}
	report := session(c).Sampler.Keys.Top(&q)
	if report.Sampled == 0 {
		sampling = 1
	}
	for i := range report.Keys {
		k := &report.Keys[i]
		k.Error += samplingError(min(k.Count, report.Sampled), sampling)
	}
	report.Others += samplingError(min(report.Others, report.Sampled), sampling)
	windowMs := int64(0)
	if report.FromMs != 0 {
		windowMs = max(c.NowMs-report.FromMs, 0)
	}
	return topReply(c, by, resp.Int(windowMs), sampling, &report)
}

// parseWithin parses the window of WITHIN.
func parseWithin(arg []byte) (ms int64, refusal resp.Value) {
	ms, err := limiter.ParseWindow(arg)
	switch {
	case err == nil && ms <= MaxWithinMs:
		return ms, resp.None
	case errors.Is(err, limiter.ErrWindowSyntax):
		return 0, durationError("WITHIN", err)
	}
	return 0, errWithinRange
}

// samplingError returns how far a count may be off because one in sampling decisions was
// counted: with a probability of 99.7% the true count is not farther away. It is the
// larger distance of the score interval of a binomial distribution.
func samplingError(count, sampling int64) int64 {
	if sampling <= 1 {
		return 0
	}
	const z = 3
	n, k := float64(count), float64(sampling)
	return int64(math.Ceil(z*z*k/2 + z*math.Sqrt(n*k+z*z*k*k/4)))
}

// topBytes lists the keys that take the most bytes, by a walk through the database.
func topBytes(c *commands.Ctx, q *TopQuery) resp.Value {
	var report TopReport
	for i := range store.NumShards {
		refusal := c.Step(i, func() {
			for n := range c.DB.AllInShard(i, c.NowMs) {
				if name := n.Key(); q.Keep(name) {
					report.addBytes(name, store.Bytes(n), q.N)
				}
			}
		})
		if refusal.IsError() {
			return refusal
		}
	}
	report.sort(q.N)
	return topReply(c, "bytes", resp.Null, 1, &report)
}

// addBytes adds a key. It keeps up to twice n keys, so that they are sorted once for
// every n that are added.
func (r *TopReport) addBytes(name string, bytes int64, n int) {
	r.Total += bytes
	if bytes <= r.Others {
		return
	}
	r.Keys = append(r.Keys, TopKey{Name: strings.Clone(name), Count: bytes})
	if len(r.Keys) >= 2*n {
		r.sort(n)
	}
}

// sort sorts the keys, drops all but n, and raises Others to the highest count dropped.
func (r *TopReport) sort(n int) {
	slices.SortFunc(r.Keys, func(a, b TopKey) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	})
	if len(r.Keys) > n {
		r.Others = max(r.Others, r.Keys[n].Count)
		clear(r.Keys[n:])
		r.Keys = r.Keys[:n]
	}
}

// NewTopReport returns a report of the n keys with the highest counts. others is an upper
// bound of the counts of keys that are not among them.
func NewTopReport(keys []TopKey, n int, others int64) TopReport {
	r := TopReport{Keys: keys, Others: others}
	r.sort(n)
	return r
}

func topReply(c *commands.Ctx, by string, windowMs resp.Value, sampling int64, r *TopReport) resp.Value {
	keys := make([]resp.Value, len(r.Keys))
	for i, k := range r.Keys {
		key := []resp.Value{resp.Bulk(k.Name), resp.Int(k.Count), resp.Int(k.Error)}
		switch {
		case by == "bytes":
		case k.Last.WindowMs == 0:
			key = append(key, resp.Null, resp.Null)
		default:
			key = append(key, resp.Int(k.Last.Limit), resp.Int(k.Last.WindowMs))
		}
		keys[i] = resp.Array(key...)
	}
	pairs := append(c.Values(16),
		resp.Bulk("by"), resp.Bulk(by),
		resp.Bulk("window_ms"), windowMs,
		resp.Bulk("sampling"), resp.Int(sampling),
		resp.Bulk("total"), resp.Int(r.Total),
		resp.Bulk("skipped"), resp.Int(r.Skipped),
		resp.Bulk("others_at_most"), resp.Int(r.Others),
		resp.Bulk("keys"), resp.Array(keys...))
	if len(keys) == 0 && by != "bytes" {
		pairs = append(pairs, resp.Bulk("note"), resp.Bulk(CountedDecisions))
	}
	return resp.Map(pairs...)
}

// CountedDecisions says which decisions are counted, for those who find none.
const CountedDecisions = "counted are RL.ALLOW, RL.MALLOW and CL.THROTTLE; limiters that are scripts or " +
	"libraries decide by themselves: see RL.DOCTOR"
