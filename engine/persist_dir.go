package engine

import (
	"errors"

	"github.com/zlimit/zlimit/persist/disk"
)

var (
	errDirFixed  = errors.New("the directory of this server is fixed")
	errDirLog    = errors.New("dir cannot be changed while appendonly is yes")
	errDirSaving = errors.New("dir cannot be changed while a save or a rewrite is under way")
)

// dir returns the directory that files are kept in, nil where there is none.
func (e *Engine) dir() disk.FS {
	e.persist.mu.Lock()
	defer e.persist.mu.Unlock()
	return e.persist.disk
}

// changeDir is CONFIG SET dir: what is saved from now on goes there, as does a
// log that is switched on later. One that is on stays where its files are, so dir
// is refused meanwhile.
func (e *Engine) changeDir() error {
	p := &e.persist
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.disk == nil:
		return nil
	case e.options.Chdir == nil:
		return errDirFixed
	case p.log.Load() != nil || p.starting != nil:
		return errDirLog
	case p.jobs.now != nil || p.loading.Load() != nil:
		return errDirSaving
	}
	dir := e.options.Chdir(e.cfg.String("dir"))
	if dir.Path(".") == p.disk.Path(".") {
		return nil
	}
	if p.release != nil {
		release, err := dir.Lock()
		if err != nil {
			return err
		}
		if err := p.release(); err != nil {
			e.logf("leaving %s: %v", p.disk.Path("."), err)
		}
		p.release = release
	}
	p.disk = dir
	return nil
}
