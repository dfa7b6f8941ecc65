package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting"
)

// A rule refuses commands. Of two that refuse one, the first in admission answers, as in Redis:
// server/testdata/transcripts/refusals.cases has its answers pair by pair.
type rule struct {
	name string
	when condition      // it matters while one of these holds
	only commands.Flags // it is about commands that have all of them
	not  commands.Flags // and none of them

	// refuse returns the error reply, or resp.None if the command may run.
	refuse func(s *Session, cmd *commands.Command, args [][]byte) resp.Value
}

// admission has all rules, in their order. What they let pass may still be postponed by CLIENT PAUSE or be
// queued by MULTI, in this order.
var admission = [...]rule{
	{name: "debug", when: isProtected, refuse: refuseDebug},
	{name: "password", when: isStranger, not: commands.NoAuth, refuse: always(errNoAuth)},
	{name: "multi", when: inMulti, only: commands.NoMulti, refuse: always(errNotInMulti)},
	{name: "acl", when: isRestricted, refuse: refuseByACL},
	{name: "cluster", when: inCluster, refuse: refuseCrossSlot},
	{name: "memory", when: hasMaxMemory, refuse: refuseWithoutMemory},
	{name: "disk", when: diskFails, refuse: refuseWithoutDisk},
	{name: "role", when: hasRole, refuse: refuseByRole},
	{name: "subscribed", when: isSubscribed, not: commands.Subscribed, refuse: refuseSubscribed},
	{name: "master", when: hasRole, refuse: refuseWithoutMaster},
	{name: "loading", when: isLoading, refuse: refuseLoading},
	{name: "busy", when: isBusy, refuse: refuseBusy},
	{name: "monitor", when: isMonitor, refuse: refuseMonitor},
}

// A condition is a set of what makes rules matter. Mostly it is empty, and no rule is looked at.
type condition uint16

const (
	isProtected  condition = 1 << iota // the command needs enable-debug-command
	isStranger                         // the client has to authenticate
	inMulti                            // the client has called MULTI
	isRestricted                       // the client's user may not do everything
	inCluster                          // the server is a node of a cluster
	hasMaxMemory                       // there is a maxmemory
	diskFails                          // changes cannot be kept
	hasRole                            // the server is a replica, or needs some
	isSubscribed                       // the client is, under RESP2
	isLoading                          // the keyspace is loaded
	isBusy                             // a script is past busy-reply-threshold
	isMonitor                          // the client has called MONITOR
)

// conditions returns what holds for a command of the session.
func (s *Session) conditions(cmd *commands.Command) (c condition) {
	e := s.engine
	if cmd.Flags&commands.Protected != 0 {
		c |= isProtected
	}
	if !s.who.authenticated && s.who.needsPassword() {
		c |= isStranger
	}
	if s.tx.open {
		c |= inMulti
	}
	if s.who.restriction() != nil {
		c |= isRestricted
	}
	if e.life.cluster {
		c |= inCluster
	}
	if e.room.MaxMemory() != 0 {
		c |= hasMaxMemory
	}
	if e.storage.Failing() {
		c |= diskFails
	}
	if s.work.req.rules != nil {
		c |= hasRole
	}
	if s.inbox.subscribed && s.answers.proto == resp.RESP2 {
		c |= isSubscribed
	}
	if e.storage.Loading() {
		c |= isLoading
	}
	if e.scripts.Busy() != nil {
		c |= isBusy
	}
	if s.seen.monitoring {
		c |= isMonitor
	}
	return c
}

// admit returns the error reply for a known command that may not run now, or resp.None.
func (s *Session) admit(cmd *commands.Command, args [][]byte) resp.Value {
	s.work.req.rules = s.engine.repl.rules.Load()
	s.work.ctx.Mode.Set(commands.OutOfMemory, false)
	hold := s.conditions(cmd)
	if hold == 0 {
		return resp.None
	}
	for i := range admission {
		r := &admission[i]
		if r.when&hold == 0 || !cmd.Is(r.only) || cmd.Flags&r.not != 0 {
			continue
		}
		if refusal := r.refuse(s, cmd, args); refusal.IsError() {
			return refusal
		}
	}
	return resp.None
}

