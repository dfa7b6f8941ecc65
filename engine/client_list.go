package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/pubsub"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

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

// queryShrinks says after how long idle Redis shrinks a query buffer of which more than above bytes are free.
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
