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
	return s.disk
}

// lockDir locks the directory against other processes. It requires mu.
func (s *Storage) lockDir() (err error) {
	if s.release == nil {
		s.release, err = s.disk.Lock()
	}
	return err
}

// changeDir is CONFIG SET dir. Snapshots go to the new directory from now on, and
// so does a log that is switched on later. A log that is on stays where its files
// are, so dir is refused.
func (s *Storage) changeDir() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.disk == nil:
		return nil
	case s.options.Chdir == nil:
		return errDirFixed
	case s.log.Load() != nil || s.starting != nil:
		return errDirLog
	case s.jobs.current != nil || s.Loading():
		return errDirSaving
	}
	dir := s.options.Chdir(s.cfg.String("dir"))
	if dir.Path(".") == s.disk.Path(".") {
		return nil
	}
	if s.release != nil {
		release, err := dir.Lock()
		if err != nil {
			return err
		}
		if err := s.release(); err != nil {
			s.options.Log.Warn("leaving the directory failed", "dir", s.disk.Path("."), "error", err)
		}
		s.release = release
	}
	s.disk = dir
	return nil
}
