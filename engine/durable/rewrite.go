package durable

import (
	"io"

	"github.com/zlimit/zlimit/persist/aof"
)

// rewriteLog writes a new base of the log; package aof describes the three steps.
// It is the rewrite job. The snapshot's instant lies inside of the snapshot, so
// the snapshot runs in a goroutine beside Finish.
func (s *Storage) rewriteLog(stop <-chan struct{}) error {
	log, end, err := s.logToRewrite()
	if err != nil {
		return err
	}
	defer end()
	if err := log.Prepare(); err != nil {
		return err
	}
	r, w := io.Pipe()
	begun := make(chan struct{})
	done := make(chan struct{})
	var failed error
	binary, write := s.baseWriter()
	go func() {
		defer close(done)
		failed = write(w, stop, func() {
			log.Switch()
			s.activate(log)
			close(begun)
		})
		w.CloseWithError(failed)
	}()
	select {
	case <-begun:
	case <-done:
	}
	select {
	case <-begun:
	default:
		log.Abort()
		return failed
	}
	err = log.Finish(binary, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
	_ = r.CloseWithError(err) // the snapshot goes on to its end, and must not block
	<-done
	return err
}

// baseWriter returns what writes the base of a log, and reports whether it is in
// Redis' binary form: aof-use-rdb-preamble.
func (s *Storage) baseWriter() (binary bool, write snapshotWriter) {
	if !s.cfg.Bool("aof-use-rdb-preamble") {
		return false, s.writeCommands
	}
	return true, func(w io.Writer, stop <-chan struct{}, begin func()) error {
		return s.writeSnapshot(w, true, stop, begin)
	}
}

// logToRewrite returns the log that a rewrite is for and what to call at its end.
// It is the log that starts, or else the one there is. For BGREWRITEAOF under
// appendonly no it is a new one, which is closed at the end.
func (s *Storage) logToRewrite() (log *aof.Log, end func(), err error) {
	if log = s.newestLog(); log != nil {
		return log, func() {}, nil
	}
	if log, err = aof.Begin(s.logOptions()); err != nil {
		return nil, nil, err
	}
	return log, func() { _ = log.Close() }, nil // nothing was appended
}

// activate begins to append to a log that starts, at the instant of its first
// rewrite. Every shard must be locked.
func (s *Storage) activate(log *aof.Log) {
	s.mu.Lock()
	starts := s.starting == log
	if starts {
		s.starting = nil
	}
	s.mu.Unlock()
	if starts {
		s.setLog(log)
	}
}
