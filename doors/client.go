package doors

import (
	"errors"
	"math"
	"strings"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/resp"
)

// Texts of refusals, as Envoy's rate limit service has them.
const (
	textNoDomain      = "rate limit domain must not be empty"
	textNoDescriptors = "rate limit descriptor list must not be empty"
	textNoPolicies    = "no rate limit configuration loaded"
)

// An engineClient is a Client of an engine: a session, and the scratch space of a decision.
type engineClient struct {
	engine  *engine.Engine
	session *engine.Session // nil: it was ended, and could not log in again
	open    func() error    // logs in and sets session
	woke    chan struct{}   // a call that CLIENT PAUSE postpones may go on
	ending  <-chan struct{}
	gone    <-chan struct{} // the request's

	matcher     policy.Matcher
	descriptors []policy.Descriptor
	words       [][]byte // of Allow's call
}

// Decide implements Client.
func (c *engineClient) Decide(r *Request, out *Response) error {
	set := c.engine.Policies()
	switch {
	case len(r.Domain) == 0:
		return &Refusal{Invalid, textNoDomain}
	case len(r.Descriptors) == 0:
		return &Refusal{Invalid, textNoDescriptors}
	case set == nil:
		return &Refusal{Invalid, textNoPolicies}
	}
	c.descriptors = c.descriptors[:0]
	for i := range r.Descriptors {
		d := &r.Descriptors[i]
		c.descriptors = append(c.descriptors, policy.Descriptor{
			Entries: d.Entries, Override: d.Override, Hits: d.hits(r.Hits),
		})
	}
	domain, limits, err := set.Resolve(&c.matcher, r.Domain, c.descriptors)
	switch {
	case errors.Is(err, policy.ErrUnknownDomain):
		return &Refusal{UnknownDomain, err.Error()}
	case err != nil:
		return &Refusal{Invalid, err.Error()}
	}
	if err := c.begin(r.Gone); err != nil {
		return err
	}
	defer c.trim()
	d := decision{client: c, domain: domain, limits: limits, out: out}
	if err := d.make(); err != nil {
		return err
	}
	return c.finish()
}

// begin makes the client ready for the calls of a request.
func (c *engineClient) begin(gone <-chan struct{}) error {
	if c.session == nil {
		if err := c.open(); err != nil {
			return err
		}
	}
	c.gone = gone
	return nil
}

// finish waits until what the calls have changed is as durable as appendfsync says.
func (c *engineClient) finish() error {
	if c.session == nil {
		return nil
	}
	c.session.Publish(engine.Buffers{})
	if err := c.session.WaitDurable(); err != nil {
		return &Refusal{Unavailable, err.Error()}
	}
	return nil
}

// maxKept is the number of descriptors, or words, whose memory a client keeps for its next request.
const maxKept = 64

// trim forgets the request, and the memory of a large one.
func (c *engineClient) trim() {
	c.gone = nil
	c.matcher.Trim()
	clear(c.descriptors)
	if cap(c.descriptors) > maxKept {
		c.descriptors = nil
	}
	clear(c.words)
	if cap(c.words) > maxKept {
		c.words = nil
	}
}

// hits returns the units that a descriptor asks for. Its own number may be 0, which asks for none.
func (d *Descriptor) hits(ofRequest uint32) int64 {
	if d.Hits == nil {
		return int64(max(ofRequest, 1))
	}
	return int64(min(*d.Hits, math.MaxInt64))
}

// Close implements Client.
func (c *engineClient) Close() {
	if c.session != nil {
		c.session.Close()
	}
}

// A runner is engine.Check or engine.Allow.
type runner func(*engine.Session, [][]byte) resp.Value

// call runs a call. If the session was killed, it logs in again first: its user may have changed.
func (c *engineClient) call(run runner, words [][]byte) resp.Value {
	reply := c.run(run, words)
	if reply.Kind() != resp.KindNone {
		return reply
	}
	select {
	case <-c.ending:
		return reply
	case <-c.gone:
		return reply
	default:
	}
	c.session.Close()
	c.session = nil
	if err := c.open(); err != nil {
		return resp.Error("NOAUTH " + err.Error())
	}
	return c.run(run, words)
}

// run runs a call, and waits while CLIENT PAUSE postpones it.
func (c *engineClient) run(run runner, words [][]byte) resp.Value {
	reply := run(c.session, words)
	for c.session.Blocked() != nil {
		for !c.session.Ready() {
			select {
			case <-c.woke:
				continue
			case <-c.ending:
			case <-c.gone:
			}
			c.session.Blocked().TimeOut()
			return c.session.Resume()
		}
		reply = c.session.Resume()
	}
	return reply
}

// A decision is one under way.
type decision struct {
	client *engineClient
	domain *policy.Domain
	limits []policy.Limit
	out    *Response
}

// make decides every descriptor: by itself, or those of a domain that counts all or none together. Policies
// in shadow mode are decided by themselves in any case, since they deny nothing.
func (d *decision) make() error {
	d.out.Code, d.out.Binding = OK, -1
	d.out.Statuses = d.out.Statuses[:0]
	together := 0
	for i := range d.limits {
		l := &d.limits[i]
		d.out.Statuses = append(d.out.Statuses, statusOf(l))
		switch {
		case l.Policy != nil && l.Policy.Unlimited:
			d.client.engine.Policies().Registry().AllowUnlimited(l.Name(), l.Cost())
		case !l.Decides():
		case d.domain.All && !l.Shadow():
			together++
		default:
			if err := d.decide(i, i+1); err != nil {
				return err
			}
		}
	}
	if together > 0 {
		if err := d.decideTogether(); err != nil {
			return err
		}
	}
	d.bind()
	return nil
}

