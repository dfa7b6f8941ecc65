package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// limits are the decisions about rate limits: calls of functions of a library that is loaded on
// every master, or of a script where there is no FUNCTION.
type limits struct {
	upstream *Upstream
	since    atomic.Int64 // Unix time in microseconds since when decisions are degraded; 0: they are not
	last     atomic.Int64 // when the last one was
}

func (l *limits) init(u *Upstream) { l.upstream = u }

// A decision is one call of a rate limit command.
type decision struct {
	call     *ratelimit.Call
	ctx      commands.Ctx
	question question
	made     [1]call.Decided
}

// note adds what was decided to what the engine counts. at is the index in the queue of a transaction.
func (d *decision) note(c *call.Call, at int) {
	m := d.call.Made()
	if m == nil {
		return
	}
	d.made[0] = call.Decided{LimitDecision: m, At: at}
	if c.Decided == nil {
		c.Decided = d.made[:1:1]
		return
	}
	c.Decided = append(c.Decided, d.made[0])
}

// A queuedDecision is one of a transaction.
type queuedDecision struct {
	at       int
	decision *decision
	refusal  []byte // its reply, if decision is nil
}

// args returns the words for a node: a call of the function or of the script.
func (d *decision) args(n *node) [][]byte {
	if n != nil && n.functions.scripts.Load() {
		return d.call.AppendEval(nil)
	}
	return d.call.AppendFCall(nil)
}

// parse returns a command as a call of a function, or an error reply.
func (l *limits) parse(c *call.Call, cmd *commands.Command, args [][]byte) (*decision, []byte) {
	d := &decision{}
	d.ctx.Cmd, d.ctx.Args, d.ctx.Settings = cmd, args, c.Settings
	parsed, refusal := ratelimit.Parse(&d.ctx)
	if refusal.IsError() {
		return nil, encode(refusal, c.Proto)
	}
	d.call = parsed
	return d, nil
}

// slot returns the slot of a decision's keys, or an error reply that says how to make it one.
func (d *decision) slot() (int, []byte) {
	slot, ok := slotOf(d.call.Keys())
	if ok {
		return slot, nil
	}
	first := d.call.Keys()[0]
	for _, key := range d.call.Keys()[1:] {
		if commands.KeySlot(key) != commands.KeySlot(first) {
			return slot, errorReply(fmt.Sprintf("CROSSSLOT keys '%s' and '%s' are in different slots: "+
				"give them "+
				"the same hash tag, as in {tag}%s and {tag}%s", first, key, first, key))
		}
	}
	return slot, nil
}

// unit returns the unit of a call, or its reply: an error, or what is known without the upstream.
func (l *limits) unit(c *call.Call, clustered bool) (*unit, []byte) {
	d, refusal := l.parse(c, c.Cmd, c.Args)
	if refusal != nil {
		return nil, refusal
	}
	x := &unit{call: c, slot: anySlot, limit: d, write: !d.call.ReadOnly()}
	if clustered {
		if x.slot, refusal = d.slot(); refusal != nil {
			return nil, refusal
		}
	}
	if known := l.upstream.locals.answer(c, d); known != nil {
		return nil, known
	}
	return x, nil
}

// reply returns the command's reply for that of the function.
func (l *limits) reply(x *unit) []byte {
	l.upstream.locals.decided(x.limit, x.reply)
	reply := x.limit.call.Reply(&x.limit.ctx, x.node.explainRefusal(x.reply))
	x.limit.note(x.call, 0)
	return encode(reply, x.call.Proto)
}

// replies returns the reply of a transaction, with those of commands instead of functions.
func (l *limits) replies(x *unit) []byte {
	elems := elements(x.reply)
	if len(elems) != len(x.queue) {
		return x.reply
	}
	for _, q := range x.limits {
		if q.decision == nil {
			elems[q.at] = q.refusal
			continue
		}
		if ratelimit.NeedsLoad(elems[q.at]) {
			x.node.functions.loaded.Store(false)
		}
		elem := x.node.explainRefusal(elems[q.at])
		elems[q.at] = encode(q.decision.call.Reply(&q.decision.ctx, elem), x.call.Proto)
		q.decision.note(x.call, q.at)
	}
	return arrayOf(elems)
}

// functions is what is known of a node's library.
type functions struct {
	mu      sync.Mutex  // held while the library is loaded
	loaded  atomic.Bool // so that a transaction finds it
	scripts atomic.Bool // the node has no FUNCTION, or does not permit it

	refused   *refusal  // protected by mu: the last one
	refusedAt time.Time // protected by mu
}

// maxLoads is how often a call may find that the library is not there.
const maxLoads = 3

// recover loads the library if a reply says that it is missing, or turns to scripts if there are no
// functions. It reports whether to send the unit again.
func (l *limits) recover(x *unit, reply []byte) bool {
	f := &x.node.functions
	usedScript := string(x.items[len(x.items)-1].args[0]) == "EVALSHA"
	missing := ratelimit.NeedsLoad(reply)
	switch {
	case x.loads >= maxLoads:
		return false
	case missing:
	case !usedScript && refusesFunctions(reply):
		f.scripts.Store(true)
	default:
		return false
	}
	x.loads++
	f.loaded.Store(false)
	if err := l.load(x.node); err != nil {
		x.err = fmt.Errorf("%s: %w", x.node.addr, err)
		return false
	}
	return true
}

// refusesFunctions reports whether an error reply says that there is no FUNCTION, or no permission for
// it. One that is about a key says nothing about other calls.
func refusesFunctions(reply []byte) bool {
	text := strings.ToLower(errorText(reply))
	return strings.HasPrefix(text, "err unknown command") || strings.HasPrefix(text, "err unknown subcommand") ||
		strings.HasPrefix(text, "noperm") && strings.Contains(text, " to run the '")
}

