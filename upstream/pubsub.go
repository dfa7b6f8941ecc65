package upstream

import (
	"context"
	"errors"
	"maps"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/upstream/call"
)

// A Message is one that was published upstream, for the subscribers of a topic.
type Message struct {
	Kind    call.Kind
	Topic   string // the channel, or the pattern that has matched it
	Channel string
	Payload string
}

// silence is after how long without a message a node is asked whether it is there.
const silence = 5 * time.Second

// A topic is a channel, pattern or shard channel.
type topic struct {
	kind call.Kind
	name string
}

// topics are what this process has subscribed to. A goroutine brings the subscriptions of nodes in
// line with what is wanted, after each change of either.
type topics struct {
	upstream *Upstream

	mu      sync.Mutex
	wanted  map[topic]bool             // protected by mu
	subs    map[receiver]*subscription // protected by mu
	running bool                       // protected by mu
	wake    chan struct{}              // has a capacity of 1
	changed chan struct{}              // protected by mu: closed at the next confirmation
}

// A receiver is a node from which messages come. Those of shard channels come on a connection of their own:
// the library does not say which messages they are, and a channel may have the same name.
type receiver struct {
	node  *node
	shard bool
}

func (t *topics) init(u *Upstream) {
	t.upstream = u
	t.wanted, t.subs = make(map[topic]bool), make(map[receiver]*subscription)
	t.wake, t.changed = make(chan struct{}, 1), make(chan struct{})
}

// A subscription is a connection to a node that receives messages.
type subscription struct {
	receiver
	conn     *redis.PubSub
	topics   map[topic]bool // protected by topics.mu; true: confirmed
	receives bool           // used by reconcile only
}

// Subscribe makes messages of a topic arrive, or no longer. It does not block.
func (u *Upstream) Subscribe(kind call.Kind, name string, wanted bool) {
	u.topics.set(topic{kind, name}, wanted)
}

func (t *topics) set(what topic, wanted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wanted {
		t.wanted[what] = true
	} else {
		delete(t.wanted, what)
	}
	if !t.running {
		t.running = true
		t.upstream.background(t.run)
	}
	t.notify()
}

// notify makes run look again.
func (t *topics) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// moved is called when nodes may have come, gone, or exchanged slots.
func (t *topics) moved() { t.notify() }

// settle waits until the upstream has confirmed all topics that are wanted, or the timeout is over.
func (u *Upstream) settle() {
	t := &u.topics
	late := time.After(u.options.Timeout)
	for {
		t.mu.Lock()
		settled := t.settled()
		changed := t.changed
		t.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		case <-u.ending.Done():
			return
		}
	}
}

// settled reports whether every topic has been confirmed by all nodes from which its messages come. It
// requires mu.
func (t *topics) settled() bool {
	for what := range t.wanted {
		asked := false
		for _, s := range t.subs {
			confirmed, ok := s.topics[what]
			if ok && !confirmed {
				return false
			}
			asked = asked || ok
		}
		if !asked {
			return false
		}
	}
	return true
}

// run brings the subscriptions in line until the upstream is closed.
func (t *topics) run() {
	retry := time.NewTicker(maxPause)
	defer retry.Stop()
	for {
		select {
		case <-t.upstream.ending.Done():
			return
		case <-t.wake:
		}
		for !t.reconcile() {
			select {
			case <-t.upstream.ending.Done():
				return
			case <-retry.C:
			}
		}
	}
}

// reconcile makes one attempt. It reports whether all topics have a node.
func (t *topics) reconcile() bool {
	topology := t.upstream.current(time.Now().Add(t.upstream.options.Timeout))
	t.mu.Lock()
	plan := make(map[receiver]map[topic]bool)
	complete := true
	for what := range t.wanted {
		nodes := t.nodes(topology, what)
		complete = complete && len(nodes) > 0
		for _, n := range nodes {
			r := receiver{n, what.kind == call.ShardChannel}
			if plan[r] == nil {
				plan[r] = make(map[topic]bool)
			}
			plan[r][what] = true
		}
	}
	var ended []*subscription
	for r, s := range t.subs {
		if plan[r] == nil {
			ended = append(ended, s)
			delete(t.subs, r)
		}
	}
	type change struct {
		sub      *subscription
		add, cut []topic
	}
	var changes []change
	for r, topics := range plan {
		s := t.subs[r]
		if s == nil {
			s = t.open(r)
			t.subs[r] = s
		}
		c := change{sub: s}
		for what := range topics {
			if _, ok := s.topics[what]; !ok {
				s.topics[what] = false
				c.add = append(c.add, what)
			}
		}
		for what := range maps.Clone(s.topics) {
			if !topics[what] {
				delete(s.topics, what)
				c.cut = append(c.cut, what)
			}
		}
		changes = append(changes, c)
	}
	t.mu.Unlock()
	for _, s := range ended {
		_ = s.conn.Close()
	}
	for _, c := range changes {
		if err := c.sub.change(t.upstream.ending, c.add, c.cut); err != nil {
			t.lost(c.sub, err)
			complete = false
		}
	}
	return complete
}

