package durable

import (
	"errors"

	"github.com/zlimit/zlimit/persist/disk"
)

var (
	errDirFixed  = errors.New("the directory of this server is fixed")
	errDirLog    = errors.New("dir cannot be changed while appendonly is yes")
	errDirSaving = errors.New("dir cannot be changed while a save or a rewrite is under way")
)

// dir returns the directory of the files, or nil.
func (s *Storage) dir() disk.FS {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.place.fs
}

// A place is the directory of the files. The Storage's mu protects it.
type place struct {
	fs      disk.FS      // nil: there is none
	release func() error // unlocks it; nil: it is not locked
}

// lock locks the directory against other processes.
func (p *place) lock() (err error) {
	if p.release == nil {
		p.release, err = p.fs.Lock()
	}
	return err
}

func (p *place) unlock() error {
	if p.release == nil {
		return nil
	}
	release := p.release
	p.release = nil
	return release()
}

// changeDir is CONFIG SET dir. Snapshots go to the new directory from now on, and
// so does a log that is switched on later. A log that is on stays where its files
// are, so dir is refused.
func (s *Storage) changeDir() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.place.fs == nil:
		return nil
	case s.options.Chdir == nil:
		return errDirFixed
	case s.log.Load() != nil || s.starting != nil:
		return errDirLog
	case s.jobs.current != nil || s.Loading():
		return errDirSaving
	}
	dir := s.options.Chdir(s.cfg.String("dir"))
	if dir.Path(".") == s.place.fs.Path(".") {
		return nil
	}
	if s.place.release != nil {
		release, err := dir.Lock()
		if err != nil {
			return err
		}
		if err := s.place.release(); err != nil {
			s.options.Log.Warn("leaving the directory failed", "dir", s.place.fs.Path("."), "error", err)
		}
		s.place.release = release
	}
	s.place.fs = dir
	return nil
}
