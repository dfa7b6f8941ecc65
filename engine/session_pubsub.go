package engine

import (
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
)

// Subscriber is for package pubsub.
func (s *Session) Subscriber() *pubsub.Subscriber { return &s.inbox.subscriber }

// AcquireBroker is for package pubsub. It acquires the broker's lock until the command under way ends, and
// publishes the events of what that has changed so far.
func (s *Session) AcquireBroker() *pubsub.Broker {
	b := &s.engine.broker
	b.Acquire(&s.inbox.subscriber)
	if s.work.rec.on {
		s.work.rec.notified = b.PublishEvents(&s.inbox.subscriber, &s.work.rec.group, s.work.rec.notified)
	}
	return b
}

// BeforePublish is for package pubsub. Keys that have changed before a message is
// published are invalidated before it. Replicas get it too.
func (s *Session) BeforePublish(db int, args [][]byte) {
	s.work.rec.invalidate()
	s.work.invalid.SendBeforeReply()
	if s.work.rec.on && s.engine.recording.stream.Load() != nil {
		s.work.rec.group.Message(db, args...)
	}
}

// SubscriptionsChanged is for package pubsub. It shows other sessions what the session has subscribed to.
func (s *Session) SubscriptionsChanged() {
	s.inbox.subscribed = s.inbox.subscriber.Mail.Subscribed()
	s.shown.edit(func(p *public) { p.topics = s.inbox.subscriber.Counts() })
	s.shown.countNames()
}

// unsubscribe ends every subscription, and sends nothing.
func (x *inbox) unsubscribe() {
	if x.subscribed {
		x.session.engine.broker.Unsubscribe(&x.subscriber)
		x.session.SubscriptionsChanged()
	}
}

// Subscribed reports whether the session has subscriptions.
func (s *Session) Subscribed() bool { return s.inbox.subscribed }

// Deliver appends the encoded messages that have come for the session since its
// last command to b. If lost is not 0, that many bytes were waiting when they
// exceeded client-output-buffer-limit, and the connection is to be closed.
func (s *Session) Deliver(b []byte) (out []byte, lost int) {
	return s.inbox.subscriber.Mail.Drain(b, s.answers.proto), s.inbox.subscriber.Mail.Overflow()
}

// collect drains the mailbox, so that its messages are sent before the reply of the command under way. With
// the command's shards locked, that is exactly where they were published before the command ran, as far as
// its keys can tell.
func (x *inbox) collect() {
	if mail := &x.subscriber.Mail; mail.Stale(x.session.answers.proto) {
		x.waiting = mail.Drain(x.waiting, x.session.answers.proto)
	}
}

// before returns a reply behind the messages that collect has drained.
func (x *inbox) before(reply resp.Value) resp.Value {
	if reply.Kind() == resp.KindStream {
		reply = resp.StreamedAfter(x.waiting, reply)
		x.waiting = nil
		return reply
	}
	b := resp.Append(x.waiting, &reply, x.session.answers.proto)
	x.waiting = b[:0]
	if cap(b) > pubsub.MaxIdleBytes {
		x.waiting = nil
	}
	return resp.Encoded(b)
}

// behind returns a reply behind messages, which are encoded.
func behind(messages []byte, reply resp.Value, proto int) resp.Value {
	if reply.Kind() == resp.KindStream {
		return resp.StreamedAfter(messages, reply)
	}
	return resp.Encoded(resp.Append(messages, &reply, proto))
}

// subscribers returns how many sessions have subscriptions.
func (e *Engine) subscribers() int {
	n := 0
	for _, s := range e.sessions.all() {
		if p := s.shown.view(); p.subscribed() {
			n++
		}
	}
	return n
}
