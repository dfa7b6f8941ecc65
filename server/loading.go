package server

import "sync/atomic"

// loading is the state of the files of Disk.
type loading struct {
	failed atomic.Bool
	done   chan struct{} // closed when they are loaded
}

// isDone reports whether the files are loaded.
func (l *loading) isDone() bool { return isClosed(l.done) }

// load loads the files of an engine. It calls ready when that takes time, or has ended.
func (l *loading) load(o *ownEngine, ready func()) (err error) {
	defer ready()
	if o != nil {
		err = o.engine.Load(ready)
	}
	if err != nil {
		l.failed.Store(true)
		return err
	}
	close(l.done)
	return nil
}
