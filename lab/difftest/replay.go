package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// replayTimeout is how long a reply may take that the recording has.
const replayTimeout = 20 * time.Second

// A replay sends the events of a recording to two servers, with their clocks held at the instants of the
// recording, and compares what they answer. An event ends before the next begins: a command has been sent,
// replies have been read.
type replay struct {
	runner *runner
	out    io.Writer
	conns  map[int]*replayed

	compared, different int
	allowed             map[string]int // replies whose bytes differ as exceptions.go allows, by command
}

// A replayed is a connection of a recording, to both servers.
type replayed struct {
	checker
	sides    [2]*link
	pending  []step // commands whose replies have not been read
	messages bool   // it has subscribed: what arrives need not be the reply of a command
	monitor  bool
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
	for _, e := range events {
		if e.atMs > nowMs {
			nowMs = e.atMs
			if err := d.run([]step{{clockMs: nowMs}}, func(int, step, reply, reply) bool { return true }); err != nil {
				return err
			}
		}
		c, err := r.conn(e.conn)
		if err != nil {
			return err
		}
		switch {
		case e.ends:
			c.close()
			delete(r.conns, e.conn)
		case e.args != nil:
			c.send(e.args, d.timeout)
		default:
			for range e.replies {
				r.compare(e.conn, c)
			}
		}
	}
	return nil
}

func (r *replay) conn(number int) (*replayed, error) {
	if c := r.conns[number]; c != nil {
		return c, nil
	}
	c := &replayed{}
	r.conns[number] = c
	for side, s := range r.runner.servers() {
		var err error
		if c.sides[side], err = dial(s.addr); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *replayed) close() {
	for _, l := range c.sides {
		l.close()
	}
}

func (c *replayed) send(args []string, timeout time.Duration) {
	for _, l := range c.sides {
		l.send(appendCommand(nil, args), timeout)
	}
	switch name := strings.ToUpper(args[0]); {
	case strings.HasSuffix(name, "SUBSCRIBE"):
		c.messages = true
		return
	case name == "MONITOR":
		c.monitor = true
	}
	c.pending = append(c.pending, step{args: args})
}

// read reads a reply or a message of each server.
func (c *replayed) read() (got [2]reply) {
	for side, l := range c.sides {
		if l.fail == "" {
			if raw, err := appendReply(nil, l.r, 0); err != nil {
				l.failed(err)
			} else {
				got[side].raw = raw
				continue
			}
		}
		got[side].fail = l.fail
	}
	return got
}

// compare reads what the recording says has arrived on a connection, and reports what differs.
func (r *replay) compare(number int, c *replayed) {
	if c.failed {
		return // it has been reported
	}
	got := c.read()
	ref, ours := got[0], got[1]
	r.compared++
	answered := step{args: []string{"(message)"}}
	what := ""
	switch {
	case ref.fail == "" && (ref.raw[0] == '>' || c.messages && isMessage(ref.raw)):
		if !bytes.Equal(ref.raw, ours.raw) {
			what = otherBytes
		}
	case c.monitor && len(c.pending) == 0:
		return // a line with the time and an address
	case len(c.pending) == 0:
		what = "a reply without a command"
	default:
		answered, c.pending = c.pending[0], c.pending[1:]
		what = c.check(answered, ref, ours)
	}
	if ref.fail != "" || ours.fail != "" {
		c.failed = true
		if what == "" {
			what = "no reply"
		}
	}
	switch {
	case what != "":
		r.different++
		r.report(number, answered, ref, ours, what)
	case !bytes.Equal(ref.raw, ours.raw):
		r.allowed[answered.name()]++
	}
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
		reason := "the words of the interpreter in an error"
		if e, ok := exceptions[name]; ok {
			reason = e.reason
		}
		fmt.Fprintf(r.out, "  not compared byte for byte: %d of %s (%s)\n", r.allowed[name], name, reason)
	}
}

// measure prints what the recording takes of each server's processor time, in servers whose clocks run.
// Connections that subscribe, block or never end a transaction are left out.
func (s *settings) measure(events []recorded, out io.Writer) error {
	events = plainConnections(events)
	refServer, endRef, err := startPlain()
	if err != nil {
		return err
	}
	defer endRef()
	var spent [2]float64
	commands := 0
	for _, e := range events {
		if e.args != nil {
			commands += s.times
		}
	}
	ours := &child{path: s.serverPath, args: []string{"--enable-debug-command", "no"}}
	oursAddr, err := ours.start()
	defer ours.stop()
	if err != nil {
		return err
	}
	for side, addr := range []string{refServer, oursAddr} {
		before, err := processorTime(addr)
		if err != nil {
			return err
		}
		for range s.times {
			if err := sendAll(addr, events); err != nil {
				return err
			}
		}
		after, err := processorTime(addr)
		if err != nil {
			return err
		}
		spent[side] = (after - before) / float64(max(commands, 1)) * 1e6
	}
	fmt.Fprintf(out, "  processor time, %d commands one by one: redis-server %.1f us a command, zlimit %.1f us\n",
		commands, spent[0], spent[1])
	return nil
}

// sendAll sends the commands of a recording, and reads their replies where it did.
func sendAll(addr string, events []recorded) error {
	conns := map[int]*link{}
	defer func() {
		for _, l := range conns {
			l.close()
		}
	}()
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
		if e.ends {
			l.close()
			delete(conns, e.conn)
		}
	}
	return nil
}

// plainConnections returns the events of the connections whose commands are answered at once.
func plainConnections(events []recorded) []recorded {
	waits := map[int]bool{}
	for _, e := range events {
		if e.args == nil {
			continue
		}
		name := strings.ToUpper(e.args[0])
		if strings.HasSuffix(name, "SUBSCRIBE") || name == "MONITOR" || name == "QUIT" ||
			strings.HasPrefix(name, "B") && !strings.HasPrefix(name, "BIT") && !strings.HasPrefix(name, "BG") {
			waits[e.conn] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e recorded) bool { return waits[e.conn] })
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
