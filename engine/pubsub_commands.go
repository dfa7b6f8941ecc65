package engine

import (
	"maps"
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

const (
	subscribeFlags = commands.PubSub | commands.NoScript | commands.Loading | commands.Stale | commands.Subscribed
	publishFlags   = commands.PubSub | commands.Loading | commands.Stale | commands.Fast | commands.MayReplicate
	askFlags       = commands.PubSub | commands.Loading | commands.Stale
)

var pubsubGroup = []commands.Command{
	{
		Name: "psubscribe", Arity: -2, Flags: subscribeFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "pattern [pattern ...]", Handler: subscribe(patterns),
		Summary: "Listens to the channels whose names match patterns.",
	},
	{
		Name: "publish", Arity: 3, Flags: publishFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N+M)",
		Syntax: "channel message", Handler: publish(channels),
		Summary: "Sends a message to all who listen to a channel and answers how many receive it.",
	},
	{
		Name: "pubsub", Arity: -2, Group: "pubsub", Since: "2.8.0", Complexity: "O(1)",
		Summary: "Tells who listens to what.",
		Subs: []commands.Command{
			{
				Name: "channels", Arity: -2, Flags: askFlags, Group: "pubsub", Since: "2.8.0", Complexity: "O(N)",
				Syntax: "[pattern]", Handler: topicNames(channels),
				Summary: "Lists the channels that somebody listens to by name.",
			},
			commands.Help("pubsub", "6.2.0"),
			{
				Name: "numpat", Arity: 2, Flags: askFlags, Group: "pubsub", Since: "2.8.0", Complexity: "O(1)",
				Handler: func(c *commands.Ctx) resp.Value { return resp.Int(int64(len(caller(c).hold().topics[patterns]))) },
				Summary: "Counts the patterns that somebody listens to.",
			},
			{
				Name: "numsub", Arity: -2, Flags: askFlags, Group: "pubsub", Since: "2.8.0", Complexity: "O(N)",
				Syntax: "[channel [channel ...]]", Handler: audiences(channels),
				Summary: "Counts who listens to channels by name.",
			},
			{
				Name: "shardchannels", Arity: -2, Flags: askFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
				Syntax: "[pattern]", Handler: topicNames(shardChannels),
				Summary: "Lists the shard channels that somebody listens to.",
			},
			{
				Name: "shardnumsub", Arity: -2, Flags: askFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
				Syntax: "[shardchannel [shardchannel ...]]", Handler: audiences(shardChannels),
				Summary: "Counts who listens to shard channels.",
			},
		},
	},
	{
		Name: "punsubscribe", Arity: -1, Flags: subscribeFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "[pattern [pattern ...]]", Handler: unsubscribe(patterns),
		Summary: "Ends subscriptions to patterns, all if none is named.",
	},
	{
		Name: "spublish", Arity: 3, Flags: publishFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:   []commands.KeySpec{{Flags: commands.NotKey, First: 1, Step: 1}},
		Syntax: "shardchannel message", Handler: publish(shardChannels),
		Summary: "Sends a message to all who listen to a shard channel and answers how many receive it.",
	},
	{
		Name: "ssubscribe", Arity: -2, Flags: subscribeFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:   []commands.KeySpec{{Flags: commands.NotKey, First: 1, Last: -1, Step: 1}},
		Syntax: "shardchannel [shardchannel ...]", Handler: subscribe(shardChannels),
		Summary: "Listens to shard channels.",
	},
	{
		Name: "subscribe", Arity: -2, Flags: subscribeFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "channel [channel ...]", Handler: subscribe(channels),
		Summary: "Listens to channels.",
	},
	{
		Name: "sunsubscribe", Arity: -1, Flags: subscribeFlags, Group: "pubsub", Since: "7.0.0", Complexity: "O(N)",
		Keys:   []commands.KeySpec{{Flags: commands.NotKey, First: 1, Last: -1, Step: 1}},
		Syntax: "[shardchannel [shardchannel ...]]", Handler: unsubscribe(shardChannels),
		Summary: "Ends subscriptions to shard channels, all if none is named.",
	},
	{
		Name: "unsubscribe", Arity: -1, Flags: subscribeFlags, Group: "pubsub", Since: "2.0.0", Complexity: "O(N)",
		Syntax: "[channel [channel ...]]", Handler: unsubscribe(channels),
		Summary: "Ends subscriptions to channels, all if none is named.",
	},
}

// subscribe is SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE. They have no reply: each
// name is confirmed by a message of its own, which comes even where CLIENT REPLY
// has silenced the connection.
func subscribe(kind topicKind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		s := caller(c)
		if kind == shardChannels && s.inExec {
			return errShardInExec
		}
		p := s.hold()
		s.openMailbox()
		for _, name := range c.Args[1:] {
			p.join(s, kind, string(name))
			s.confirm(kind, topicWords[kind].joined, resp.BulkBytes(name))
		}
		s.showSubscriptions()
		return resp.None
	}
}

// unsubscribe is UNSUBSCRIBE, PUNSUBSCRIBE and SUNSUBSCRIBE: of the names that
// are given, or of all.
func unsubscribe(kind topicKind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		s := caller(c)
		p := s.hold()
		s.openMailbox()
		word := topicWords[kind].left
		var names []string
		for _, name := range c.Args[1:] {
			names = append(names, string(name))
		}
		if len(c.Args) == 1 {
			names = slices.Sorted(maps.Keys(s.topics[kind]))
		}
		for _, name := range names {
			p.leave(s, kind, name)
			s.confirm(kind, word, resp.Bulk(name))
		}
		if len(names) == 0 {
			s.confirm(kind, word, resp.Null)
		}
		s.showSubscriptions()
		return resp.None
	}
}

// openMailbox makes the session one that can be sent messages.
func (s *Session) openMailbox() {
	s.mail.open.Store(true)
	s.mail.deaf.Store(false) // whoever has gone is removed: hold
}

// confirm answers one name of a subscribing command.
func (s *Session) confirm(kind topicKind, word string, name resp.Value) {
	s.receive(s, push(resp.Bulk(word), name, resp.Int(s.subscriptions(kind))))
}

// publish is PUBLISH and SPUBLISH.
func publish(kind topicKind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		s := caller(c)
		p := s.hold()
		s.invalidate()
		s.tracking.out.tellFirst() // they changed before
		return resp.Int(int64(p.publish(s, kind, c.Args[1], c.Args[2])))
	}
}

// topicNames is PUBSUB CHANNELS [pattern] and PUBSUB SHARDCHANNELS [pattern].
func topicNames(kind topicKind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		pattern := []byte("*")
		switch len(c.Args) {
		case 2:
		case 3:
			pattern = c.Args[2]
		default:
			return wrongSubcommandArity(c)
		}
		names := caller(c).hold().names(kind, pattern)
		out := make([]resp.Value, len(names))
		for i, name := range names {
			out[i] = resp.Bulk(name)
		}
		return resp.Array(out...)
	}
}

// audiences is PUBSUB NUMSUB [channel ...] and PUBSUB SHARDNUMSUB.
func audiences(kind topicKind) commands.Handler {
	return func(c *commands.Ctx) resp.Value {
		p := caller(c).hold()
		out := make([]resp.Value, 0, 2*len(c.Args))
		for _, name := range c.Args[2:] {
			out = append(out, c.Copy(name), resp.Int(int64(len(p.topics[kind][string(name)]))))
		}
		return resp.Array(out...)
	}
}
