package engine

import (
	"math"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var connectionGroup = []commands.Command{
	{
		Name: "auth", Arity: -2, Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Syntax: "[username] password",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.NoAuth |
			commands.AllowBusy | commands.LogsIn,
		Summary: "Authenticates the connection.",
		Handler: auth,
	},
	{
		Name: "echo", Arity: 2, Group: "connection", Since: "1.0.0", Complexity: "O(1)", Syntax: "message",
		Flags:   commands.Loading | commands.Stale | commands.Fast,
		Summary: "Returns its argument.",
		Handler: func(c *commands.Ctx) resp.Value { return c.Copy(c.Args[1]) },
	},
	{
		Name: "hello", Arity: -1, Group: "connection", Since: "6.0.0", Complexity: "O(1)",
		Syntax: "[protover [AUTH username password] [SETNAME clientname]]",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.NoAuth |
			commands.AllowBusy | commands.LogsIn,
		Summary: "Selects the protocol and returns information about the server.",
		Handler: hello,
	},
	{
		Name: "ping", Arity: -1, Group: "connection", Since: "1.0.0", Complexity: "O(1)", Syntax: "[message]",
		Flags:   commands.Fast | commands.Subscribed | commands.NeedsDisk, // so that health checks notice
		Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
		Summary: "Returns PONG, or its argument.",
		Handler: ping,
	},
	{
		Name: "quit", Arity: -1, Group: "connection", Since: "1.0.0", Complexity: "O(1)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.NoAuth |
			commands.AllowBusy |
			commands.Immediate | commands.EndsMulti | commands.Subscribed,
		Summary: "Closes the connection.",
		Handler: quit,
	},
	{
		Name: "reset", Arity: 1, Group: "connection", Since: "6.2.0", Complexity: "O(1)",
		Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast | commands.NoAuth |
			commands.AllowBusy |
			commands.Immediate | commands.EndsMulti | commands.Transaction | commands.Subscribed,
		Summary: "Resets the connection to its state when it was opened.",
		Handler: reset,
	},
	{
		Name: "select", Arity: 2, Group: "connection", Since: "1.0.0", Complexity: "O(1)", Syntax: "index",
		Flags:   commands.Loading | commands.Stale | commands.Fast,
		Place:   commands.PlaceEither,
		Selects: true,
		Summary: "Selects the database.",
		Handler: selectDB,
	},
}

// PING [message]
func ping(c *commands.Ctx) resp.Value {
	if len(c.Args) > 2 {
		return commands.WrongArity(c.Cmd)
	}
	s := caller(c)
	switch {
	case s.inbox.subscribed && s.answers.proto == resp.RESP2: // in the form of a message
		if len(c.Args) == 1 {
			return resp.Array(resp.Bulk("pong"), resp.Bulk(""))
		}
		return resp.Array(resp.Bulk("pong"), c.Copy(c.Args[1]))
	case len(c.Args) == 1:
		return resp.Pong
	}
	return c.Copy(c.Args[1])
}

// QUIT
func quit(c *commands.Ctx) resp.Value {
	caller(c).ending.closing = true
	return resp.OK
}

// RESET
func reset(c *commands.Ctx) resp.Value {
	s := caller(c)
	s.tx.end()
	s.tx.endWatch()
	s.inbox.unsubscribe()
	s.work.rec.track(nil)
	s.seen.unmonitor()
	s.answers.proto = resp.RESP2
	if s.answers.mode != replySkip { // CLIENT REPLY SKIP skips RESET's reply, too
		s.answers.mode = replyOn
	}
	s.answers.silent.Store(false)
	s.who.leave()
	c.DBIndex = 0
	s.answers.noTouch = false
	s.shown.edit(func(p *public) { p.name, p.noEvict, p.noTouch = "", false, false })
	s.answers.shareOutput()
	return resp.Status("RESET")
}

// SELECT index
func selectDB(c *commands.Ctx) resp.Value {
	index, ok := store.ParseInt(c.Args[1])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case index < math.MinInt32 || index > math.MaxInt32:
		return errIndexRange
	case c.Settings.Cluster && index != 0 && !c.Mode.Is(commands.Replayed): // see checkDatabases
		return commands.NotInCluster(c.Cmd)
	case index < 0 || index >= store.Databases:
		return commands.ErrDBIndex
	}
	c.DBIndex = int(index)
	return resp.OK
}

// HELLO [protover [AUTH username password] [SETNAME clientname]]
func hello(c *commands.Ctx) resp.Value {
	s := caller(c)
	proto := s.answers.proto
	rest := c.Args[1:]
	if len(rest) > 0 {
		version, ok := store.ParseInt(rest[0])
		if !ok {
			return errProtoNum
		}
		if version != resp.RESP2 && version != resp.RESP3 {
			return errNoProto
		}
		proto, rest = int(version), rest[1:]
	}
	// Options take effect as they come, as in Redis, even if a later one fails.
	for len(rest) > 0 {
		switch {
		case commands.EqualFold(rest[0], "auth") && len(rest) > 2:
			at := len(c.Args) - len(rest)
			c.Redact(at + 1)
			c.Redact(at + 2)
			if reply := s.who.login(string(rest[1]), string(rest[2])); reply.IsError() {
				return reply
			}
			rest = rest[3:]
		case commands.EqualFold(rest[0], "setname") && len(rest) > 1:
			if !validName(rest[1]) {
				return errClientName
			}
			s.shown.setName(rest[1])
			rest = rest[2:]
		default:
			return resp.Error("ERR Syntax error in HELLO option '" + string(rest[0]) + "'")
		}
	}
	if !s.who.authenticated {
		return errHelloAuth
	}
	s.answers.proto = proto
	mode := "standalone"
	if c.Settings.Cluster {
		mode = "cluster"
	}
	return resp.Map(
		resp.Bulk("server"), resp.Bulk("redis"),
		resp.Bulk("version"), resp.Bulk(commands.RedisVersion),
		resp.Bulk("proto"), resp.Int(int64(s.answers.proto)),
		resp.Bulk("id"), resp.Int(s.id),
		resp.Bulk("mode"), resp.Bulk(mode),
		resp.Bulk("role"), resp.Bulk(s.engine.roleName()),
		resp.Bulk("modules"), resp.Empty,
	)
}
