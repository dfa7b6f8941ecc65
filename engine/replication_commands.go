package engine

import (
	"strconv"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/replication"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errReplicaOfInCluster = resp.Error("ERR REPLICAOF not allowed in cluster mode.")
	errNoMasterLink       = resp.Error("NOMASTERLINK Can't SYNC while not connected with my master")
	errMasterPort         = resp.Error("ERR Invalid master port")
	errWaitOnReplica      = resp.Error("ERR WAIT cannot be used with replica instances. Please also note " +
		"that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes " +
		"to replicas are just local and are not propagated.")
	errNoSockets = resp.Error("ERR this server has no sockets: it can't follow a master nor be followed")
)

const replicationFlags = commands.Admin | commands.NoScript

// replicationGroup returns the rows of replication.
func (e *Engine) replicationGroup() []commands.Command {
	replicaOf := commands.Command{
		Name: "replicaof", Arity: 3, Group: "server", Since: "5.0.0", Complexity: "O(1)",
		Place:   commands.PlaceRefused,
		Flags:   replicationFlags | commands.Stale | commands.NoAsyncLoading | commands.AllShards,
		Syntax:  "<host port | NO ONE>",
		Summary: "Makes the server a replica of another one, or a master.",
		Handler: e.replicaOf,
	}
	slaveOf := replicaOf
	slaveOf.Name, slaveOf.Since = "slaveof", "1.0.0"
	return []commands.Command{
		{
			Name: "failover", Arity: -1, Group: "server", Since: "6.2.0", Complexity: "O(1)",
			Place:   commands.PlaceRefused,
			Flags:   replicationFlags | commands.Stale | commands.AllShards,
			Syntax:  "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
			Summary: "Makes a replica that has all writes the master, and this server its replica.",
			Handler: e.failover,
		},
		{
			Name: "psync", Arity: -3, Group: "server", Since: "2.8.0",
			Place:   commands.PlaceRefused,
			Flags:   replicationFlags | commands.NoAsyncLoading | commands.NoMulti | commands.AllShards,
			Syntax:  "replicationid offset [FAILOVER]",
			Summary: "Begins to send a replica this server's changes.",
			Handler: e.psync,
		},
		{
			Name: "replconf", Arity: -1, Group: "server", Since: "3.0.0", Complexity: "O(1)",
			Flags:   replicationFlags | commands.Loading | commands.Stale | commands.AllowBusy,
			Syntax:  "[option value [option value ...]]",
			Summary: "Is how a replica introduces itself and confirms what it has received.",
			Handler: e.replConf,
		},
		replicaOf,
		{
			Name: "role", Arity: 1, Flags: commands.NoScript | commands.Loading | commands.Stale |
				commands.Fast,
			Categories: []string{"admin", "dangerous"},
			Group:      "server", Since: "2.8.12", Complexity: "O(1)", Handler: e.role,
			Summary: "Returns whether the server is a master or a replica, and whose.",
		},
		slaveOf,
		{
			Name: "sync", Arity: 1, Group: "server", Since: "1.0.0",
			Place:   commands.PlaceRefused,
			Flags:   replicationFlags | commands.NoAsyncLoading | commands.NoMulti,
			Summary: "Sends a replica all keys, and then this server's changes.",
			Handler: e.sync,
		},
		{
			Name: "wait", Arity: 3, Flags: commands.NoScript, Categories: []string{"connection"},
			Place: commands.PlaceRefused,
			Tips:  []string{"request_policy:all_shards", "response_policy:agg_min"},
			Group: "generic", Since: "3.0.0", Complexity: "O(1)", Syntax: "numreplicas timeout",
			Handler: wait,
			Summary: "Blocks until replicas have confirmed what this connection has written.",
		},
	}
}

// REPLICAOF host port | NO ONE
func (e *Engine) replicaOf(c *commands.Ctx) resp.Value {
	if c.Settings.Cluster {
		return errReplicaOfInCluster
	}
	if e.storage.Loading() { // it has begun since the command was admitted
		return errLoading
	}
	if e.repl.failover.Load() != nil {
		return errReplicaOfNow
	}
	caller(c).work.rec.commitSoFar()
	if commands.EqualFold(c.Args[1], "no") && commands.EqualFold(c.Args[2], "one") {
		e.promote()
		return resp.OK
	}
	port, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok || port < 0 || port > 65535:
		return errMasterPort
	case e.options.Dial == nil:
		return errNoSockets
	}
	host := string(c.Args[1])
	if l := e.repl.link.Load(); l != nil && l.port == int(port) && strings.EqualFold(l.host, host) &&
		l.Status().State != replication.Stopped {
		return resp.Status("OK Already connected to specified master")
	}
	if err := e.followMaster(host, int(port), nil); err != nil {
		return resp.Error("ERR Invalid master host: " + resp.OneLine(err.Error()))
	}
	return resp.OK
}

// ROLE
func (e *Engine) role(*commands.Ctx) resp.Value {
	if l := e.repl.link.Load(); l != nil {
		status := l.Status()
		return resp.Array(resp.Bulk("slave"), resp.Bulk(l.host), resp.Int(int64(l.port)),
			resp.Bulk(string(status.State)), resp.Int(status.Offset))
	}
	var replicas []resp.Value
	for _, r := range e.repl.master.Replicas() {
		if r.State != replication.Online {
			continue
		}
		replicas = append(replicas, resp.Array(resp.Bulk(r.Host()), resp.Bulk(strconv.Itoa(r.Port)),
			resp.Bulk(strconv.FormatInt(r.Offset, 10))))
	}
	return resp.Array(resp.Bulk("master"), resp.Int(e.repl.stream.Position().Offset), resp.Array(replicas...))
}

// maxHost is how long a host may be that a replica announces.
const maxHost = 255

