package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pause"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

const (
	clientFlags = commands.NoScript | commands.Loading | commands.Stale
	clientAdmin = clientFlags | commands.Admin
)

var clientGroup = []commands.Command{{
	Name: "client", Arity: -2, Group: "connection", Since: "2.4.0", Complexity: "O(1)",
	Summary: "Lists and changes connections.",
	Subs: []commands.Command{
		{
			Name: "caching", Arity: 3, Flags: clientFlags,
			Group: "connection", Since: "6.0.0", Complexity: "O(1)",
			Syntax:  "<YES | NO>",
			Summary: "Sets whether the keys of the next command are tracked.",
			Handler: func(c *commands.Ctx) resp.Value { return caller(c).tracking.Cache(c.Args[2]) },
		},
		{
			Name: "getname", Arity: 2, Flags: clientFlags,
			Group: "connection", Since: "2.6.9", Complexity: "O(1)",
			Summary: "Returns the connection's name.",
			Handler: clientGetName,
		},
		{
			Name: "getredir", Arity: 2, Flags: clientFlags,
			Group: "connection", Since: "6.0.0", Complexity: "O(1)",
			Summary: "Returns the id of the client that invalidations are redirected to.",
			Handler: func(c *commands.Ctx) resp.Value {
				return resp.Int(caller(c).tracking.Mode().Redirection())
			},
		},
		commands.Help("connection", "5.0.0"),
		{
			Name: "id", Arity: 2, Flags: clientFlags, Group: "connection", Since: "5.0.0", Complexity: "O(1)",
			Summary: "Returns the connection's id.",
			Handler: func(c *commands.Ctx) resp.Value { return resp.Int(caller(c).id) },
		},
		{
			Name: "info", Arity: 2, Flags: clientFlags,
			Group: "connection", Since: "6.2.0", Complexity: "O(1)",
			Tips:    []string{"nondeterministic_output"},
			Summary: "Returns this connection's line of CLIENT LIST.",
			Handler: clientInfo,
		},
		{
			Name: "kill", Arity: -3, Flags: clientAdmin,
			Group: "connection", Since: "2.4.0", Complexity: "O(N)",
			Syntax: "<ip:port | <[ID client-id] | [TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB>] | " +
				"[USER username] | " +
				"[ADDR ip:port] | [LADDR ip:port] | [SKIPME yes/no]> [...]>",
			Summary: "Closes connections.",
			Handler: clientKill,
		},
		{
			Name: "list", Arity: -2, Flags: clientAdmin,
			Group: "connection", Since: "2.4.0", Complexity: "O(N)",
			Tips:    []string{"nondeterministic_output"},
			Syntax:  "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
			Summary: "Lists the connections, one per line.",
			Handler: clientList,
		},
		{
			Name: "no-evict", Arity: 3, Flags: clientAdmin,
			Group: "connection", Since: "7.0.0", Complexity: "O(1)",
			Syntax:  "<ON | OFF>",
			Summary: "Protects the connection from client eviction.",
			Handler: clientNoEvict,
		},
		{
			Name: "no-touch", Arity: 3, Flags: clientFlags,
			Group: "connection", Since: "7.2.0", Complexity: "O(1)",
			Syntax:    "<ON | OFF>",
			Summary:   "Makes the connection's reads not count as use of keys.",
			Deviation: "from Redis 7.2",
			Handler:   clientNoTouch,
		},
		{
			Name: "pause", Arity: -3, Flags: clientAdmin,
			Group: "connection", Since: "2.9.50", Complexity: "O(1)",
			Syntax:  "timeout [WRITE | ALL]",
			Summary: "Postpones the commands of clients for some time.",
			Deviation: "CLIENT UNBLOCK of a client whose command is postponed answers 0 (Redis 7.0 " +
				"crashes); calls of the program that runs the engine are not postponed",
			Handler: func(c *commands.Ctx) resp.Value { return caller(c).engine.pause.Client(c) },
		},
		{
			Name: "reply", Arity: 3, Flags: clientFlags,
			Group: "connection", Since: "3.2.0", Complexity: "O(1)",
			Syntax:  "<ON | OFF | SKIP>",
			Summary: "Sets whether the server replies to commands.",
			Handler: clientReply,
		},
		{
			Name: "setinfo", Arity: 4, Flags: clientFlags,
			Group: "connection", Since: "7.2.0", Complexity: "O(1)",
			Syntax:    "<LIB-NAME libname | LIB-VER libver>",
			Summary:   "Sets the name or version of the client library.",
			Deviation: "from Redis 7.2",
			Handler:   clientSetInfo,
		},
		{
			Name: "setname", Arity: 3, Flags: clientFlags,
			Group: "connection", Since: "2.6.9", Complexity: "O(1)",
			Syntax:  "connection-name",
			Summary: "Sets the connection's name.",
			Handler: clientSetName,
		},
		{
			Name: "tracking", Arity: -3, Flags: clientFlags,
			Group: "connection", Since: "6.0.0", Complexity: "O(1)",
			Syntax: "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] " +
				"[OPTOUT] [NOLOOP]",
			Place:   commands.PlaceRefused,
			Summary: "Enables or disables invalidation messages for keys that the connection has read.",
			Deviation: "keys that a script reads without declaring them are tracked too; with NOLOOP a " +
				"client receives " +
				"invalidations of keys that the table evicts and of those that its own scans find expired",
			Handler: clientTracking,
		},
		{
			Name: "trackinginfo", Arity: 2, Flags: clientFlags,
			Group: "connection", Since: "6.2.0", Complexity: "O(1)",
			Summary: "Returns how the connection tracks keys.",
			Handler: func(c *commands.Ctx) resp.Value { return caller(c).tracking.Info() },
		},
		{
			Name: "unblock", Arity: -3, Flags: clientAdmin,
			Group: "connection", Since: "5.0.0", Complexity: "O(1)",
			Syntax:  "client-id [TIMEOUT | ERROR]",
			Summary: "Unblocks another connection's command.",
			Handler: clientUnblock,
		},
		{
			Name: "unpause", Arity: 2, Flags: clientAdmin,
			Group: "connection", Since: "6.2.0", Complexity: "O(N)",
			Summary: "Runs the commands that CLIENT PAUSE has postponed.",
			Handler: clientUnpause,
		},
	},
}}

