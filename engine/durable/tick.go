package durable

import (
	"strconv"

	"github.com/zlimit/zlimit/persist/aof"
)

// Tick does what is due: it syncs the log, saves a snapshot if a save point asks
// for one, and rewrites a log that has grown. Call it some times a second, one
// call at a time.
func (s *Storage) Tick() {
	if !s.opened || s.Loading() {
		return
	}
	log := s.newestLog()
	realMs := s.clock.MonotonicUs() / 1000
	var status aof.Status
	mayRewrite := false
	if log != nil {
		log.Tick(realMs)
		status, mayRewrite = log.Status(), log.MayRewrite(realMs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startNext()
	s.startDueSave()
	if s.jobs.current != nil || !mayRewrite {
		return
	}
	if status.NeedsRewrite {
		s.start(rewriteJob)
	} else if percent, due := s.growth(status.Size, status.BaseSize); due {
		s.options.Log.Info("the log has grown: rewriting it", "percent", percent)
		s.start(rewriteJob)
	}
}

// startDueSave starts a save if a save point asks for one. It requires mu.
func (s *Storage) startDueSave() {
	nowS, changes := s.unixSeconds(), s.changes.Load()
	for _, p := range s.jobs.points {
		due := changes >= p.changes && nowS-s.jobs.lastSaveS > p.seconds
		if due && s.jobs.current == nil && s.jobs.mayRetry(nowS) {
			s.options.Log.Info("a save point is due: saving", "changes", p.changes, "seconds", p.seconds)
			s.start(saveJob)
		}
	}
}

// growth returns by how many percent a log of size bytes has grown beyond its
// base, and reports whether that asks for a rewrite.
func (s *Storage) growth(size, base int64) (percent int64, due bool) {
	limit := s.cfg.Int("auto-aof-rewrite-percentage")
	if limit == 0 || size <= s.cfg.Int("auto-aof-rewrite-min-size") {
		return 0, false
	}
	percent = int64(float64(size)*100/float64(max(base, 1))) - 100
	return percent, percent >= limit
}

// readSavePoints follows the directive save.
func (s *Storage) readSavePoints() {
	words := s.cfg.SavePoints()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.points = nil
	for i := 0; i+1 < len(words); i += 2 {
		seconds, _ := strconv.ParseInt(words[i], 10, 64) // config has checked them
		changes, _ := strconv.ParseInt(words[i+1], 10, 64)
		s.jobs.points = append(s.jobs.points, savePoint{seconds, changes})
	}
	s.updateMisconf()
}

// HasSavePoints reports whether the directive save asks for snapshots.
func (s *Storage) HasSavePoints() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs.points) > 0
}
