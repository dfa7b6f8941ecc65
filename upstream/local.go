package upstream

import (
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/limiter"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/local"
)

// locals is what the gateway answers by itself.
type locals struct {
	denials *local.Denials
	leases  *local.Leases
	start   time.Time
	// maxUnits bounds what a call adds to a log, with its lease.
	maxUnits int64

	answered atomic.Int64 // decisions
	leased   atomic.Int64 // units that were taken in advance
}

// nowUs returns an instant of a clock that only moves forwards.
func (l *locals) nowUs() int64 { return time.Since(l.start).Microseconds() }

// A question is what must be known of a decision when it is answered. The texts are those of package
// local.
type question struct {
	denial      []byte // nil: a denial is not remembered
	denialEpoch uint64

	lease      []byte // nil: the call takes no lease
	leaseEpoch uint64
	want       local.Want

	sentUs int64
}

// answer returns the reply to a decision that needs no upstream, or nil, and notes what is to be known
// when it is answered.
func (l *locals) answer(c *call.Call, d *decision) []byte {
	key := d.call.Keys()[0]
	leasable := d.call.Leasable() && l.leases.Covers(key)
	deniable := d.call.Combinable() && l.denials.Covers(key)
	if !leasable && !deniable {
		return nil
	}
	q := &d.question
	q.sentUs = l.nowUs()
	if leasable {
		text := d.call.AppendSignature([]byte{byte(c.DB)})
		q.leaseEpoch = l.leases.Epoch(key)
		known, ok, want := l.leases.Take(key, text, d.call.Cost(), q.sentUs)
		if ok {
			return l.reply(c, d, &known, "lease")
		}
		if want.Most > 0 {
			q.lease, q.want = text, want
		}
	}
	if deniable {
		q.denial = d.call.AppendIdentity([]byte{byte(c.DB)})
		q.denialEpoch = l.denials.Epoch(key)
		if known, ok := l.denials.Answer(key, q.denial, q.sentUs); ok {
			l.failed(d)
			return l.reply(c, d, &known, "deny-cache")
		}
	}
	if q.lease != nil {
		most := min(q.want.Most, l.maxUnits-d.call.Units())
		d.call = d.call.WithLease(q.want.SharePercent, q.want.AheadMs, most)
	}
	return nil
}

// reply returns the reply with a decision that the gateway has made. source says how, for FULL.
func (l *locals) reply(c *call.Call, d *decision, known *limiter.Decision, source string) []byte {
	l.answered.Add(1)
	reply := d.call.Answer(&d.ctx, known, resp.Bulk("source"), resp.Bulk(source))
	d.note(c, 0)
	return encode(reply, c.Proto)
}

// decided notes the reply to a decision.
func (l *locals) decided(d *decision, raw []byte) {
	q := &d.question
	if q.lease == nil && q.denial == nil {
		return
	}
	nowUs := l.nowUs()
	if q.lease != nil {
		if known, units, ok := d.call.Lease(raw); ok {
			l.leases.Taken(q.lease, q.leaseEpoch, &known, units, q.want, q.sentUs, nowUs)
			l.leased.Add(units)
		} else {
			l.failed(d)
		}
	}
	if q.denial == nil {
		return
	}
	known, ok := d.call.Decision(raw)
	switch key := d.call.Keys()[0]; {
	case !ok:
	case known.Allowed == 0:
		l.denials.Remember(key, q.denial, q.denialEpoch, &known, q.sentUs, nowUs)
	case !d.call.ReadOnly():
		l.denials.Forget(key)
	}
}

// failed notes that a decision was not answered.
func (l *locals) failed(d *decision) {
	if d.question.lease != nil {
		l.leases.Failed(d.question.lease)
	}
}

// changes is called with each call before it is sent and after it is answered: it ends what is
// known of the keys that the call may change.
func (l *locals) changes(c *call.Call) {
	if l.denials == nil && l.leases == nil {
		return
	}
	if c.Queue == nil {
		l.changesOf(c.Cmd, c.Args)
		return
	}
	for i := range c.Queue {
		l.changesOf(c.Queue[i].Cmd, c.Queue[i].Args)
	}
}

func (l *locals) changesOf(cmd *commands.Command, args [][]byte) {
	if !writes(cmd, args) || decides[cmd.Name] {
		return
	}
	keys := cmd.AppendKeys(nil, args)
	if l.denials != nil {
		forget(l.denials, keys)
	}
	if l.leases != nil {
		forget(l.leases, keys)
	}
}

// forget ends what is known of keys, or of all if there are none.
func forget(from interface {
	Forget(key []byte)
	ForgetAll()
}, keys [][]byte,
) {
	if len(keys) == 0 {
		from.ForgetAll()
	}
	for _, key := range keys {
		from.Forget(key)
	}
}

// decides are the commands that only add units, so that nothing denied is admitted sooner.
var decides = map[string]bool{"rl.allow": true, "rl.mallow": true, "cl.throttle": true, "rl.reserve": true}
