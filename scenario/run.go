package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Client is a connection to what a section is run against.
type Client interface {
	Send(args [][]byte) error
	SendRaw(b []byte) error
	// Reply reads one complete reply or message.
	Reply() ([]byte, error)
	// Rest reads until the other side closes the connection.
	Rest() ([]byte, error)
	// Unread returns what has arrived and was not read.
	Unread() []byte
	Close() error
}

// Patience bounds, in real time, how long a test waits for a missing reply. It is much longer than any
// reply takes on a busy machine.
const Patience = 5 * time.Minute

// A Runner runs a section.
type Runner struct {
	Protocol int // 3: clients begin with HELLO 3
	// Dial opens the connection with a name, "" for one of the runner's own.
	Dial     func(name string) (Client, error)
	SetClock func(nowMs int64) error
	// Own are the directives of the test's own, and get what follows their name. They return bytes that
	// are compared like a reply.
	Own map[string]func(text string) ([]byte, error)
	// Vars are the variables of lines.
	Vars map[string]string
	// Normalize changes a reply before it is compared; nil: it does not.
	Normalize func(s *Step, reply []byte) []byte

	nowMs   int64
	clients map[string]Client
	current string
}

// Run runs a section's steps and returns them with their replies. It stops at a reply that cannot be read:
// later ones would belong to other commands.
func (r *Runner) Run(s Section) Section {
	r.nowMs, r.clients, r.current = StartMs, map[string]Client{}, "A"
	if r.Vars == nil {
		r.Vars = map[string]string{}
	}
	defer r.closeAll()
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		step := &s.Steps[i]
		if step.Action == Save {
			step.Failed = r.save(step.Text, s.Steps[i-1].Got)
		} else {
			step.Got, step.Failed = r.runStep(step)
		}
		if step.Failed != nil {
			s.Steps = s.Steps[:i+1]
			return s
		}
		step.want = withTimes(replacement(r.Vars).in(step.want), r.nowMs)
		step.Got = step.normalize(step.Got)
		if r.Normalize != nil {
			step.Got = r.Normalize(step, step.Got)
		}
	}
	for _, c := range r.clients {
		if err := noExtra(c); err != nil {
			s.Steps[len(s.Steps)-1].Failed = err
		}
	}
	return s
}

func (r *Runner) save(name string, reply []byte) error {
	text, err := Show(reply)
	r.Vars[name] = text
	return err
}

func (r *Runner) runStep(s *Step) (reply []byte, err error) {
	switch s.Action {
	case At, Clock, Advance:
		r.nowMs = s.Value + map[Action]int64{At: StartMs, Clock: 0, Advance: r.nowMs}[s.Action]
		return nil, r.SetClock(r.nowMs)
	case Conn:
		r.current = s.Text
		return nil, nil
	case Blocked:
		return nil, r.awaitBlocked(s.Value)
	case IDs:
		return nil, r.advanceIDs(s.Value)
	case Own:
		return r.Own[string(s.Args[0])](replacement(r.Vars).in(s.Text))
	}
	name := s.conn
	if name == "" {
		name = r.current
	}
	if s.Action == Close {
		if c := r.clients[name]; c != nil {
			delete(r.clients, name)
			return nil, errors.Join(noExtra(c), c.Close())
		}
		return nil, fmt.Errorf("no connection %s", name)
	}
	c, err := r.client(name)
	if err != nil {
		return nil, err
	}
	switch s.Action {
	case Closed:
		delete(r.clients, name)
		reply, err = c.Rest()
		_ = c.Close() // the server has closed it first
		return reply, err
	case Reply:
		return c.Reply()
	}
	return r.ask(c, s)
}

// ask sends a command or bytes, and reads the replies.
func (r *Runner) ask(c Client, s *Step) (reply []byte, err error) {
	if err := noExtra(c); err != nil {
		return nil, err
	}
	if s.Action == Raw {
		err = c.SendRaw(s.raw)
	} else {
		args, filled := make([][]byte, len(s.Args)), false
		for i, arg := range s.Args {
			args[i] = []byte(withTimes(replacement(r.Vars).in(string(arg)), r.nowMs))
			filled = filled || !bytes.Equal(arg, args[i])
		}
		if filled {
			s.sent = fmt.Sprintf("%q", args)
		}
		err = c.Send(args)
	}
	for range s.replies {
		if err != nil {
			break
		}
		var one []byte
		one, err = c.Reply()
		reply = append(reply, one...)
	}
	return reply, err
}

func (r *Runner) client(name string) (Client, error) {
	if c := r.clients[name]; c != nil {
		return c, nil
	}
	c, err := r.Dial(name)
	if err != nil {
		return nil, err
	}
	r.clients[name] = c
	if r.Protocol != 3 {
		return c, nil
	}
	reply, err := roundTrip(c, "HELLO", "3")
	if err == nil && reply[0] != '%' {
		err = fmt.Errorf("HELLO 3 answers %q", reply)
	}
	return c, err
}

func roundTrip(c Client, words ...string) ([]byte, error) {
	var args [][]byte
	for _, word := range words {
		args = append(args, []byte(word))
	}
	if err := c.Send(args); err != nil {
		return nil, err
	}
	return c.Reply()
}

// awaitBlocked waits, on a separate connection, until the given number of clients is blocked.
func (r *Runner) awaitBlocked(clients int64) error {
	c, err := r.Dial("")
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	want := fmt.Appendf(nil, "\r\nblocked_clients:%d\r\n", clients)
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		info, err := roundTrip(c, "INFO", "clients")
		if err != nil || bytes.Contains(info, want) {
			return err
		}
	}
	return fmt.Errorf("there are never %d blocked clients", clients)
}

// advanceIDs opens connections until the next one's id is next: servers do not begin at the same number.
func (r *Runner) advanceIDs(next int64) error {
	for {
		c, err := r.Dial("")
		if err != nil {
			return err
		}
		reply, err := roundTrip(c, "CLIENT", "ID")
		_ = c.Close()
		if err != nil {
			return err
		}
		switch id, err := strconv.ParseInt(string(bytes.Trim(reply, ":\r\n")), 10, 64); {
		case err != nil || id >= next:
			return fmt.Errorf("CLIENT ID answers %q, %d is to be the next", reply, next)
		case id == next-1:
			return nil
		}
	}
}

// noExtra returns an error if there are unexpected replies. It runs before each command is sent, so that an
// extra reply does not shift all later ones.
func noExtra(c Client) error {
	if rest := c.Unread(); len(rest) > 0 {
		return fmt.Errorf("more came than the reply: %q", rest)
	}
	return nil
}

func (r *Runner) closeAll() {
	for _, c := range r.clients {
		_ = c.Close() // the server may have closed it first
	}
}
