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
	denials  *local.Denials
	start    time.Time
	answered atomic.Int64
}

// nowUs returns an instant of a clock that only moves forwards.
func (l *locals) nowUs() int64 { return time.Since(l.start).Microseconds() }

// A question is what a decision must know when it is answered.
type question struct {
	call   []byte // in the terms of package local; nil: nothing is remembered
	epoch  uint64
	sentUs int64
}

// answer returns the reply to a decision that is known, or nil, and notes what is to be known when
// it is answered.
func (l *locals) answer(c *call.Call, d *decision) []byte {
	key := d.call.Keys()[0]
	if !d.call.Combinable() || !l.denials.Covers(key) {
		return nil
	}
	d.question = question{d.call.AppendIdentity([]byte{byte(c.DB)}), l.denials.Epoch(key), l.nowUs()}
	known, ok := l.denials.Answer(key, d.question.call, d.question.sentUs)
	if !ok {
		return nil
	}
	l.answered.Add(1)
	return d.reply(c.Proto, &known, "deny-cache")
}

// reply returns the reply with a decision that the gateway has made. source says how, for FULL.
func (d *decision) reply(proto int, known *limiter.Decision, source string) []byte {
	v := d.call.Answer(&d.ctx, known, resp.Bulk("source"), resp.Bulk(source))
	return encode(v, proto)
}

// decided notes the reply to a decision.
func (l *locals) decided(d *decision, raw []byte) {
	if d.question.call == nil {
		return
	}
	known, ok := d.call.Decision(raw)
	switch {
	case !ok:
	case known.Allowed == 0:
		l.denials.Remember(d.call.Keys()[0], d.question.call, d.question.epoch, &known, d.question.sentUs, l.nowUs())
	case !d.call.ReadOnly():
		l.denials.Forget(d.call.Keys()[0])
	}
}

// changes is called with each call before it is sent and after it is answered: it ends what is
// known of the keys that the call may change.
func (l *locals) changes(c *call.Call) {
	if l.denials == nil {
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
	if len(keys) == 0 {
		l.denials.ForgetAll()
	}
	for _, key := range keys {
		l.denials.Forget(key)
	}
}

// decides are the commands that only add units, so that nothing denied is admitted sooner.
var decides = map[string]bool{"rl.allow": true, "rl.mallow": true, "cl.throttle": true, "rl.reserve": true}
