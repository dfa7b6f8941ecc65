package zlimittest

import (
	"time"

	"github.com/zlimit/zlimit/engine/faults"
	"github.com/zlimit/zlimit/server"
)

// Kind is the effect of a Fault on a command.
type Kind int

// Kinds of faults. Those that reply with an error apply only to commands that Redis
// would answer so, unless Fault.On names a command.
const (
	// None runs the command as usual, for a Fault that only delays.
	None = Kind(faults.None)
	// Close closes the connection instead of running the command.
	Close = Kind(faults.Close)
	// DropReply runs the command and closes the connection without a reply, so the
	// client cannot know the outcome.
	DropReply = Kind(faults.DropReply)
	// Mute runs the command but sends no reply to it or to anything after it. The
	// connection stays open, so the client must time out.
	Mute = Kind(faults.Mute)
	// NoScript answers EVALSHA as if the script were unknown.
	NoScript = Kind(faults.NoScript)
	// Loading answers like a server that is loading its data.
	Loading = Kind(faults.Loading)
	// OutOfMemory answers commands that need memory like a full server.
	OutOfMemory = Kind(faults.OutOfMemory)
	// ReadOnly answers commands that write like a replica.
	ReadOnly = Kind(faults.ReadOnly)
	// Refuse answers with Fault.Text.
	Refuse = Kind(faults.Refuse)
)

// Always is the Fault.Times of a permanent fault.
const Always = faults.Always

// A Fault is a failure of the next commands of clients.
type Fault struct {
	Kind Kind
	// Times is the number of commands affected; 0 means 1. See Always.
	Times int
	// On is the one command affected ("EVALSHA"). Empty means all but the commands with
	// which clients open a connection (HELLO, AUTH, CLIENT, SELECT, COMMAND) or leave,
	// and of these only the ones that Kind concerns. "*" means all. No fault affects DEBUG,
	// which injects them over a connection (docs/embedding.md).
	On string
	// Text is the error reply of Refuse, code word first: "ERR it broke".
	Text string

	// After and Until delay the effect: for a duration of the system's clock or the
	// synctest bubble's, not the server's, and until a channel is closed. Closing the
	// server ends all delays.
	After time.Duration
	Until <-chan struct{}
}

// An Injected is a Fault that is active on a server.
type Injected struct {
	inner *faults.Injected
}

// Inject activates a fault. Among several the one injected first applies.
func (s *Server) Inject(f Fault) *Injected {
	i := s.inner.Engine().Faults().Inject(faults.Fault{
		Kind: faults.Kind(f.Kind), Times: f.Times, On: f.On, Text: f.Text,
		DelayNs: f.After.Nanoseconds(), Until: f.Until,
	})
	if i == nil {
		s.helper()()
		s.fatal("Inject: too many faults")
	}
	return &Injected{i}
}

// Met returns a channel that is closed when the fault first affects a command, before
// any delay.
func (i *Injected) Met() <-chan struct{} { return i.inner.Met() }

// Hits returns how many commands the fault has affected.
func (i *Injected) Hits() int { return i.inner.Hits() }

// Remove deactivates the fault. Delays under way continue.
func (i *Injected) Remove() { i.inner.Remove() }

// intercept is called by the server before each command of a client.
func (s *Server) intercept([][]byte, <-chan struct{}) server.Interception {
	s.commands.Add(1)
	s.reclaim()
	return server.Interception{}
}

// reclaim removes expired keys, for DBSIZE too. Within a millisecond nothing more is due.
func (s *Server) reclaim() {
	engine := s.inner.Engine()
	if nowMs := engine.Clock().NowUs() / 1000; s.reclaimedMs.Load() != nowMs {
		engine.Reclaim()
		s.reclaimedMs.Store(nowMs)
	}
}