// REPLCONF option value [option value ...]
func (e *Engine) replConf(c *commands.Ctx) resp.Value {
	s := caller(c)
	if len(c.Args)%2 == 0 {
		return commands.ErrSyntax
	}
	for args := c.Args[1:]; len(args) > 0; args = args[2:] {
		value := args[1]
		n, isInt := store.ParseInt(value)
		switch option := strings.ToLower(string(args[0])); option {
		case "listening-port":
			if !isInt {
				return commands.ErrNotInteger
			}
			s.side.said.Port = int(n)
		case "ip-address":
			if len(value) > maxHost {
				return resp.Error("ERR REPLCONF ip-address provided by replica instance is too long: " +
					strconv.Itoa(len(value)) + " bytes")
			}
			s.side.said.IP = string(value)
		case "capa":
			s.side.said.EOF = s.side.said.EOF || commands.EqualFold(value, "eof")
			s.side.said.PSYNC2 = s.side.said.PSYNC2 || commands.EqualFold(value, "psync2")
		case "ack":
			if s.side.replica == nil {
				return resp.None
			}
			if isInt {
				e.repl.master.Ack(s.side.replica, n, e.clock.MonotonicUs())
			}
			return resp.None
		case "getack": // of a master: its session does not come here
			return resp.None
		case "rdb-only":
			if !isInt {
				return commands.ErrNotInteger
			}
			s.side.said.RDB = n == 1
		case "rdb-filter-only":
			part, ok := partOf(value)
			if !ok {
				return errRDBFilter(value)
			}
			s.side.said.Part = part
		default:
			return resp.Error("ERR Unrecognized REPLCONF option: " + string(args[0]))
		}
	}
	return resp.OK
}

// partOf returns what words of REPLCONF rdb-filter-only ask for.
func partOf(words []byte) (part replication.Part, ok bool) {
	part = replication.Nothing
	for _, word := range strings.Fields(string(words)) {
		if !strings.EqualFold(word, "functions") {
			return 0, false
		}
		part = replication.FunctionsOnly
	}
	return part, true
}

func errRDBFilter(words []byte) resp.Value {
	return resp.Error("ERR Unsupported rdb-filter-only option: " + resp.OneLine(string(words)))
}

// PSYNC replicationid offset [FAILOVER]
func (e *Engine) psync(c *commands.Ctx) resp.Value {
	s := caller(c)
	if len(c.Args) > 3 && commands.EqualFold(c.Args[3], "failover") && s.side.replica == nil {
		if refusal := e.promoteFor(s, string(c.Args[1])); refusal.IsError() {
			return refusal
		}
	}
	offset, ok := store.ParseInt(c.Args[2])
	if !ok {
		return commands.ErrNotInteger
	}
	return e.serveReplica(c, replication.Position{ID: string(c.Args[1]), Offset: offset - 1})
}

// SYNC
func (e *Engine) sync(c *commands.Ctx) resp.Value {
	caller(c).side.said.SYNC = true
	return e.serveReplica(c, replication.Position{ID: "?"})
}

func (e *Engine) serveReplica(c *commands.Ctx, from replication.Position) resp.Value {
	s := caller(c)
	switch {
	case s.side.replica != nil:
		return resp.None
	case !s.peer.Streams || s.peer.Kill == nil:
		return errNoSockets
	case e.repl.failover.Load() != nil:
		return errFailingOver
	case e.repl.link.Load() != nil && !e.masterIsUp():
		return errNoMasterLink
	}
	s.side.replica = e.repl.master.PSYNC(s.peer.Addr, from, s.side.said, e.clock.MonotonicUs(),
		e.masterSettings().SyncDelayUs, s.peer.Kill)
	s.shown.edit(func(p *public) { p.replica = s.side.replica })
	return resp.Streamed(s.side.replica)
}

// end ends the service of a session that is a replica.
func (z *replicaSide) end() {
	if z.replica != nil {
		z.session.engine.repl.master.Remove(z.replica)
	}
}

// Streamed returns the offset behind what the session last wrote to the stream for replicas, 0 if nothing.
func (s *Session) Streamed() int64 { return s.wrote.stream }

// Replica reports whether the session is a replica: it is sent a stream, and is silent for long.
func (s *Session) Replica() bool { return s.side.replica != nil }

// WAIT numreplicas timeout
//
// In a transaction it answers at once.
func wait(c *commands.Ctx) resp.Value {
	s := caller(c)
	e := s.engine
	epoch := e.repl.epoch.Load()
	if e.repl.link.Load() != nil {
		return errWaitOnReplica
	}
	replicas, ok := store.ParseInt(c.Args[1])
	if !ok {
		return commands.ErrNotInteger
	}
	timeoutMs, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return commands.ErrTimeoutInteger
	case timeoutMs < 0:
		return commands.ErrTimeoutNegative
	}
	offset := s.wrote.stream
	acked := func() int64 {
		n, _ := e.repl.master.Acked(offset)
		return int64(n)
	}
	if n := acked(); n >= replicas || s.inbox.subscriber.InExec {
		return resp.Int(n)
	}
	if e.repl.stream.Active() && !e.pause.On() { // so that replicas answer at once
		e.repl.stream.Tell(replication.Command("REPLCONF", "GETACK", "*"))
	}
	return s.Await(timeoutMs, func(over <-chan struct{}) resp.Value {
		for {
			if e.repl.epoch.Load() != epoch {
				return errRoleChanged // endWaits has not seen this wait
			}
			n, changed := e.repl.master.Acked(offset)
			if int64(n) >= replicas {
				return resp.Int(int64(n))
			}
			select {
			case <-changed:
			case <-over:
				return resp.None
			}
		}
	}, func() resp.Value { return resp.Int(acked()) })
}