var (
	errClientIDRange  = resp.Error("ERR client-id should be greater than 0")
	errNoSuchClient   = resp.Error("ERR No such client")
	errClientInfoText = "cannot contain spaces, newlines or special characters."
)

// CLIENT GETNAME
func clientGetName(c *commands.Ctx) resp.Value {
	name := caller(c).shown.view().name
	if name == "" {
		return resp.Null
	}
	return resp.Bulk(name)
}

// CLIENT SETNAME connection-name
func clientSetName(c *commands.Ctx) resp.Value {
	if !validName(c.Args[2]) {
		return errClientName
	}
	caller(c).shown.setName(c.Args[2])
	return resp.OK
}

// CLIENT SETINFO <LIB-NAME libname | LIB-VER libver>
func clientSetInfo(c *commands.Ctx) resp.Value {
	word, value := c.Args[2], c.Args[3]
	var field func(p *public) *string
	switch {
	case commands.EqualFold(word, "lib-name"):
		field = func(p *public) *string { return &p.libName }
	case commands.EqualFold(word, "lib-ver"):
		field = func(p *public) *string { return &p.libVersion }
	default:
		return resp.Error("ERR Unrecognized option '" + string(word) + "'")
	}
	if !validName(value) {
		return resp.Error("ERR " + strings.ToLower(string(word)) + " " + errClientInfoText)
	}
	caller(c).shown.edit(func(p *public) { *field(p) = string(value) })
	return resp.OK
}

// onOff reads ON or OFF and sets a flag of the session.
func onOff(c *commands.Ctx, field func(p *public) *bool) resp.Value {
	on := commands.EqualFold(c.Args[2], "on")
	if !on && !commands.EqualFold(c.Args[2], "off") {
		return commands.ErrSyntax
	}
	caller(c).shown.edit(func(p *public) { *field(p) = on })
	return resp.OK
}

// CLIENT NO-EVICT <ON | OFF>
func clientNoEvict(c *commands.Ctx) resp.Value {
	reply := onOff(c, func(p *public) *bool { return &p.noEvict })
	caller(c).answers.shareOutput()
	return reply
}

// CLIENT NO-TOUCH <ON | OFF>
func clientNoTouch(c *commands.Ctx) resp.Value {
	reply := onOff(c, func(p *public) *bool { return &p.noTouch })
	s := caller(c)
	s.answers.noTouch = s.shown.view().noTouch
	return reply
}