// statusOf returns the status of a limit before it is decided.
func statusOf(l *policy.Limit) Status {
	s := Status{Code: OK}
	switch p := l.Policy; {
	case p != nil && p.Unlimited:
		s.Remaining = math.MaxUint32
	case l.Decides():
		s.HasLimit, s.HasReset = true, true
		s.Limit = Limit{Requests: l.Requests, Unit: l.Unit}
		if p != nil {
			s.Limit.Name = p.Title
			s.Quota = p.Quota
		}
	}
	return s
}

// decideTogether decides the limits that are not in shadow mode, all or none.
func (d *decision) decideTogether() error {
	at, joint := make([]int, 0, len(d.limits)), make([]policy.Limit, 0, len(d.limits))
	for i := range d.limits {
		if l := &d.limits[i]; l.Decides() && !l.Shadow() {
			at, joint = append(at, i), append(joint, *l)
		}
	}
	if err := checkJoint(joint); err != nil {
		return err
	}
	c := d.client
	reply := c.call(engine.Check, c.matcher.Call(d.domain, joint, policy.Options{Full: true}))
	if reply.Kind() != resp.KindArray {
		for i := range joint {
			if err := d.fail(&d.out.Statuses[at[i]], &joint[i], reply); err != nil {
				return err
			}
		}
		return nil
	}
	answers := reply.Elems()[1:]
	for i := range joint {
		d.set(&d.out.Statuses[at[i]], &joint[i], answers[i].Elems())
	}
	return nil
}

// maxJoint is how many limits one call decides.
const maxJoint = 16

// checkJoint returns the Refusal of limits that no call can decide together, whatever on_failure says: they
// are too many, or two have one key.
func checkJoint(joint []policy.Limit) error {
	if len(joint) > maxJoint {
		return &Refusal{Invalid, "more than 16 descriptors of one request are counted all or none"}
	}
	for i := range joint {
		for j := range i {
			if string(joint[i].Key) == string(joint[j].Key) {
				return &Refusal{Invalid, "two descriptors, counted all or none, have one key"}
			}
		}
	}
	return nil
}

// decide decides the limits from first up to, not including, end by one call.
func (d *decision) decide(first, end int) error {
	c, l, s := d.client, &d.limits[first], &d.out.Statuses[first]
	reply := c.call(engine.Check, c.matcher.Call(d.domain, d.limits[first:end], policy.Options{}))
	if reply.Kind() != resp.KindArray {
		return d.fail(s, l, reply)
	}
	d.set(s, l, reply.Elems())
	return nil
}

// set makes the five integers of a decision a status.
func (d *decision) set(s *Status, l *policy.Limit, five []resp.Value) {
	allowed, limit, remaining, retryMs := five[0].Int(), five[1].Int(), five[2].Int(), five[3].Int()
	s.Remaining = uint32(min(remaining, math.MaxUint32))
	if l.Unit == policy.UnknownUnit {
		s.Limit.Requests = uint32(min(limit, math.MaxUint32))
		s.ResetSeconds = (five[4].Int() + 999) / 1000
	} else {
		s.ResetSeconds = l.Unit.SecondsUntilReset(d.client.engine.Clock().NowUs())
	}
	switch {
	case allowed == 0:
		s.Code = OverLimit
	case retryMs != 0 && !l.Policy.Shadow: // of a limit in quota mode, which is answered as admitted
		s.QuotaOver, s.HasReset = true, false
	}
	s.RetryMs = retryMs
}

// fail makes a reply that is no decision what the policy answers in its place, or returns a Refusal.
func (d *decision) fail(s *Status, l *policy.Limit, reply resp.Value) error {
	refusal := refusalOf(reply)
	if p := l.Policy; p != nil && refusal.Reason == Unavailable {
		switch p.OnFailure {
		case policy.FailAllow:
			s.Remaining, s.HasReset = l.Requests, false
			return nil
		case policy.FailDeny:
			s.Code, s.HasReset = OverLimit, false
			return nil
		}
	}
	return refusal
}

// refusalOf returns the Refusal of a reply that is no decision.
func refusalOf(reply resp.Value) *Refusal {
	text := "the server is closing"
	if reply.IsError() {
		text = reply.Str()
	}
	switch {
	case strings.HasPrefix(text, "NOPERM"):
		return &Refusal{Forbidden, text}
	case strings.HasPrefix(text, "NOAUTH"):
		return &Refusal{Unauthenticated, text}
	}
	return &Refusal{Unavailable, text}
}

// bind sets the code of the response, and which status binds: the last that denies, or else the first with
// the least remaining.
func (d *decision) bind() {
	least := uint32(math.MaxUint32)
	for i := range d.out.Statuses {
		s := &d.out.Statuses[i]
		if s.HasLimit && s.Remaining < least {
			d.out.Binding, least = i, s.Remaining
		}
		if s.Code == OverLimit {
			d.out.Code, d.out.Binding, least = OverLimit, i, 0
		}
	}
}
