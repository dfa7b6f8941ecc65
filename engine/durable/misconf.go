package durable

import (
	"errors"
	"strings"
	"syscall"
)

// While changes cannot be kept, commands that write are refused, and those that
// read go on. Every command asks Failing, so nothing has to be switched on or off.

// Redis' texts.
const (
	misconfSave = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to " +
		"persist to disk. " +
		"Commands that may modify the data set are disabled, because this instance is configured to " +
		"report errors " +
		"during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). " +
		"Please check the Redis logs for details about the RDB error."
	misconfLog = "MISCONF Errors writing to the AOF file: "
)

// Failing reports whether changes cannot be kept.
func (s *Storage) Failing() bool {
	if s.jobs.saveFailing.Load() {
		return true
	}
	l := s.log.Load()
	return l != nil && l.Err() != nil
}

// Misconf returns the error reply for commands that write while Failing, and ""
// while they may.
func (s *Storage) Misconf() string {
	if s.jobs.saveFailing.Load() {
		return misconfSave
	}
	if l := s.log.Load(); l != nil {
		if err := l.Err(); err != nil {
			return misconfLog + systemText(err)
		}
	}
	return ""
}

// MisconfRecovered is the reply if Misconf has become "" since Failing was asked.
const MisconfRecovered = misconfLog + "it has just recovered"

// systemText returns the text of C's strerror, which Redis uses, for an error of
// the system, and ours otherwise. Either begins in upper case.
func systemText(err error) string {
	text := err.Error()
	var number syscall.Errno
	if errors.As(err, &number) {
		text = number.Error()
	}
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// updateMisconf sets saveFailing. It requires mu.
func (s *Storage) updateMisconf() {
	s.jobs.saveFailing.Store(s.jobs.outcomes[saveJob].failed && len(s.jobs.points) > 0 &&
		s.cfg.Bool("stop-writes-on-bgsave-error"))
}
