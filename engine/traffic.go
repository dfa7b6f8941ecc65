package engine

// traffic counts what connections read and write.
type traffic struct {
	inBytes, outBytes spread
	reads, writes     spread
}

// CountRead counts bytes that came from the client at once. It belongs to the
// session's goroutine, and counts where INFO sees it when the batch ends.
func (s *Session) CountRead(n int) {
	s.readBytes += int64(n)
	s.reads++
}

// CountWritten counts bytes that the client was sent at once. Any goroutine may
// call it.
func (s *Session) CountWritten(n int) {
	t := &s.engine.stats.traffic
	t.outBytes.add(s.id, int64(n))
	t.writes.add(s.id, 1)
}

// flushTraffic adds what the session has read to what INFO shows.
func (s *Session) flushTraffic() {
	if s.reads == 0 {
		return
	}
	t := &s.engine.stats.traffic
	t.inBytes.add(s.id, s.readBytes)
	t.reads.add(s.id, s.reads)
	s.readBytes, s.reads = 0, 0
}

func (t *traffic) reset() {
	for _, s := range []*spread{&t.inBytes, &t.outBytes, &t.reads, &t.writes} {
		s.reset()
	}
}

// A rate is how often something happened lately: the mean of the last samples, as
// in Redis.
type rate struct {
	samples [rateSamples]int64 // a second
	at      int
	last    int64 // the count at the last sample
	lastUs  int64 // and when that was
}

const (
	rateSamples = 16
	// rateEveryUs is how far two samples are apart at least: a Tick a tenth of a
	// second.
	rateEveryUs = 100_000
)

// sample takes a sample of a count.
func (r *rate) sample(count, nowUs int64) {
	if passed := nowUs - r.lastUs; passed > 0 && r.lastUs != 0 {
		r.samples[r.at] = max(count-r.last, 0) * 1_000_000 / passed
		r.at = (r.at + 1) % rateSamples
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
type rates struct{ ops, in, out rate }

// sampleRates is called by Tick.
func (e *Engine) sampleRates() {
	s := &e.stats
	nowUs := e.clock.MonotonicUs()
	s.ratesMu.Lock()
	defer s.ratesMu.Unlock()
	if s.rates.ops.lastUs != 0 && nowUs-s.rates.ops.lastUs < rateEveryUs {
		return
	}
	s.rates.ops.sample(s.commands.sum(), nowUs)
	s.rates.in.sample(s.traffic.inBytes.sum(), nowUs)
	s.rates.out.sample(s.traffic.outBytes.sum(), nowUs)
}

// instantaneous returns the rates a second.
func (s *stats) instantaneous() (ops, in, out int64) {
	s.ratesMu.Lock()
	defer s.ratesMu.Unlock()
	return s.rates.ops.mean(), s.rates.in.mean(), s.rates.out.mean()
}
