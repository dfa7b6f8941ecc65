package zlimittest

import (
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/server"
)

// Kind is the effect of a Fault on a command.
type Kind int

// Kinds of faults. Those that reply with an error apply only to commands that Redis
// would answer so, unless Fault.On names a command.
const (
	// None runs the command as usual, for a Fault that only delays.
	None Kind = iota
	// Close closes the connection instead of running the command.
	Close
	// DropReply runs the command and closes the connection without a reply, so the
	// client cannot know the outcome.
	DropReply
	// Mute runs the command but sends no reply to it or to anything after it. The
	// connection stays open, so the client must time out.
	Mute
	// NoScript answers EVALSHA as if the script were unknown.
	NoScript
	// Loading answers like a server that is loading its data.
	Loading
	// OutOfMemory answers commands that need memory like a full server.
	OutOfMemory
	// ReadOnly answers commands that write like a replica.
	ReadOnly
	// Refuse answers with Fault.Text.
	Refuse
)

// Always is the Fault.Times of a permanent fault.
const Always = -1

// A Fault is a failure of the next commands of clients.
type Fault struct {
	Kind Kind
	// Times is the number of commands affected; 0 means 1. See Always.
	Times int
	// On is the one command affected ("EVALSHA"). Empty means all but the commands with
	// which clients open a connection (HELLO, AUTH, CLIENT, SELECT, COMMAND) or leave,
	// and of these only the ones that Kind concerns. "*" means all.
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
	fault  Fault
	faults *faults
	left   int           // protected by faults.mu, like the fields below; Always: no end
	hits   int           // commands affected so far
	met    chan struct{} // closed at the first one
}

// Inject activates a fault. Among several the one injected first applies.
func (s *Server) Inject(f Fault) *Injected {
	i := &Injected{fault: f, faults: &s.faults, left: f.Times, met: make(chan struct{})}
	if i.left == 0 {
		i.left = 1
	}
	i.fault.On = strings.ToLower(f.On)
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.waiting = append(s.faults.waiting, i)
	return i
}

// Met returns a channel that is closed when the fault first affects a command, before
// any delay.
func (i *Injected) Met() <-chan struct{} { return i.met }

// Hits returns how many commands the fault has affected.
func (i *Injected) Hits() int {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	return i.hits
}

// Remove deactivates the fault. Delays under way continue.
func (i *Injected) Remove() {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	i.left = 0
}

// faults holds the active faults, oldest first.
type faults struct {
	mu      sync.Mutex
	waiting []*Injected // protected by mu
}

// kinds maps each Kind to the server's action and the commands it concerns; nil: all.
var kinds = map[Kind]struct {
	do    server.Interception
	about func(c *commands.Command) bool
}{
	None:      {},
	Close:     {do: server.Interception{Skip: true, Hangup: true}},
	DropReply: {do: server.Interception{Hangup: true}},
	Mute:      {do: server.Interception{Mute: true}},
	NoScript: {
		server.Interception{Refusal: "NOSCRIPT No matching script. Please use EVAL."},
		named("evalsha", "evalsha_ro"),
	},
	Loading: {
		server.Interception{Refusal: "LOADING Redis is loading the dataset in memory"},
		not(commands.Loading),
	},
	OutOfMemory: {
		server.Interception{Refusal: "OOM command not allowed when used memory > 'maxmemory'."},
		orScript(commands.DenyOOM),
	},
	ReadOnly: {
		server.Interception{Refusal: "READONLY You can't write against a read only replica."},
		orScript(commands.Write),
	},
	Refuse: {},
}

func named(names ...string) func(*commands.Command) bool {
	return func(c *commands.Command) bool {
		for _, n := range names {
			if c.Name == n {
				return true
			}
		}
		return false
	}
}

func not(flag commands.Flags) func(*commands.Command) bool {
	return func(c *commands.Command) bool { return !c.Is(flag) }
}

// orScript matches commands with a flag, and scripts that may run one.
func orScript(flag commands.Flags) func(*commands.Command) bool {
	script := named("eval", "evalsha")
	return func(c *commands.Command) bool { return c.Is(flag) || script(c) }
}

// opening matches the commands that client libraries send by themselves.
var opening = named("hello", "auth", "client", "select", "command", "quit", "reset")

// intercept is called by the server before each command of a client.
func (s *Server) intercept(args [][]byte, closing <-chan struct{}) server.Interception {
	s.commands.Add(1)
	s.inner.Engine().Reclaim() // remove expired keys, for DBSIZE too
	i := s.faults.next(s.inner.Engine().Table().Lookup(args[0]))
	if i == nil {
		return server.Interception{}
	}
	f := i.fault
	if f.After > 0 {
		timer := time.NewTimer(f.After)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-closing:
		}
	}
	if f.Until != nil {
		select {
		case <-f.Until:
		case <-closing:
		}
	}
	do := kinds[f.Kind].do
	if f.Kind == Refuse {
		do.Refusal = f.Text
	}
	return do
}

// next returns the fault that applies to a command, or nil. To an unknown command only
// faults about all commands apply.
func (f *faults) next(c *commands.Command) *Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.waiting {
		if i.left == 0 || !i.meets(c) {
			continue
		}
		if i.left != Always {
			i.left--
		}
		if i.hits++; i.hits == 1 {
			close(i.met)
		}
		return i
	}
	return nil
}

func (i *Injected) meets(c *commands.Command) bool {
	about := kinds[i.fault.Kind].about
	switch {
	case i.fault.On == "*":
		return true
	case i.fault.On != "":
		return c != nil && c.Name == i.fault.On
	case c == nil:
		return about == nil
	case opening(c):
		return false
	}
	return about == nil || about(c)
}
