package pubsub

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store/dict"
)

// A Caller is the session that runs a command of this package: it is the Caller
// of the command's context.
type Caller interface {
	// Subscriber returns the session's subscriber.
	Subscriber() *Subscriber

	// AcquireBroker acquires the Broker's lock until the command, script or EXEC
	// ends, after it has published the events of what that has changed so far.
	AcquireBroker() *Broker

	// BeforePublish is called before a command publishes a message, with the lock held.
	BeforePublish(db int, args [][]byte)

	// SubscriptionsChanged is called after subscriptions have changed.
	SubscriptionsChanged()
}

func caller(c *commands.Ctx) Caller { return c.Env.Caller.(Caller) }

var errShardInExec = resp.Error("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")

const (
	subscribeFlags = commands.PubSub | commands.NoScript | commands.Loading | commands.Stale |
		commands.Subscribed
	publishFlags = commands.PubSub | commands.Loading | commands.Stale | commands.Fast |
		commands.MayReplicate
	queryFlags = commands.PubSub | commands.Loading | commands.Stale
)

// Commands are the rows of the group pubsub.
var Commands = []commands.Command{
	{
		Name: "psubscribe", Arity: -2, Flags: subscribeFlags,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Channels: commands.EveryPattern,
		Syntax:   "pattern [pattern ...]", Handler: subscribe(Patterns),
		Summary: "Subscribes to the channels whose names match patterns.",
	},
	{
		Name: "publish", Arity: 3, Flags: publishFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N+M)",
		Channels: commands.FirstChannel,
		Place:    commands.PlaceAlone,
		Syntax:   "channel message", Handler: publish(Channels),
		Summary: "Publishes a message to a channel and returns how many subscribers receive it.",
	},
	{
		Name: "pubsub", Arity: -2, Group: "pubsub", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Returns information about subscriptions.",
		Subs: []commands.Command{
			{
				Name: "channels", Arity: -2, Flags: queryFlags,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(N)",
				Syntax: "[pattern]", Handler: topicNames(Channels),
				Summary: "Lists the channels that have subscribers.",
			},
			commands.Help("pubsub", "6.2.0"),
			{
				Name: "numpat", Arity: 2, Flags: queryFlags,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(1)",
				Handler: numPat,
				Summary: "Counts the patterns that have subscribers.",
			},
			{
				Name: "numsub", Arity: -2, Flags: queryFlags,
				Group: "pubsub", Since: "2.8.0", Complexity: "O(N)",
				Syntax: "[channel [channel ...]]", Handler: numSub(Channels),
				Summary: "Counts the subscribers of channels.",
			},
			{
				Name: "shardchannels", Arity: -2, Flags: queryFlags,
				Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
				Syntax: "[pattern]", Handler: topicNames(ShardChannels),
				Summary: "Lists the shard channels that have subscribers.",
			},
			{
				Name: "shardnumsub", Arity: -2, Flags: queryFlags,
				Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
				Syntax: "[shardchannel [shardchannel ...]]", Handler: numSub(ShardChannels),
				Summary: "Counts the subscribers of shard channels.",
			},
		},
	},
	{
		Name: "punsubscribe", Arity: -1, Flags: subscribeFlags,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "[pattern [pattern ...]]", Handler: unsubscribe(Patterns),
		Summary: "Unsubscribes from patterns, from all by default.",
	},
	{
		Name: "spublish", Arity: 3, Flags: publishFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:     []commands.KeySpec{{Flags: commands.NotKey, First: 1, Step: 1}},
		Channels: commands.FirstChannel,
		Syntax:   "shardchannel message", Handler: publish(ShardChannels),
		Summary: "Publishes a message to a shard channel and returns how many subscribers receive it.",
	},
	{
		Name: "ssubscribe", Arity: -2, Flags: subscribeFlags,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:     []commands.KeySpec{{Flags: commands.NotKey, First: 1, Last: -1, Step: 1}},
		Channels: commands.EveryChannel,
		Syntax:   "shardchannel [shardchannel ...]", Handler: subscribe(ShardChannels),
		Summary: "Subscribes to shard channels.",
	},
	{
		Name: "subscribe", Arity: -2, Flags: subscribeFlags,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Channels: commands.EveryChannel,
		Syntax:   "channel [channel ...]", Handler: subscribe(Channels),
		Summary: "Subscribes to channels.",
	},
	{
		Name: "sunsubscribe", Arity: -1, Flags: subscribeFlags,
		Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:   []commands.KeySpec{{Flags: commands.NotKey, First: 1, Last: -1, Step: 1}},
		Syntax: "[shardchannel [shardchannel ...]]", Handler: unsubscribe(ShardChannels),
		Summary: "Unsubscribes from shard channels, from all by default.",
	},
	{
		Name: "unsubscribe", Arity: -1, Flags: subscribeFlags,
		Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "[channel [channel ...]]", Handler: unsubscribe(Channels),
		Summary: "Unsubscribes from channels, from all by default.",
	},
}