func always(refusal resp.Value) func(*Session, *commands.Command, [][]byte) resp.Value {
	return func(*Session, *commands.Command, [][]byte) resp.Value { return refusal }
}

func refuseDebug(s *Session, _ *commands.Command, _ [][]byte) resp.Value {
	if !s.who.allowed("enable-debug-command") {
		return errDebugOff
	}
	return resp.None
}

func refuseByACL(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	return s.who.deny(cmd, args)
}

// refuseCrossSlot refuses a command, or an EXEC, whose keys are in several slots, and keeps the slot for the
// scripts that it runs.
func refuseCrossSlot(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	slot, ok := cmd.SlotOf(args)
	if cmd.Is(commands.RunsQueue) {
		slot, ok = s.tx.slot()
	}
	if s.work.env.Slot = slot; !ok {
		return commands.ErrCrossSlot
	}
	return resp.None
}

// refuseWithoutMemory refuses a command if memory is exhausted. It makes room first, whether
// or not the command could need it, as Redis does.
func refuseWithoutMemory(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	exhausted := false
	if s.engine.room.Exceeded() {
		s.EndCall() // the command before does not make room
		exhausted = !s.engine.room.Make(&s.work.rec.group)
	}
	s.work.ctx.Mode.Set(commands.OutOfMemory, exhausted)
	switch {
	case !exhausted:
		return resp.None
	case s.tx.open && !cmd.Is(commands.EndsMulti), // a queue may grow without bound
		s.tx.anyRuns(cmd, args, (*commands.Command).NeedsMemory):
		return commands.ErrOOM
	}
	return resp.None
}

func refuseByRole(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if s.tx.anyRuns(cmd, args, (*commands.Command).DeclaresWrite) {
		return s.engine.denyWrites(s.work.req.rules)
	}
	return resp.None
}

func refuseWithoutMaster(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if s.work.req.rules.NeedsMaster && s.tx.anyRuns(cmd, args, (*commands.Command).NeedsMaster) &&
		!s.engine.masterIsUp() {
		return errMasterDown
	}
	return resp.None
}

func refuseSubscribed(_ *Session, cmd *commands.Command, _ [][]byte) resp.Value {
	return errWhileSubscribed(cmd)
}

func refuseLoading(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if s.tx.anyRuns(cmd, args, (*commands.Command).NeedsKeyspace) {
		return errLoading
	}
	return resp.None
}

func refuseMonitor(_ *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if cmd.Flags&(commands.ReadOnly|commands.Write) != 0 || cmd.Replicates(args) {
		return errReplicaKeyspace
	}
	return resp.None
}

// refuseBusy refuses a command while a script is past the threshold. The script may be one of a log that
// DEBUG LOADAOF reads.
func refuseBusy(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if busy := s.engine.scripts.Busy(); busy != nil {
		return refuseBehind(s, busy, cmd, args)
	}
	return resp.None
}

// refuseBehind is refuseBusy for a script that was past the threshold.
func refuseBehind(s *Session, busy *scripting.Busy, cmd *commands.Command, args [][]byte) resp.Value {
	switch {
	case s.engine.storage.Reloading() && s.tx.anyRuns(cmd, args, (*commands.Command).NeedsKeyspace):
		return errLoading
	case !cmd.Is(commands.AllowBusy):
		return resp.Error(busy.Reply)
	}
	return resp.None
}

// refuseWithoutDisk refuses what writes while changes cannot be kept.
func refuseWithoutDisk(s *Session, cmd *commands.Command, args [][]byte) resp.Value {
	if !cmd.Is(commands.NeedsDisk) && !s.tx.anyRuns(cmd, args, (*commands.Command).Writes) {
		return resp.None
	}
	text := s.engine.storage.Misconf()
	if text == "" { // since Failing was asked
		text = durable.MisconfRecovered
	}
	return resp.Error(text)
}