// nodes returns those that a topic is subscribed to: the master of a shard channel's slot; all
// masters for keyspace notifications, which nodes do not pass on; any node for the rest. It requires
// mu.
func (t *topics) nodes(topology *topology, what topic) []*node {
	if what.kind == call.ShardChannel {
		if n := topology.master(commands.KeySlot([]byte(what.name))); n != nil {
			return []*node{n}
		}
		return nil
	}
	if strings.HasPrefix(what.name, "__key") {
		return topology.masters
	}
	var found *node
	for _, n := range topology.masters {
		switch {
		case n.awaySince.Load() != 0:
		case t.subs[receiver{node: n}] != nil:
			return []*node{n}
		case found == nil:
			found = n
		}
	}
	if found == nil {
		return nil
	}
	return []*node{found}
}

// open returns a subscription to nothing, and a goroutine that receives. It requires mu.
func (t *topics) open(r receiver) *subscription {
	s := &subscription{receiver: r, topics: make(map[topic]bool)}
	s.conn = r.node.lane(0, resp.RESP2).client.Subscribe(t.upstream.ending)
	return s
}

// change subscribes and unsubscribes.
func (s *subscription) change(ctx context.Context, add, cut []topic) error {
	names := func(all []topic, kind call.Kind) (names []string) {
		for _, what := range all {
			if what.kind == kind {
				names = append(names, what.name)
			}
		}
		return names
	}
	for _, c := range []struct {
		kind     call.Kind
		add, cut func(ctx context.Context, names ...string) error
	}{
		{call.Channel, s.conn.Subscribe, s.conn.Unsubscribe},
		{call.Pattern, s.conn.PSubscribe, s.conn.PUnsubscribe},
		{call.ShardChannel, s.conn.SSubscribe, s.conn.SUnsubscribe},
	} {
		if n := names(add, c.kind); len(n) > 0 {
			if err := c.add(ctx, n...); err != nil {
				return err
			}
		}
		if n := names(cut, c.kind); len(n) > 0 {
			if err := c.cut(ctx, n...); err != nil {
				return err
			}
		}
	}
	if !s.receives {
		s.receives = true
		t := &s.node.upstream.topics
		t.upstream.background(func() { t.receive(s) })
	}
	return nil
}

var kindsOfWords = map[string]call.Kind{
	"subscribe": call.Channel, "psubscribe": call.Pattern, "ssubscribe": call.ShardChannel,
	"sunsubscribe": call.ShardChannel,
}

// receive passes messages on until the connection is lost.
func (t *topics) receive(s *subscription) {
	asked := false
	for {
		m, err := s.conn.ReceiveTimeout(t.upstream.ending, silence)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() && !asked {
			asked = true
			if err = s.conn.Ping(t.upstream.ending); err == nil {
				continue
			}
		}
		if err != nil {
			t.lost(s, err)
			return
		}
		asked = false
		switch m := m.(type) {
		case *redis.Subscription:
			t.confirm(s, m)
		case *redis.Message:
			t.deliver(s, m)
		}
	}
}

// confirm marks a topic as confirmed. A shard channel whose slot has moved is looked for again.
func (t *topics) confirm(s *subscription, m *redis.Subscription) {
	kind, ok := kindsOfWords[m.Kind]
	if !ok {
		return
	}
	what := topic{kind, m.Channel}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.Kind == "sunsubscribe" {
		if _, had := s.topics[what]; had {
			delete(s.topics, what)
			t.upstream.refresh.ask()
		}
		return
	}
	if _, wanted := s.topics[what]; wanted {
		s.topics[what] = true
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// deliver passes a message on, unless its topic has another subscription by now.
func (t *topics) deliver(s *subscription, m *redis.Message) {
	out := Message{Kind: call.Channel, Topic: m.Channel, Channel: m.Channel, Payload: m.Payload}
	switch {
	case s.shard:
		out.Kind = call.ShardChannel
	case m.Pattern != "":
		out.Kind, out.Topic = call.Pattern, m.Pattern
	}
	t.mu.Lock()
	_, wanted := s.topics[topic{out.Kind, out.Topic}]
	t.mu.Unlock()
	if wanted && t.upstream.options.Deliver != nil {
		t.upstream.options.Deliver(out)
	}
}

// lost removes a subscription whose connection is lost. Its topics are subscribed to anew.
func (t *topics) lost(s *subscription, err error) {
	_ = s.conn.Close()
	t.mu.Lock()
	known := t.subs[s.receiver] == s
	if known {
		delete(t.subs, s.receiver)
	}
	t.mu.Unlock()
	if known && t.upstream.ending.Err() == nil {
		t.upstream.options.Log.Warn("upstream: subscription lost, messages may be missing",
			"node", s.node.addr, "error", err)
		t.upstream.refresh.ask()
		t.notify()
	}
}

// close ends all subscriptions.
func (t *topics) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.subs {
		_ = s.conn.Close()
	}
}
