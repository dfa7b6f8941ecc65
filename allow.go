package zlimit

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
)

// A Quota is one limit: at most Limit units in any Window.
type Quota struct {
	Limit  int64         // units, from 0, which denies every call, to limiter.MaxUnits
	Window time.Duration // a whole number of milliseconds, at least 1, below a hundred years
}

// A Decision is the answer to Allow. Its times are whole milliseconds.
type Decision struct {
	Allowed   int64 // units granted: the cost, or 0 when denied
	Limit     int64 // as asked
	Remaining int64 // units that still fit

	// RetryAfter is how long to wait until the same call is admitted, if there are no others: one millisecond
	// less is denied. It is 0 if the call was admitted and Never if the cost is above the limit.
	RetryAfter time.Duration
	// ResetAfter is how long it takes until the window is empty, if there are no calls.
	ResetAfter time.Duration
}

// Never is the RetryAfter of a call whose cost is above the limit. It is the longest Duration, so that a
// caller that sleeps for it unchecked does not call again at once.
const Never time.Duration = math.MaxInt64

// OK reports whether the call was admitted or, for Peek, would be.
func (d Decision) OK() bool { return d.Allowed > 0 }

// Allow takes cost units of key's quota, all or none: it is RL.ALLOW key limit window COST cost. A denied
// call changes nothing. A cost of 0 is Peek.
//
// Calls on one key with different quotas share its units: a changed limit applies from the next call on.
//
// Allow waits for the disk only: under appendfsync always until the decision is on disk, and while too much
// of the log waits to be written. If ctx is done first it returns ctx.Err(); the units may then have been
// taken.
//
// Other errors are an Error if the arguments are invalid or the key has another type, and ErrClosed after
// Close. Allow does not keep key. It allocates only if the key is new or its window grows, and for an error.
func (l *Limiter) Allow(ctx context.Context, key string, q Quota, cost int64) (Decision, error) {
	quotas := [...]Quota{q}
	return l.AllowAll(ctx, key, cost, quotas[:]...)
}

// AllowAll is Allow with several quotas on one key (10 a second and 1,000 an hour): units are taken from all
// of them or from none. The Decision is that of the quota that admits last or, if all admit, has the least
// left.
func (l *Limiter) AllowAll(ctx context.Context, key string, cost int64, quotas ...Quota) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	for {
		var d Decision
		written, err := l.allow(&d, key, cost, quotas)
		if err != nil && errors.Is(err, errDiskBusy) {
			if !l.engine.WaitForSpace(ctx) {
				return Decision{}, ctx.Err()
			}
			continue
		}
		// An error reply, too, may tell of what is not on disk.
		if failed := l.engine.WaitDurable(l.engine.Unsynced(), written, ctx); failed != nil {
			if errors.Is(failed, durable.ErrCanceled) {
				failed = ctx.Err()
			}
			return Decision{}, failed
		}
		return d, err
	}
}

// allow makes the call in a session of the pool, sets d, and returns the position
// behind the session's writes. It does not wait for the disk: other calls need the
// session.
func (l *Limiter) allow(
	d *Decision, key string, cost int64, quotas []Quota,
) (written durable.Position, err error) {
	s := l.acquire()
	defer l.release(s)
	if err := s.open(l); err != nil {
		return written, err
	}
	err = s.allow(d, key, quotas, cost)
	return s.session.Written(), err
}

// Peek returns what Allow with a cost of 1 would, with the current Remaining and ResetAfter. It takes
// nothing.
func (l *Limiter) Peek(ctx context.Context, key string, q Quota) (Decision, error) {
	return l.Allow(ctx, key, q, 0)
}

// A pooledSession runs the calls of Allow, one at a time, and reuses its buffers.
type pooledSession struct {
	mu      sync.Mutex
	session *engine.Session // protected by mu, like the fields below; nil until it is needed
	closed  bool
	args    [][]byte
	text    []byte
	ends    []int // ends of the arguments in text

	_ [128]byte // keeps neighbours out of each other's cache lines
}

// errDiskBusy is returned if the log has no space for the call, which did not run.
var errDiskBusy = errors.New("zlimit: the log waits for the disk")

// never is the Canceler of pooled sessions: they do not wait for the disk.
type never struct{}

func (never) Done() <-chan struct{} { return alwaysDone }

var alwaysDone = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

var (
	wordAllow = []byte("RL.ALLOW")
	wordCost  = []byte("COST")
)

// open opens the session, if it is not open. It requires mu.
func (s *pooledSession) open(l *Limiter) error {
	switch {
	case s.closed:
		return ErrClosed
	case s.session == nil:
		s.session = l.engine.NewSession(engine.Peer{
			Addr: inProcess, LocalAddr: inProcess, FD: -1, Local: true, Owner: true,
		})
		s.session.Cancel(never{})
	}
	return nil
}

// allow runs RL.ALLOW and sets d. It requires mu.
func (s *pooledSession) allow(d *Decision, key string, quotas []Quota, cost int64) error {
	if len(quotas) == 0 {
		return errNoQuota
	}
	// The arguments are appended to one text and sliced at the end, because text may move as it grows.
	text, ends := append(s.text[:0], key...), append(s.ends[:0], len(key))
	for _, q := range quotas {
		if q.Window%time.Millisecond != 0 {
			return errWindow
		}
		text = strconv.AppendInt(text, q.Limit, 10)
		ends = append(ends, len(text))
		text = strconv.AppendInt(text, int64(q.Window/time.Millisecond), 10)
		ends = append(ends, len(text))
	}
	args, start := append(s.args[:0], wordAllow), 0
	if cost != 1 { // the shortest form is the fastest
		text = strconv.AppendInt(text, cost, 10)
	}
	for _, end := range ends {
		args = append(args, text[start:end])
		start = end
	}
	if start < len(text) {
		args = append(args, wordCost, text[start:])
	}
	s.text, s.ends, s.args = text, ends, args
	reply := s.session.Do(args)
	s.session.Count()
	if reply.IsError() {
		if s.session.Canceled() {
			s.session.Cancel(never{})
			return errDiskBusy
		}
		return replyError(reply)
	}
	if cap(s.text) > maxIdleText {
		s.text, s.args = nil, nil
	}
	d.read(reply.Elems())
	return nil
}

// maxIdleText is the capacity for arguments that a pooled session keeps between calls. Keys are rarely
// longer.
const maxIdleText = 4 << 10

// read sets d to the reply of RL.ALLOW: allowed, limit, remaining, retry-after and
// reset-after.
func (d *Decision) read(reply []resp.Value) {
	d.Allowed, d.Limit, d.Remaining = reply[0].Int(), reply[1].Int(), reply[2].Int()
	d.RetryAfter = Never
	if ms := reply[3].Int(); ms >= 0 {
		d.RetryAfter = time.Duration(ms) * time.Millisecond
	}
	d.ResetAfter = time.Duration(reply[4].Int()) * time.Millisecond
}

func (s *pooledSession) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.session != nil {
		s.session.Close()
		s.session = nil
	}
}