// explainRefusal returns the reply of a function, and instead of an error that is about a command within
// it one that says whose permission is missing.
func (n *node) explainRefusal(reply []byte) []byte {
	if !isError(reply) {
		return reply
	}
	text := errorText(reply)
	if !strings.Contains(text, "The user executing the script") && // Redis 7.0
		!strings.Contains(text, "ACL failure in script") { // later ones
		return reply
	}
	return errorReply("UPSTREAM " + n.addr + ": its user lacks a permission that decisions need: " + text)
}

// A refusal is why a node does not take the library, in its own words.
type refusal struct{ text string }

// Error returns the reason.
func (r *refusal) Error() string { return "the library of functions cannot be loaded: " + r.text }

// retryLoad is for how long a node that has refused the library is not asked again.
const retryLoad = time.Second

// load loads the library on a node, or the script, unless another call has done so meanwhile. A node's
// refusal holds for retryLoad.
func (l *limits) load(n *node) error {
	f := &n.functions
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded.Load() {
		return nil
	}
	if f.refused != nil && time.Since(f.refusedAt) < retryLoad {
		return f.refused
	}
	f.refused = nil
	l.upstream.counts.libraries.Add(1)
	err := l.loadOnce(n)
	if errors.As(err, &f.refused) {
		f.refusedAt = time.Now()
	}
	f.loaded.Store(err == nil)
	return err
}

// loadOnce is load without what is remembered. It requires that functions.mu is held.
func (l *limits) loadOnce(n *node) error {
	f := &n.functions
	without := ""
	if !f.scripts.Load() {
		reply, err := n.ask("FUNCTION", "LOAD", ratelimit.Library())
		switch {
		case err != nil:
			return err
		case isOK(reply), strings.Contains(errorText(reply), "already exists"):
			return nil
		case !refusesFunctions(reply):
			return &refusal{errorText(reply)}
		}
		f.scripts.Store(true)
		without = errorText(reply) + "; and no script instead: "
		l.upstream.log.Warn("upstream: no functions, scripts are used instead", "node", n.addr,
			"error", errorText(reply))
	}
	if err := n.checkVersion(); err != nil {
		return err
	}
	reply, err := n.ask("SCRIPT", "LOAD", ratelimit.Script())
	if err == nil && isError(reply) {
		return &refusal{without + errorText(reply)}
	}
	return err
}

// oldest is the first version of Redis whose scripts can decide, in hundreds: 6.2.
const oldest = 602

// checkVersion returns an error if a node is too old for the script. One that does not say its version
// passes.
func (n *node) checkVersion() error {
	reply, err := n.ask("INFO", "server")
	if err != nil {
		return err
	}
	_, rest, ok := bytes.Cut(reply, []byte("redis_version:"))
	if !ok {
		return nil
	}
	version, _, _ := strings.Cut(string(rest), "\r")
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return nil
	}
	major, _ := strconv.Atoi(parts[0])
	minor, _ := strconv.Atoi(parts[1])
	if major*100+minor < oldest {
		return &refusal{"version " + version + " of the engine is too old, 6.2 is the first that can decide"}
	}
	return nil
}

// ask runs one command on a node, beside the calls of others.
func (n *node) ask(words ...string) ([]byte, error) {
	it := &item{}
	size := 0
	for _, w := range words {
		it.args = append(it.args, []byte(w))
		size += len(w)
	}
	j := &job{
		items: []*item{it}, bytes: size,
		due: time.Now().Add(n.upstream.options.Timeout), done: new(sync.WaitGroup),
	}
	j.done.Add(1)
	n.lane(0, resp.RESP2).submit(j, true)
	j.done.Wait()
	return it.reply, it.err
}

// prepare loads the library before a unit that needs it. A call that found it missing would be sent
// again behind those that followed it, and within a transaction it would be too late.
func (l *limits) prepare(x *unit) {
	if x.limit == nil && len(x.limits) == 0 || x.node.functions.loaded.Load() {
		return
	}
	var refused *refusal
	if err := l.load(x.node); errors.As(err, &refused) {
		x.err = fmt.Errorf("%s: %w", x.node.addr, err)
	} // after another error the call will fail likewise
}

// degrade marks a call that has failed as one that the engine answers, if the key's policy says so.
func (l *limits) degrade(x *unit) {
	x.call.Policy = l.upstream.options.Failure.policy(x.limit.call.Keys()[0])
	if x.call.Policy.Mode == call.Closed || !call.Degradable(x.call.Cmd) {
		return
	}
	x.call.Degraded = true
	l.upstream.counts.degraded.Add(1)
	now := time.Now()
	l.last.Store(now.UnixMicro())
	if l.since.CompareAndSwap(0, now.UnixMicro()) {
		l.upstream.log.Warn("upstream: decisions are degraded", "since", now.UTC().Format(time.RFC3339Nano),
			"error", x.err)
	}
}

// look ends the time of degraded decisions if there was none for a while. It is called every
// refreshEvery.
func (l *limits) look(now time.Time) {
	since, last := l.since.Load(), time.UnixMicro(l.last.Load())
	if since == 0 || now.Sub(last) < refreshEvery || !l.since.CompareAndSwap(since, 0) {
		return
	}
	start := time.UnixMicro(since)
	l.upstream.log.Info("upstream: decisions are no longer degraded", "since",
		start.UTC().Format(time.RFC3339Nano),
		"until", last.UTC().Format(time.RFC3339Nano), "degraded", l.upstream.counts.degraded.Load())
}
