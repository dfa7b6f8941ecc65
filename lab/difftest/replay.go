package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// replayTimeout is how long a reply may take that the recording has.
const replayTimeout = 20 * time.Second

// A replay sends the events of a recording to two servers, with their clocks held at the instants of the
// recording, and compares what they answer. A command is answered before the next event, unless it may block:
// so both servers run all commands in one order, each at one instant.
type replay struct {
	runner *runner
	out    io.Writer
	conns  map[int]*replayed

	compared, different int
	missing             int            // replies of the recording that neither server sent
	allowed             map[string]int // replies whose bytes differ as is expected, by command
}

// A replayed is a connection of a recording, to both servers.
type replayed struct {
	checker
	number   int
	sides    [2]*link
	ids      [2]string // CLIENT ID
	pending  []step    // commands whose replies have not been read
	deadline int64     // instant after which a command that blocks is answered; 0: none
	ahead    int       // replies that were read before the recording has them
	messages bool      // it has subscribed: what arrives need not be the reply of a command
	topics   [3]topics // as topicFields has them
	monitor  bool
	silent   bool // CLIENT REPLY: not every command is answered
	failed   bool
}

// replayFile replays a recording and returns how many replies differ.
func (s *settings) replayFile(path string, out io.Writer) (different int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	events, startMs, err := readRecording(bytes.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	d, running, end, err := s.open(startMs)
	defer end()
	if err != nil {
		return 0, err
	}
	if running {
		return 0, errors.New("-replay needs servers whose clocks it can hold: it takes no -redis")
	}
	r := &replay{runner: d, out: out, conns: map[int]*replayed{}, allowed: map[string]int{}}
	if err := r.run(events, startMs); err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(out, "%s: %d replies compared, %d differ\n", path, r.compared, r.different)
	r.explain()
	if r.missing > 0 {
		fmt.Fprintf(out, "  %d replies of the recording were sent by neither server\n", r.missing)
	}
	if s.times > 0 {
		err = s.measure(events, out)
	}
	return r.different, err
}

func (r *replay) run(events []recorded, startMs int64) error {
	d := r.runner
	d.timeout = replayTimeout
	if err := d.reset(startMs); err != nil {
		return err
	}
	defer func() {
		d.closeLinks()
		for _, c := range r.conns {
			c.close()
		}
	}()
	nowMs := startMs
	for len(events) > 0 {
		e := events[0]
		if e.atMs > nowMs {
			nowMs = e.atMs
			clock := []step{{clockMs: nowMs}}
			if err := d.run(clock, func(int, step, reply, reply) bool { return true }); err != nil {
				return err
			}
			if err := r.endWaits(nowMs); err != nil {
				return err
			}
		}
		c, err := r.conn(e.conn)
		if err != nil {
			return err
		}
		n := 1
		switch {
		case e.ends:
			c.close()
			delete(r.conns, e.conn)
		case e.args != nil:
			for n < len(events) && events[n].args != nil && events[n].conn == e.conn &&
				events[n].atMs == e.atMs {
				n++
			}
			if err := r.send(c, events[:n]); err != nil {
				return err
			}
		default:
			for range e.replies {
				if c.ahead > 0 {
					c.ahead--
				} else if !c.failed {
					r.await(c)
				}
			}
		}
		events = events[n:]
	}
	return nil
}

func (r *replay) conn(number int) (*replayed, error) {
	if c := r.conns[number]; c != nil {
		return c, nil
	}
	c := &replayed{number: number}
	r.conns[number] = c
	for side, s := range r.runner.servers() {
		var err error
		if c.sides[side], err = dial(s.addr); err != nil {
			return nil, err
		}
		got, err := r.ask(side, c.sides[side], "CLIENT", "ID")
		if err != nil {
			return nil, err
		}
		c.ids[side] = got.text
	}
	return c, nil
}

func (c *replayed) close() {
	for _, l := range c.sides {
		l.close()
	}
}

// send sends commands in one write, and reads their replies if each is answered at once.
func (r *replay) send(c *replayed, events []recorded) error {
	var out []byte
	for _, e := range events {
		args, timeout := withoutTimeout(e.args)
		if timeout > 0 {
			c.deadline = e.atMs + timeout
		}
		out = appendCommand(out, args)
		switch name := strings.ToUpper(e.args[0]); {
		case strings.HasSuffix(name, "SUBSCRIBE"):
			c.subscribe(name, e.args[1:])
			continue
		case name == "MONITOR":
			c.monitor = true
		case commandName(e.args) == "CLIENT REPLY":
			c.silent = true
		}
		if c.silent {
			continue
		}
		c.pending = append(c.pending, step{args: e.args})
	}
	for _, l := range c.sides {
		l.send(out, r.runner.timeout)
	}
	if c.messages {
		return r.subscribed(c)
	}
	if c.silent {
		return nil
	}
	if slices.ContainsFunc(c.pending, mayBlock) {
		return r.blocked(c)
	}
	for len(c.pending) > 0 && !c.failed {
		r.compare(c)
		c.ahead++
	}
	return nil
}

// mayBlock reports whether a command may wait for others.
func mayBlock(s step) bool {
	name := strings.ToUpper(s.args[0])
	return strings.HasPrefix(name, "B") && strings.Contains(name, "POP") || name == "BLMOVE" ||
		strings.HasPrefix(name, "WAIT") || strings.HasPrefix(name, "XREAD") ||
		slices.ContainsFunc(s.args[1:], func(a string) bool { return strings.EqualFold(a, "WAIT") })
}

// withoutTimeout returns a command that blocks without its timeout, and this in milliseconds: servers need
// not follow a held clock while they block, so the replay ends the wait by CLIENT UNBLOCK.
func withoutTimeout(args []string) (endless []string, timeout int64) {
	if !strings.HasPrefix(strings.ToUpper(args[0]), "B") || !mayBlock(step{args: args}) {
		return args, 0
	}
	at := len(args) - 1
	if strings.HasSuffix(strings.ToUpper(args[0]), "MPOP") {
		at = min(1, at)
	}
	seconds, err := strconv.ParseFloat(args[at], 64)
	if err != nil || seconds <= 0 {
		return args, 0
	}
	endless = slices.Clone(args)
	endless[at] = "0"
	return endless, int64(seconds * 1000)
}

// endWaits ends the waits whose timeouts are over.
func (r *replay) endWaits(nowMs int64) error {
	for _, c := range r.conns {
		if c.deadline == 0 || c.deadline >= nowMs {
			continue
		}
		c.deadline = 0
		for side := range c.sides {
			if _, err := r.ask(side, r.runner.links[side][0], "CLIENT", "UNBLOCK", c.ids[side]); err != nil {
				return err
			}
		}
	}
	return nil
}

// blocked returns when the connection is blocked or has an answer, so that servers block clients in one
// order.
func (r *replay) blocked(c *replayed) error {
	for side, l := range c.sides {
		begin := time.Now()
		for !l.ready(interval) && time.Since(begin) < silence {
			got, err := r.ask(side, r.runner.links[side][0], "CLIENT", "LIST", "ID", c.ids[side])
			if err != nil {
				return err
			}
			_, flags, _ := strings.Cut(got.text, " flags=")
			if flags, _, _ = strings.Cut(flags, " "); strings.Contains(flags, "b") {
				break
			}
		}
	}
	return nil
}

func (r *replay) ask(side int, l *link, args ...string) (value, error) {
	l.send(appendCommand(nil, args), r.runner.timeout)
	got := l.receive()
	if got.fail != "" {
		title := r.runner.servers()[side].title
		return value{}, fmt.Errorf("%s: %s: %s", title, strings.Join(args, " "), got.fail)
	}
	return parse(got.raw)
}

const (
	message  = "(message)" // stands for the command of what a subscription gets
	silence  = time.Second // after which a reply that neither server has sent is not waited for
	interval = 5 * time.Millisecond
)

// await compares what the recording has at this place. The servers need not answer here what the program was
// answered: a deadline may be a millisecond later.
func (r *replay) await(c *replayed) {
	for begin := time.Now(); ; {
		for _, l := range c.sides {
			if l.ready(interval) {
				r.compare(c)
				return
			}
		}
		if time.Since(begin) > silence {
			r.missing++
			return
		}
	}
}

// ready reports whether there is something to read, or the connection has ended.
func (l *link) ready(patience time.Duration) bool {
	if l.fail != "" || l.SetReadDeadline(time.Now().Add(patience)) != nil {
		return true
	}
	_, err := l.r.Peek(1)
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// read reads a reply or a message of each server.
func (c *replayed) read(timeout time.Duration) (got [2]reply) {
	for side, l := range c.sides {
		if l.fail == "" {
			_ = l.SetReadDeadline(time.Now().Add(timeout)) // reading fails, too
			raw, err := appendReply(nil, l.r, 0)
			if err == nil {
				got[side].raw = raw
				continue
			}
			l.failed(err)
		}
		got[side].fail = l.fail
	}
	return got
}

// compare reads a reply or a message of each server, and reports what differs.
func (r *replay) compare(c *replayed) {
	got := c.read(r.runner.timeout)
	ref, ours := got[0], got[1]
	r.compared++
	c.deadline = 0
	answered := step{args: []string{message}}
	what := ""
	c.failed = ref.fail != "" || ours.fail != ""
	switch {
	case !c.failed && (ref.raw[0] == '>' || c.messages && isMessage(ref.raw) ||
		c.silent && len(c.pending) == 0):
		if !bytes.Equal(ref.raw, ours.raw) && !sameEnd(ref, ours) {
			what = otherBytes
		}
	case c.failed && ref.fail == ours.fail && ref.fail == "connection closed":
		return
	case c.monitor && len(c.pending) == 0:
		return // a line with the time and an address
	case len(c.pending) == 0:
		what = "a reply without a command"
	default:
		answered, c.pending = c.pending[0], c.pending[1:]
		what = c.check(answered, ref, ours)
		if what != "" && !c.failed && sameButOrder(answered, ref, ours) {
			what = ""
		}
	}
	switch {
	case what != "":
		r.different++
		r.report(c.number, answered, ref, ours, what)
	case !bytes.Equal(ref.raw, ours.raw):
		r.allowed[answered.name()]++
	}
}

// sameButOrder reports whether what scripts return has the same elements in another order: a script may
// return the fields of a hash or the members of a set.
func sameButOrder(s step, ref, ours reply) bool {
	name := commandName(s.args)
	if !strings.HasPrefix(name, "EVAL") && !strings.HasPrefix(name, "FCALL") && name != "EXEC" {
		return false
	}
	a, errA := parse(ref.raw)
	b, errB := parse(ours.raw)
	return errA == nil && errB == nil && ordered(a).key() == ordered(b).key()
}

// ordered returns a value whose elements are in the order of their keys, at every level.
func ordered(v value) value {
	elems := make([]value, len(v.elems))
	for i, e := range v.elems {
		elems[i] = ordered(e)
	}
	slices.SortFunc(elems, func(a, b value) int { return strings.Compare(a.key(), b.key()) })
	if v.elems != nil {
		v.elems = elems
	}
	return v
}

// sameEnd reports whether both servers end a subscription and as many are left: UNSUBSCRIBE without channels
// ends them in the order of a hash table.
func sameEnd(ref, ours reply) bool {
	a, errA := parse(ref.raw)
	b, errB := parse(ours.raw)
	if errA != nil || errB != nil || len(a.elems) != 3 || len(b.elems) != 3 {
		return false
	}
	return strings.Contains(a.elems[0].text, "unsubscribe") && a.kind == b.kind &&
		a.elems[0].key() == b.elems[0].key() && a.elems[2].key() == b.elems[2].key()
}

// isMessage reports whether a RESP2 reply is what a subscription gets.
func isMessage(raw []byte) bool {
	v, err := parse(raw)
	return err == nil && v.kind == '*' && len(v.elems) >= 3 && slices.Contains([]string{
		"message", "pmessage", "smessage", "subscribe", "psubscribe", "ssubscribe", "unsubscribe",
		"punsubscribe", "sunsubscribe",
	}, v.elems[0].text)
}

func (r *replay) report(number int, s step, ref, ours reply, what string) {
	const most = 300
	command := s.String()
	if len(command) > most {
		command = command[:most] + "..."
	}
	at := firstDifference(ref, ours)
	fmt.Fprintf(r.out, "DIFFERENCE %d: connection %d: %s: %s\n  redis: %s\n  ours:  %s\n",
		r.different, number, command, what, ref.from(at), ours.from(at))
}

// explain names what was compared by its form only.
func (r *replay) explain() {
	var names []string
	for name := range r.allowed {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		reason := "the order of a hash or set that a script returns, or the interpreter's words in an error"
		if e, ok := exceptions[name]; ok {
			reason = e.reason
		} else if name == message {
			reason = "the order in which UNSUBSCRIBE ends subscriptions"
		}
		fmt.Fprintf(r.out, "  not compared byte for byte: %d of %s (%s)\n", r.allowed[name], name, reason)
	}
}

// measure prints what the recording takes of each server's processor time, in servers whose clocks run.
// Connections that subscribe or block are left out.
func (s *settings) measure(events []recorded, out io.Writer) error {
	events = plainConnections(events)
	ref, endRef, err := startPlain()
	if err != nil {
		return err
	}
	defer endRef()
	ours := &child{path: s.serverPath, args: []string{"--enable-debug-command", "no"}}
	oursAddr, err := ours.start()
	defer ours.stop()
	if err != nil {
		return err
	}
	commands := 0
	for _, e := range events {
		if e.args != nil {
			commands += s.times * callers
		}
	}
	if commands == 0 {
		return nil
	}
	var spent [2]float64
	for side, addr := range []string{ref, oursAddr} {
		seconds, err := repeat(addr, events, s.times)
		if err != nil {
			return err
		}
		spent[side] = seconds / float64(commands) * 1e6
	}
	fmt.Fprintf(out,
		"  processor time of %d commands, %d callers: redis-server %.1f us a command, zlimit %.1f us\n",
		commands, callers, spent[0], spent[1])
	return nil
}

// callers is how many send a recording at the same time when it is measured.
const callers = 16

// repeat sends a recording so many times from each caller, and returns the processor time that the server
// has taken.
func repeat(addr string, events []recorded, times int) (seconds float64, err error) {
	clients := make([]map[int]*link, callers)
	all := func(times int) error {
		var wait sync.WaitGroup
		errs := make([]error, callers)
		for i := range clients {
			wait.Go(func() {
				for range times {
					errs[i] = errors.Join(errs[i], sendAll(addr, events, clients[i]))
				}
			})
		}
		wait.Wait()
		return errors.Join(errs...)
	}
	for i := range clients {
		clients[i] = map[int]*link{}
		defer func() {
			for _, l := range clients[i] {
				l.close()
			}
		}()
	}
	// The first time connections are made, which is not measured.
	if err := all(1); err != nil {
		return 0, err
	}
	before, err := processorTime(addr)
	if err != nil {
		return 0, err
	}
	err = all(times)
	after, errAfter := processorTime(addr)
	return after - before, errors.Join(err, errAfter)
}

// sendAll sends the commands of a recording, and reads their replies where it did.
func sendAll(addr string, events []recorded, conns map[int]*link) error {
	for _, e := range events {
		l := conns[e.conn]
		if l == nil {
			var err error
			if l, err = dial(addr); err != nil {
				return err
			}
			conns[e.conn] = l
		}
		if e.args != nil {
			l.send(appendCommand(nil, e.args), replayTimeout)
		}
		for range e.replies {
			if got := l.receive(); got.fail != "" {
				return fmt.Errorf("%s: %s", addr, got.fail)
			}
		}
	}
	return nil
}

// plainConnections returns the events of the connections whose commands are answered at once, without their
// ends.
func plainConnections(events []recorded) []recorded {
	left := map[int]bool{}
	owed := map[int]int{} // commands without a reply
	for _, e := range events {
		if e.args != nil && (mayBlock(step{args: e.args}) || commandName(e.args) == "CLIENT REPLY" ||
			strings.HasSuffix(strings.ToUpper(e.args[0]), "SUBSCRIBE") ||
			strings.EqualFold(e.args[0], "MONITOR")) {
			left[e.conn] = true
		}
		if e.args != nil {
			owed[e.conn]++
		}
		owed[e.conn] -= e.replies
	}
	quit := map[int]bool{}
	return slices.DeleteFunc(slices.Clone(events), func(e recorded) bool {
		quit[e.conn] = quit[e.conn] || e.args != nil && strings.EqualFold(e.args[0], "QUIT")
		return e.ends || left[e.conn] || owed[e.conn] != 0 || quit[e.conn]
	})
}

// processorTime asks a server for the seconds of processor time that it has taken.
func processorTime(addr string) (float64, error) {
	l, err := dial(addr)
	if err != nil {
		return 0, err
	}
	defer l.close()
	l.send(appendCommand(nil, []string{"INFO", "cpu"}), replayTimeout)
	var sum float64
	lines := bufio.NewScanner(bytes.NewReader(l.receive().raw))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += seconds
		}
	}
	return sum, lines.Err()
}
