package stats

import "sync"

// Traffic counts what connections read and write.
type Traffic struct {
	inBytes, outBytes spread
	reads, writes     spread
}

// AddReads adds reads of a session, and their bytes.
func (t *Traffic) AddReads(session, reads, bytes int64) {
	t.inBytes.add(session, bytes)
	t.reads.add(session, reads)
}

// AddWrite adds one write of a session.
func (t *Traffic) AddWrite(session, bytes int64) {
	t.outBytes.add(session, bytes)
	t.writes.add(session, 1)
}

// InBytes returns how many bytes were read.
func (t *Traffic) InBytes() int64 { return t.inBytes.sum() }

// OutBytes returns how many bytes were written.
func (t *Traffic) OutBytes() int64 { return t.outBytes.sum() }

// Reads returns how many reads there were.
func (t *Traffic) Reads() int64 { return t.reads.sum() }

// Writes returns how many writes there were.
func (t *Traffic) Writes() int64 { return t.writes.sum() }

func (t *Traffic) reset() {
	for _, s := range []*spread{&t.inBytes, &t.outBytes, &t.reads, &t.writes} {
		s.reset()
	}
}

// A rate is how often something happened lately: the mean of the last samples, as
// in Redis.
type rate struct {
	samples [rateSamples]int64 // per second
	next    int
	last    int64 // the count at the last sample
	lastUs  int64 // its instant
}

const (
	rateSamples = 16
	// rateEveryUs is the least distance of two samples: Redis' tenth of a second.
	rateEveryUs = 100_000
)

// sample adds a sample of a count.
func (r *rate) sample(count, nowUs int64) {
	if passed := nowUs - r.lastUs; passed > 0 && r.lastUs != 0 {
		r.samples[r.next] = max(count-r.last, 0) * 1_000_000 / passed
		r.next = (r.next + 1) % rateSamples
	}
	r.last, r.lastUs = count, nowUs
}

func (r *rate) mean() int64 {
	sum := int64(0)
	for _, s := range r.samples {
		sum += s
	}
	return sum / rateSamples
}

// rates are the instantaneous figures of INFO.
type rates struct {
	mu           sync.Mutex
	ops, in, out rate // protected by mu
}

func (r *rates) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops, r.in, r.out = rate{}, rate{}, rate{}
}

// SampleRates samples the counts that Rates returns the rates of. Call it now and
// then, with the real time in microseconds.
func (s *Stats) SampleRates(nowUs int64) {
	r := &s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ops.lastUs != 0 && nowUs-r.ops.lastUs < rateEveryUs {
		return
	}
	r.ops.sample(s.calls.all.sum(), nowUs)
	r.in.sample(s.Traffic.InBytes(), nowUs)
	r.out.sample(s.Traffic.OutBytes(), nowUs)
}

// Rates returns commands and bytes per second.
func (s *Stats) Rates() (ops, in, out int64) {
	r := &s.rates
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ops.mean(), r.in.mean(), r.out.mean()
}
