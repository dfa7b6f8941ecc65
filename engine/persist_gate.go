package engine

import (
	"errors"
	"strings"
	"syscall"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// While what was written cannot be kept, commands that write are refused, and
// those that read go on. Both ways into it, and out of it, are looked at for each
// command: nothing has to be switched on or off.

// Redis' texts.
const (
	misconfSave = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
		"Commands that may modify the data set are disabled, because this instance is configured to report errors during writes " +
		"if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	misconfLog = "MISCONF Errors writing to the AOF file: "
)

var errLoading = resp.Error("LOADING Redis is loading the dataset in memory")

// unwell reports whether misconf has something to say.
func (p *persistence) unwell() bool {
	if p.saveBroken.Load() {
		return true
	}
	l := p.log.Load()
	return l != nil && l.Err() != nil
}

// misconf is why nothing may be written; empty where it may.
func (p *persistence) misconf() string {
	if p.saveBroken.Load() {
		return misconfSave
	}
	if l := p.log.Load(); l != nil {
		if err := l.Err(); err != nil {
			return misconfLog + systemText(err)
		}
	}
	return ""
}

func (s *Session) misconf() resp.Value {
	text := s.engine.persist.misconf()
	if text == "" {
		text = misconfLog + "it has just recovered" // between two looks
	}
	return resp.Error(text)
}

// systemText is what went wrong in the words of C, which Redis uses; ours where
// the system has none.
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

// needsDisk reports whether a call is one that Redis refuses while it cannot
// write to disk: what changes keys, and PING, so that whoever watches over the
// server sees it.
func (s *Session) needsDisk(cmd *commands.Command, args [][]byte) bool {
	switch cmd.FullName() {
	case "ping":
		return true
	case "exec":
		for i := range s.tx.queued {
			if q := &s.tx.queued[i]; q.cmd.Writes(q.args) {
				return true
			}
		}
	}
	return cmd.Writes(args)
}

// settle keeps saveBroken true. It requires mu.
func (e *Engine) settle() {
	p := &e.persist
	p.saveBroken.Store(p.jobs.outcomes[saving].failed && len(p.points) > 0 && e.cfg.Bool("stop-writes-on-bgsave-error"))
}
