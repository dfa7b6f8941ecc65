package engine

import (
	"strconv"

	"github.com/zlimit/zlimit/persist/aof"
)

// tickFiles does what is due to files now and then: the log is synced, snapshots
// are saved at save points, a log that has grown is rewritten.
func (e *Engine) tickFiles() {
	p := &e.persist
	if !p.opened || p.loading.Load() != nil {
		return
	}
	p.mu.Lock()
	log := p.starting
	p.mu.Unlock()
	if log == nil {
		log = p.log.Load()
	}
	realMs := e.clock.MonotonicUs() / 1000
	var status aof.Status
	mayRewrite := false
	if log != nil {
		log.Tick(realMs)
		status, mayRewrite = log.Status(), log.MayRewrite(realMs)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e.beginNext()
	nowS, changes := e.unixSeconds(), p.changes.Load()
	for _, point := range p.points {
		if p.jobs.now == nil && changes >= point.changes && nowS-p.jobs.lastSaveS > point.seconds && p.jobs.mayTry(nowS) {
			e.logf("%d changes in %d seconds: saving", point.changes, point.seconds)
			e.beginLocked(saving)
		}
	}
	if p.jobs.now != nil || !mayRewrite {
		return
	}
	if status.NeedsRewrite {
		e.beginLocked(rewriting)
	} else if growth := e.growth(status.Size, status.BaseSize); growth >= 0 {
		e.logf("the log has grown by %d%%: rewriting it", growth)
		e.beginLocked(rewriting)
	}
}

// mayTry reports whether a save may begin that nobody waits for: not soon after
// one that failed.
func (j *jobs) mayTry(nowS int64) bool {
	return !j.outcomes[saving].failed || nowS-j.lastTryS > retryS
}

// growth is by how many percent the log has grown since it was last written
// anew; -1 where that is not enough for a rewrite.
func (e *Engine) growth(size, base int64) int64 {
	percent := e.cfg.Int("auto-aof-rewrite-percentage")
	if percent == 0 || size <= e.cfg.Int("auto-aof-rewrite-min-size") {
		return -1
	}
	growth := int64(float64(size)*100/float64(max(base, 1))) - 100
	if growth < percent {
		return -1
	}
	return growth
}

// followSave keeps the save points true.
func (e *Engine) followSave() {
	words := e.cfg.SavePoints()
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points = nil
	for i := 0; i+1 < len(words); i += 2 {
		seconds, _ := strconv.ParseInt(words[i], 10, 64) // they were parsed before
		changes, _ := strconv.ParseInt(words[i+1], 10, 64)
		p.points = append(p.points, savePoint{seconds, changes})
	}
	e.settle()
}