// CLIENT REPLY <ON | OFF | SKIP>
func clientReply(c *commands.Ctx) resp.Value {
	s := caller(c)
	switch {
	case commands.EqualFold(c.Args[2], "on"):
		if s.answers.mode != replySkipNext { // in EXEC, where it applies to the command after EXEC
			s.answers.mode = replyOn
		}
		s.answers.silent.Store(false)
		return resp.OK
	case commands.EqualFold(c.Args[2], "off"):
		s.answers.mode = replyOff
		s.answers.silent.Store(true)
	case commands.EqualFold(c.Args[2], "skip"):
		if s.answers.mode != replyOff {
			s.answers.mode = replySkipNext
		}
	default:
		return commands.ErrSyntax
	}
	return resp.None
}

// CLIENT TRACKING <ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN]
// [OPTOUT] [NOLOOP]
func clientTracking(c *commands.Ctx) resp.Value {
	s := caller(c)
	next, refusal := s.tracking.Parse(c.Args[2:])
	if refusal.IsError() {
		return refusal
	}
	s.work.rec.track(next)
	return resp.OK
}

// CLIENT KILL ip:port, or filters
func clientKill(c *commands.Ctx) resp.Value {
	s := caller(c)
	if len(c.Args) == 3 {
		addr := string(c.Args[2])
		if s.ending.kill(func(o *Session) bool { return o.peer.Addr == addr }) == 0 {
			return errNoSuchClient
		}
		return resp.OK
	}
	// The last one of a kind counts.
	filters := make(map[string]func(o *Session) bool)
	skipMe := true
	args := c.Args[2:]
	for ; len(args) > 1; args = args[2:] {
		word, value := args[0], string(args[1])
		switch {
		case commands.EqualFold(word, "id"):
			id, ok := store.ParseInt(args[1])
			if !ok || id < 1 {
				return errClientIDRange
			}
			filters["id"] = func(o *Session) bool { return o.id == id }
		case commands.EqualFold(word, "type"):
			of, known := clientTypes[strings.ToLower(value)]
			if !known {
				return resp.Error("ERR Unknown client type '" + value + "'")
			}
			filters["type"] = of
		case commands.EqualFold(word, "user"):
			u := s.engine.accounts.Find(value)
			if u == nil {
				return resp.Error("ERR No such user '" + resp.CString(value) + "'")
			}
			filters["user"] = func(o *Session) bool { return o.who.user.Load() == u }
		case commands.EqualFold(word, "addr"):
			filters["addr"] = func(o *Session) bool { return o.peer.Addr == value }
		case commands.EqualFold(word, "laddr"):
			filters["laddr"] = func(o *Session) bool { return o.peer.LocalAddr == value }
		case commands.EqualFold(word, "skipme") && strings.EqualFold(value, "yes"):
			skipMe = true
		case commands.EqualFold(word, "skipme") && strings.EqualFold(value, "no"):
			skipMe = false
		default:
			return commands.ErrSyntax
		}
	}
	if len(args) != 0 {
		return commands.ErrSyntax
	}
	return resp.Int(int64(s.ending.kill(func(o *Session) bool {
		if skipMe && o == s {
			return false
		}
		for _, f := range filters {
			if !f(o) {
				return false
			}
		}
		return true
	})))
}

// CLIENT UNPAUSE
func clientUnpause(c *commands.Ctx) resp.Value {
	caller(c).engine.pause.End(pause.ByClient)
	return resp.OK
}

// CLIENT INFO
func clientInfo(c *commands.Ctx) resp.Value {
	s := caller(c)
	s.shown.publishNow(c)
	return resp.Verbatim(s.shown.line(c.NowUs) + "\n")
}

// publishNow shows the session as it is while it runs a command.
func (v *shown) publishNow(c *commands.Ctx) {
	s := v.session
	v.edit(func(p *public) {
		p.db, p.proto, p.lastCommand, p.lastUs = c.DBIndex, s.answers.proto, c.Cmd, c.NowUs
		if s.peer.Buffers != nil {
			v.countBuffers(p, s.peer.Buffers(), p.multiBytes)
		}
	})
}

var errClientID = resp.Error("ERR Invalid client ID")

