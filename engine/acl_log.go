package engine

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/resp"
)

// aclLog is what ACL LOG shows: refused calls and failed logins, the newest first. Equal
// ones within a minute are one entry. It also counts all of them for INFO.
type aclLog struct {
	mu      sync.Mutex
	entries []aclEntry // protected by mu

	denied [acl.Reasons]atomic.Int64 // by reason
}

// An aclEntry is an entry of ACL LOG.
type aclEntry struct {
	aclCause
	count  int64
	atMs   int64
	client string // a line of CLIENT LIST
}

// An aclCause is what equal entries share.
type aclCause struct {
	reason   acl.Reason
	context  string
	object   string
	username string
}

// The contexts of ACL LOG.
const (
	aclToplevel = "toplevel"
	aclMulti    = "multi"
	aclLua      = "lua"
)

// deniedReasons are the reasons with their names in ACL LOG, and in INFO and the metrics.
var deniedReasons = []struct {
	acl.Reason
	name, short string
}{
	{acl.DeniedAuth, "auth", "auth"},
	{acl.DeniedCommand, "command", "cmd"},
	{acl.DeniedKey, "key", "key"},
	{acl.DeniedChannel, "channel", "channel"},
}

func reasonName(r acl.Reason) string {
	for _, reason := range deniedReasons {
		if reason.Reason == r {
			return reason.name
		}
	}
	return ""
}

const (
	aclSameMs    = 60_000 // how far apart equal entries are one
	maxACLObject = 4096   // bytes of an object or a name that an entry keeps
)

// add adds an entry, or counts it to an equal one. The oldest beyond maxEntries are
// dropped.
func (l *aclLog) add(cause aclCause, nowMs int64, client string, maxEntries int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := aclEntry{cause, 1, nowMs, client}
	for i := range l.entries {
		if e := &l.entries[i]; e.aclCause == cause && nowMs-e.atMs <= aclSameMs {
			entry.count += e.count
			l.entries = slices.Delete(l.entries, i, i+1)
			break
		}
	}
	l.entries = slices.Insert(l.entries, 0, entry)
	if n := min(maxEntries, int64(len(l.entries))); n < int64(len(l.entries)) {
		clear(l.entries[n:])
		l.entries = l.entries[:n]
	}
}

// reset removes all entries.
func (l *aclLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// resetCounts sets the counts of INFO to zero.
func (l *aclLog) resetCounts() {
	for i := range l.denied {
		l.denied[i].Store(0)
	}
}

// newest returns up to n entries.
func (l *aclLog) newest(n int64) []aclEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[:max(0, min(n, int64(len(l.entries))))])
}

func (e *aclEntry) reply(nowMs int64) resp.Value {
	return resp.Map(
		resp.Bulk("count"), resp.Int(e.count),
		resp.Bulk("reason"), resp.Bulk(reasonName(e.reason)),
		resp.Bulk("context"), resp.Bulk(e.context),
		resp.Bulk("object"), resp.Bulk(e.object),
		resp.Bulk("username"), resp.Bulk(e.username),
		resp.Bulk("age-seconds"), resp.Double(float64(nowMs-e.atMs)/1000),
		resp.Bulk("client-info"), resp.Bulk(e.client),
	)
}

// logDenial adds an entry about the session to ACL LOG and counts it.
func (s *Session) logDenial(d acl.Denial, context, username string) {
	e := s.engine
	nowUs := e.clock.NowUs()
	s.edit(func(p *public) {
		p.db, p.proto, p.lastUs = s.ctx.DBIndex, s.proto, nowUs
		if s.run.Cmd != nil {
			p.lastCommand = s.run.Cmd
		}
	})
	e.aclLog.denied[d.Reason].Add(1)
	cause := aclCause{d.Reason, context, shorten(d.Object), shorten(username)}
	e.aclLog.add(cause, nowUs/1000, s.line(nowUs), e.cfg.Int("acllog-max-len"))
}

// shorten returns text up to what an entry keeps: a client must not fill the log with
// names of any length.
func shorten(text string) string { return text[:min(len(text), maxACLObject)] }
