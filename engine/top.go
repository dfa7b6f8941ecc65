package engine

import "github.com/zlimit/zlimit/commands"

// topSampling returns rl-top-sampling, or 0 if rl-top is no. If that differs from before, the
// counts of RL.TOP start anew: they are of one sampling rate.
func (e *Engine) topSampling() uint32 {
	sampling := uint32(0)
	if e.cfg.Bool("rl-top") {
		sampling = uint32(e.cfg.Int("rl-top-sampling"))
	}
	if s := e.settings.Load(); s != nil && s.TopSampling != sampling {
		e.top.Reset()
	}
	return sampling
}

// Top returns the keys that RL.TOP lists, and rl-top-sampling: how many decisions one that
// was counted stands for, 0 if rl-top is no.
func (e *Engine) Top(q commands.TopQuery) (report commands.TopReport, sampling uint32) {
	if q.Keep == nil {
		q.Keep = func(string) bool { return true }
	}
	if q.NowMs == 0 {
		q.NowMs = e.clock.NowUs() / 1000
	}
	return e.top.Top(&q), e.settings.Load().TopSampling
}

// setTracer makes the handlers record decisions, or not.
func (s *Session) setTracer(on bool) {
	s.ctx.Tracer = nil
	if on {
		s.ctx.Tracer = &s.engine.traces
	}
}