// subscribe is SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE. They have no reply: each
// name is confirmed by a message of its own, even under CLIENT REPLY OFF.
func subscribe(kind Kind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		s := caller(c).Subscriber()
		if kind == ShardChannels && s.InExec {
			return errShardInExec
		}
		b := caller(c).AcquireBroker()
		s.openForMessages()
		for _, name := range c.Args[1:] {
			b.subscribe(s, kind, name)
			b.confirm(s, kind, words[kind].subscribed, resp.BulkBytes(name))
		}
		return subscriptionsChanged(c)
	}
}

// unsubscribe is UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE, of the names that
// are given or of all.
func unsubscribe(kind Kind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		s := caller(c).Subscriber()
		b := caller(c).AcquireBroker()
		s.openForMessages()
		word := words[kind].unsubscribed
		var names []string
		for _, name := range c.Args[1:] {
			names = append(names, string(name))
		}
		if len(c.Args) == 1 {
			names = s.names(kind)
		}
		for _, name := range names {
			b.unsubscribe(s, kind, name)
			b.confirm(s, kind, word, resp.Bulk(name))
		}
		if len(names) == 0 {
			b.confirm(s, kind, word, resp.Null)
		}
		return subscriptionsChanged(c)
	}
}

// openForMessages opens the mailbox. AcquireBroker has removed the session if it
// was among the departed.
func (s *Subscriber) openForMessages() {
	s.Mail.Open()
	s.Mail.detached.Store(false)
}

// confirm sends a session the answer to one name of a subscribing command.
func (b *Broker) confirm(s *Subscriber, kind Kind, word string, name resp.Value) {
	b.Send(s, s, push(resp.Bulk(word), name, resp.Int(s.count(kind))))
}

func subscriptionsChanged(c *commands.Ctx) resp.Value {
	caller(c).Subscriber().updateSubscribed()
	caller(c).SubscriptionsChanged()
	return resp.None
}

// publish is PUBLISH and SPUBLISH.
func publish(kind Kind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		b := caller(c).AcquireBroker()
		caller(c).BeforePublish(c.DBIndex, c.Args)
		return resp.Int(int64(b.publish(caller(c).Subscriber(), kind, c.Args[1], c.Args[2])))
	}
}

// topicNames is PUBSUB CHANNELS [pattern] and PUBSUB SHARDCHANNELS [pattern].
func topicNames(kind Kind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		var pattern []byte
		switch len(c.Args) {
		case 2:
		case 3:
			pattern = c.Args[2]
		default:
			return commands.WrongSubcommandArity(c)
		}
		names := caller(c).AcquireBroker().names(kind, pattern)
		out := make([]resp.Value, len(names))
		for i, name := range names {
			out[i] = resp.Bulk(name)
		}
		return resp.Array(out...)
	}
}

// numSub is PUBSUB NUMSUB [channel ...] and PUBSUB SHARDNUMSUB [shardchannel ...].
func numSub(kind Kind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		b := caller(c).AcquireBroker()
		out := make([]resp.Value, 0, 2*len(c.Args))
		for _, name := range c.Args[2:] {
			subscribers := 0
			if n := b.topics[kind].Get(dict.Hash(name), name); n != nil {
				subscribers = len(n.Value.subscribers)
			}
			out = append(out, c.Copy(name), resp.Int(int64(subscribers)))
		}
		return resp.Array(out...)
	}
}

// PUBSUB NUMPAT
func numPat(c *commands.Ctx) resp.Value {
	return resp.Int(int64(caller(c).AcquireBroker().Topics()[Patterns]))
}