// CLIENT LIST [TYPE type] [ID client-id [client-id ...]]
func clientList(c *commands.Ctx) resp.Value {
	s := caller(c)
	s.shown.publishNow(c)
	listed := s.engine.sessions.all()
	switch args := c.Args[2:]; {
	case len(args) == 0:
	case len(args) == 2 && commands.EqualFold(args[0], "type"):
		of, known := clientTypes[strings.ToLower(string(args[1]))]
		if !known {
			return resp.Error("ERR Unknown client type '" + string(args[1]) + "'")
		}
		listed = slices.DeleteFunc(listed, func(o *Session) bool { return !of(o) })
	case len(args) > 1 && commands.EqualFold(args[0], "id"):
		// In the order of the arguments, with repetitions.
		listed = nil
		for _, a := range args[1:] {
			id, ok := store.ParseInt(a)
			if !ok {
				return errClientID
			}
			if o := s.engine.sessions.find(id); o != nil {
				listed = append(listed, o)
			}
		}
	default:
		return commands.ErrSyntax
	}
	var b strings.Builder
	for _, o := range listed {
		b.WriteString(o.shown.line(c.NowUs))
		b.WriteByte('\n')
	}
	return resp.Verbatim(b.String())
}

// clientTypes are the TYPEs of CLIENT LIST and CLIENT KILL.
var clientTypes = map[string]func(o *Session) bool{
	"normal": func(o *Session) bool {
		p := o.shown.view()
		return !p.subscribed() && p.replica == nil && !isMaster(o)
	},
	"pubsub":  func(o *Session) bool { p := o.shown.view(); return p.subscribed() },
	"master":  isMaster,
	"slave":   isReplica,
	"replica": isReplica,
}

// line returns the session's line in CLIENT LIST.
func (v *shown) line(nowUs int64) string {
	s := v.session
	p := v.view()
	flags := ""
	for _, f := range []struct {
		on     bool
		letter string
	}{
		{p.monitoring, "O"},
		{p.replica != nil, "S"},
		{isMaster(s), "M"},
		{p.subscribed(), "P"},
		{p.queued >= 0, "x"},
		{p.blocked, "b"},
		{p.tracking != nil, "t"},
		{p.tracking != nil && p.tracking.Broken(), "R"},
		{p.tracking != nil && p.tracking.Broadcast(), "B"},
		{strings.HasPrefix(s.peer.LocalAddr, "/"), "U"},
		{p.noEvict, "e"},
		{p.noTouch, "T"},
	} {
		if f.on {
			flags += f.letter
		}
	}
	if flags == "" {
		flags = "N"
	}
	for _, rule := range queryShrinks {
		if p.buffers.QueryFree > rule.above && nowUs-p.lastUs >= rule.idleUs {
			p.buffers.QueryFree = 0
		}
	}
	output, unread := v.output.Load(), int64(0)
	if p.replica != nil { // what it has not read is kept once for all: it is no buffer of the session
		unread = p.replica.Status().Unread
	}
	last := "NULL"
	if p.lastCommand != nil {
		last = p.lastCommand.Own().FullName()
	}
	user := s.who.user.Load().Name()
	if isMaster(s) {
		user = "(superuser)"
	}
	return fmt.Sprintf("id=%d addr=%s laddr=%s fd=%d name=%s age=%s idle=%s flags=%s db=%d sub=%d psub=%d "+
		"ssub=%d multi=%d "+
		"qbuf=%d qbuf-free=%d argv-mem=0 multi-mem=%d rbs=0 rbp=0 obl=%d oll=0 omem=%d tot-mem=%d events=r "+
		"cmd=%s user=%s "+
		"redir=%d resp=%d%s",
		s.id, s.peer.Addr, s.peer.LocalAddr, s.peer.FD, p.name,
		seconds(nowUs-p.createdUs), seconds(nowUs-p.lastUs), flags, p.db,
		p.topics[pubsub.Channels], p.topics[pubsub.Patterns], p.topics[pubsub.ShardChannels], p.queued,
		p.buffers.Query, p.buffers.QueryFree, p.multiBytes, output, output+unread,
		v.bytes(&p)+unread, last, user,
		p.tracking.Redirection(), p.proto, p.library())
}

// queryShrinks says after how long idle Redis shrinks a query buffer with more than above bytes free.
var queryShrinks = []struct {
	above  int
	idleUs int64
}{
	{32 << 10, 200_000}, // two runs of its cron
	{4 << 10, 3_000_000},
}

// library returns what SETINFO has set, as Redis 7.2 shows it. For a client that
// did not use it that is nothing, as Redis 7.0 shows every client.
func (p *public) library() string {
	if p.libName == "" && p.libVersion == "" {
		return ""
	}
	return " lib-name=" + p.libName + " lib-ver=" + p.libVersion
}

// seconds formats a duration in whole seconds, 0 if it is negative: DEBUG CLOCK may set time back.
func seconds(us int64) string { return strconv.FormatInt(max(us, 0)/1_000_000, 10) }
