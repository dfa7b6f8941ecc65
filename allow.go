package zlimit

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

// A Quota is one limit: at most Limit units in any Window.
type Quota struct {
	Limit  int64         // units, at least 1, at most rl-log-max-units
	Window time.Duration // a whole number of milliseconds, at least 1, below a hundred years
}

// A Decision is the answer to Allow. Its times are whole milliseconds.
type Decision struct {
	Allowed   int64 // units granted: the cost, or 0 when denied
	Limit     int64 // as asked
	Remaining int64 // units that still fit

	// RetryAfter is how long to wait until the same call is admitted, if nobody
	// else calls: exactly that long, one millisecond less is denied. It is 0 when
	// the call was admitted and Never when the cost is above the limit.
	RetryAfter time.Duration
	// ResetAfter is how long it takes until the window is empty, if nobody calls.
	ResetAfter time.Duration
}

// Never is the RetryAfter of a call that no waiting helps. It is the longest
// Duration, so that a caller that sleeps for it without a look does not call
// again at once, and again.
const Never time.Duration = math.MaxInt64

// OK reports whether the call was admitted. (Of a Peek: whether it would be.)
func (d Decision) OK() bool { return d.Allowed > 0 }

// Allow asks for cost units of key's quota and takes them, all or none: it is
// RL.ALLOW key limit window COST cost. A denied call changes nothing. A cost of
// 0 is Peek.
//
// Calls on one key with different quotas share what was admitted: a limit that
// is raised or lowered holds from the next call on.
//
// The error is an Error where the arguments make no call or the key holds
// something else, ErrClosed after Close. Allow keeps no reference to key. It
// allocates nothing, except where the key is new or its window grows, and for an
// error.
func (l *Limiter) Allow(key string, q Quota, cost int64) (Decision, error) {
	quotas := [...]Quota{q}
	return l.AllowAll(key, cost, quotas[:]...)
}

// AllowAll is Allow with several quotas on one key (10 a second and 1,000 an
// hour): all admit or none is taken from. The Decision is about the one that
// binds: that admits last, or else has the least left.
func (l *Limiter) AllowAll(key string, cost int64, quotas ...Quota) (Decision, error) {
	d := l.sit()
	defer l.rise(d)
	if err := d.open(l); err != nil {
		return Decision{}, err
	}
	return d.allow(key, quotas, cost)
}

// Peek is what Allow with a cost of 1 would answer, with Remaining and
// ResetAfter as they stand. It takes nothing.
func (l *Limiter) Peek(key string, q Quota) (Decision, error) { return l.Allow(key, q, 0) }

// A desk is a session with the paper on which a call is written: one call at a
// time uses it, and the next finds everything warm.
type desk struct {
	mu      sync.Mutex
	session *engine.Session // protected by mu, as is what follows; nil until it is needed
	closed  bool
	args    [][]byte
	text    []byte
	ends    []int // where the arguments in text end

	_ [128]byte // keeps neighbours out of one pair of cache lines
}

var (
	wordAllow = []byte("RL.ALLOW")
	wordCost  = []byte("COST")
)

// open makes sure that there is a session. It requires mu.
func (d *desk) open(l *Limiter) error {
	switch {
	case d.closed:
		return ErrClosed
	case d.session == nil:
		d.session = l.engine.NewSession(engine.Peer{Addr: inProcess, LocalAddr: inProcess, FD: -1, Local: true, Owner: true})
	}
	return nil
}

// allow writes the command and reads the five integers. It requires mu.
func (d *desk) allow(key string, quotas []Quota, cost int64) (Decision, error) {
	if len(quotas) == 0 {
		return Decision{}, errNoQuota
	}
	// The arguments lie one behind the other; they are cut out only when the
	// text has stopped moving.
	text, ends := append(d.text[:0], key...), append(d.ends[:0], len(key))
	for _, q := range quotas {
		if q.Window%time.Millisecond != 0 {
			return Decision{}, errWindow
		}
		text = strconv.AppendInt(text, q.Limit, 10)
		ends = append(ends, len(text))
		text = strconv.AppendInt(text, int64(q.Window/time.Millisecond), 10)
		ends = append(ends, len(text))
	}
	args, start := append(d.args[:0], wordAllow), 0
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
	d.text, d.ends, d.args = text, ends, args
	reply := d.session.Do(args)
	d.session.Count()
	if err := d.session.WaitDurable(); err != nil {
		return Decision{}, err
	}
	if reply.IsError() {
		return Decision{}, replyError(reply)
	}
	if cap(d.text) > keptText {
		d.text, d.args = nil, nil
	}
	return decision(reply.Elems()), nil
}

// keptText is how much room for arguments a desk keeps: keys are rarely longer.
const keptText = 4 << 10

// decision reads the reply of RL.ALLOW.
func decision(five []resp.Value) Decision {
	retry := Never
	if ms := five[3].Int(); ms >= 0 {
		retry = time.Duration(ms) * time.Millisecond
	}
	return Decision{
		Allowed: five[0].Int(), Limit: five[1].Int(), Remaining: five[2].Int(),
		RetryAfter: retry, ResetAfter: time.Duration(five[4].Int()) * time.Millisecond,
	}
}

func (d *desk) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.session != nil {
		d.session.Close()
		d.session = nil
	}
}
