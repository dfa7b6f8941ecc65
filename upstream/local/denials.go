package local

import (
	"hash/maphash"
	"sync"

	"github.com/zlimit/zlimit/limiter"
)

// Denials remembers decisions that deny. Nothing that only calls of the same kind do can admit such
// a call before the time that its reply names, so until then the answer is known. What can admit it
// earlier is a command that takes units out of the key, or the key itself: REFUND, RESET, DEL and
// others. Those of this gateway end what is remembered of the key at once, before they are sent and
// after they are answered. Those of others are noticed when the prefix's longest time is over.
//
// A nil *Denials remembers nothing. Its methods may be called concurrently.
type Denials struct {
	epochs
	rules  prefixes[[]int64]
	shards [shards]denialShard
}

const (
	shards          = 16
	maxDenials      = 1 << 16 // remembered at once
	maxInDenialHash = maxDenials / shards
)

type denialShard struct {
	mu sync.Mutex
	m  map[string]denial // protected by mu
}

type denial struct {
	decision limiter.Decision
	epoch    uint64
	atUs     int64 // when it was received
	endUs    int64
}

// ParseDenials returns the denials that the words of rl-deny-cache ask for, nil for none.
func ParseDenials(words []string) (*Denials, error) {
	rules, err := parse(words, errDenyCache, MaxMs)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	return &Denials{epochs: epochs{seed: maphash.MakeSeed()}, rules: rules}, nil
}

// Covers reports whether denials of a key are remembered.
func (d *Denials) Covers(key []byte) bool {
	if d == nil {
		return false
	}
	_, ok := d.rules.of(key)
	return ok
}

func (d *Denials) shard(call []byte) *denialShard {
	return &d.shards[maphash.Bytes(d.seed, call)%shards]
}

// Remember keeps a decision about a key. call is a text that only calls have that are answered
// alike. The decision was asked for at sentUs, when the key's epoch was epoch, and answered at
// receivedUs.
func (d *Denials) Remember(
	key, call []byte, epoch uint64, decision *limiter.Decision, sentUs, receivedUs int64,
) {
	if decision.Allowed > 0 || decision.RetryAfterMs <= 0 {
		return
	}
	rule, ok := d.rules.of(key)
	if !ok {
		return
	}
	s := d.shard(call)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = make(map[string]denial)
	}
	if len(s.m) >= maxInDenialHash {
		s.shrink(receivedUs)
	}
	s.m[string(call)] = denial{
		decision: *decision, epoch: epoch, atUs: receivedUs,
		// The engine counts from the beginning of its millisecond.
		endUs: min(sentUs+1000*decision.RetryAfterMs-999, sentUs+1000*rule[0]),
	}
}

// shrink drops what is over, and at least a half of the rest's random first ones.
func (s *denialShard) shrink(nowUs int64) {
	for call, x := range s.m {
		if x.endUs <= nowUs || len(s.m) > maxInDenialHash/2 {
			delete(s.m, call)
		}
	}
}

// Answer returns the decision about a call, if it is known: the remembered one, with less to wait.
// The wait may be longer than the true one by a round trip, never shorter.
func (d *Denials) Answer(key, call []byte, nowUs int64) (decision limiter.Decision, ok bool) {
	s := d.shard(call)
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.m[string(call)]
	if !ok {
		return decision, false
	}
	if nowUs >= x.endUs || x.epoch != d.Epoch(key) {
		delete(s.m, string(call))
		return decision, false
	}
	passedMs := max(nowUs-x.atUs, 0) / 1000
	decision = x.decision
	for _, wait := range []*int64{&decision.RetryAfterMs, &decision.ResetAfterMs, &decision.NextAfterMs} {
		if *wait > 0 {
			*wait = max(*wait-passedMs, 1)
		}
	}
	return decision, true
}

// Len returns how many decisions are remembered, also such as are over.
func (d *Denials) Len() (n int) {
	for i := range d.shards {
		s := &d.shards[i]
		s.mu.Lock()
		n += len(s.m)
		s.mu.Unlock()
	}
	return n
}
