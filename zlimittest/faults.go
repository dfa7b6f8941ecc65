package zlimittest

import (
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/server"
)

// Kind is what a Fault does to a command.
type Kind int

// The kinds of fault. Those that are error replies meet only commands that
// Redis would answer so, unless Fault.On says which.
const (
	// None lets the command run as ever: for a Fault that only delays.
	None Kind = iota
	// Close closes the connection in the place of running the command.
	Close
	// DropReply runs the command and then closes the connection without
	// answering: the client cannot know what became of it.
	DropReply
	// Mute runs the command and answers neither it nor anything after it; the
	// connection stays open, and the client has to lose patience.
	Mute
	// NoScript answers EVALSHA as if the script were not known.
	NoScript
	// Loading answers as a server that is reading its data.
	Loading
	// OutOfMemory answers commands that need memory as a full server does.
	OutOfMemory
	// ReadOnly answers commands that write as a replica does.
	ReadOnly
	// Refuse answers Fault.Text.
	Refuse
)

// Always is a Fault.Times without an end.
const Always = -1

// A Fault is something that goes wrong with the next commands of clients.
type Fault struct {
	Kind Kind
	// Times is how many commands it meets; 0 is 1. See Always.
	Times int
	// On is the one command that it meets ("EVALSHA"). Empty: every one but
	// those with which clients open a connection (HELLO, AUTH, CLIENT, SELECT,
	// COMMAND) or leave, and of these the ones that Kind is about. "*": every one.
	On string
	// Text is the error reply of Refuse, code word first: "ERR it broke".
	Text string

	// After and Until delay whatever happens: for a time, of the system or of
	// the synctest bubble, not of the server's clock; and until a channel is
	// closed. The end of the server ends every delay.
	After time.Duration
	Until <-chan struct{}
}

// An Injected is a Fault that lies in wait.
type Injected struct {
	fault  Fault
	faults *faults
	left   int           // protected by faults.mu, as is what follows; Always: no end
	hits   int           // commands that it met
	met    chan struct{} // closed at the first
}

// Inject lets a fault lie in wait. Of several the one that was injected first
// meets a command.
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

// Met is closed when the fault has met a command, before any delay.
func (i *Injected) Met() <-chan struct{} { return i.met }

// Hits is how many commands it has met.
func (i *Injected) Hits() int {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	return i.hits
}

// Remove ends the fault; delays under way go on.
func (i *Injected) Remove() {
	i.faults.mu.Lock()
	defer i.faults.mu.Unlock()
	i.left = 0
}

// faults are those that lie in wait, oldest first.
type faults struct {
	mu      sync.Mutex
	waiting []*Injected // protected by mu
}

// kinds says, for each Kind, what the server does and which commands it is
// about; nil: all.
var kinds = map[Kind]struct {
	do    server.Interception
	about func(c *commands.Command) bool
}{
	None:        {},
	Close:       {do: server.Interception{Skip: true, Hangup: true}},
	DropReply:   {do: server.Interception{Hangup: true}},
	Mute:        {do: server.Interception{Mute: true}},
	NoScript:    {server.Interception{Refusal: "NOSCRIPT No matching script. Please use EVAL."}, named("evalsha", "evalsha_ro")},
	Loading:     {server.Interception{Refusal: "LOADING Redis is loading the dataset in memory"}, not(commands.Loading)},
	OutOfMemory: {server.Interception{Refusal: "OOM command not allowed when used memory > 'maxmemory'."}, orScript(commands.DenyOOM)},
	ReadOnly:    {server.Interception{Refusal: "READONLY You can't write against a read only replica."}, orScript(commands.Write)},
	Refuse:      {},
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

// orScript are the commands with a flag, and the scripts that may run one.
func orScript(flag commands.Flags) func(*commands.Command) bool {
	script := named("eval", "evalsha")
	return func(c *commands.Command) bool { return c.Is(flag) || script(c) }
}

// opening are the commands that clients send of their own accord.
var opening = named("hello", "auth", "client", "select", "command", "quit", "reset")

// intercept is what the server asks before each command of a client.
func (s *Server) intercept(args [][]byte, closing <-chan struct{}) server.Interception {
	s.commands.Add(1)
	s.inner.Engine().Reclaim() // what is due is gone, for DBSIZE too
	i := s.faults.take(s.inner.Engine().Table().Lookup(args[0]))
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

// take finds the fault that meets a command, nil where none does. Commands that
// there are not are met by faults that are about everything.
func (f *faults) take(c *commands.Command) *Injected {
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
