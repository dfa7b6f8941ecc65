package main

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

// A pairing is a master with a replica of either kind: after each round both must hold the same.
type pairing struct {
	master  func() server
	replica server
	from    *link
	to      *link
}

// replicaTimeout is how long a replica may take until it follows its master.
const replicaTimeout = time.Minute

// attach starts a replica of each kind for both servers of a comparison.
func (o targets) attach(d *runner) (all []*pairing, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	masters := []func() server{func() server { return d.ref }, func() server { return d.ours }}
	for _, master := range masters {
		r, err := oracle.Start(oracle.Options{RealTime: true})
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { _ = r.Close() })
		c := &child{path: o.serverPath}
		ends = append(ends, c.stop)
		addr, err := c.start()
		if err != nil {
			return nil, end, err
		}
		for _, replica := range []server{{title: "redis", addr: r.Addr()}, {title: "ours", addr: addr}} {
			p := &pairing{master: master, replica: replica}
			if p.to, err = dial(replica.addr); err != nil {
				return nil, end, err
			}
			all = append(all, p)
		}
	}
	return all, end, nil
}

func (p *pairing) String() string { return p.replica.title + " as a replica of " + p.master().title }

// ask sends a command to one of the two and returns the reply as it came.
func ask(l *link, args ...string) (string, error) {
	l.send(appendCommand(nil, args), replyTimeout)
	got := l.receive()
	if got.fail != "" {
		return "", fmt.Errorf("%s: %s", strings.Join(args, " "), got.fail)
	}
	return string(got.raw), nil
}

// follow makes the replica follow its master, if it does not yet, and waits until it has everything.
func (p *pairing) follow() error {
	host, port, err := net.SplitHostPort(p.master().addr)
	if err != nil {
		return err
	}
	if p.from == nil || p.from.fail != "" {
		if p.from, err = dial(p.master().addr); err != nil {
			return err
		}
	}
	// A master whose clock is held would wait for others for ever.
	if _, err := ask(p.from, "CONFIG", "SET", "repl-diskless-sync-delay", "0"); err != nil {
		return err
	}
	if _, err := ask(p.to, "REPLICAOF", host, port); err != nil {
		return err
	}
	for begin := time.Now(); ; time.Sleep(readyInterval) {
		ours, err := ask(p.to, "ROLE")
		if err != nil {
			return err
		}
		theirs, err := ask(p.from, "ROLE")
		if err != nil {
			return err
		}
		at, to := numbers(theirs), numbers(ours)
		if strings.Contains(ours, "connected") && len(at) > 0 && len(to) > 0 && at[0] == to[len(to)-1] {
			return nil
		}
		if time.Since(begin) > replicaTimeout {
			return fmt.Errorf("%s does not follow: %q, %q", p, theirs, ours)
		}
	}
}

// numbers returns the integers of a reply.
func numbers(raw string) (out []int) {
	for line := range strings.SplitSeq(raw, "\r\n") {
		if digits, ok := strings.CutPrefix(line, ":"); ok {
			n, _ := strconv.Atoi(digits)
			out = append(out, n)
		}
	}
	return out
}

// compare returns what the replica holds otherwise than its master, or "". Keys that a redis-server holds
// otherwise than its master of the same kind are added to odd, and are no difference.
func (p *pairing) compare(odd map[string]bool) (string, error) {
	if err := p.follow(); err != nil {
		return "", err
	}
	a, err := ask(p.from, "DEBUG", "DIGEST")
	if err != nil {
		return "", err
	}
	b, err := ask(p.to, "DEBUG", "DIGEST")
	if err != nil || a == b {
		return "", err
	}
	var out []string
	for db := range 16 {
		for _, l := range []*link{p.from, p.to} {
			if _, err := ask(l, "SELECT", strconv.Itoa(db)); err != nil {
				return "", err
			}
		}
		keys, err := p.keys()
		if err != nil {
			return "", err
		}
		for _, key := range keys {
			a, _ := ask(p.from, "DEBUG", "DIGEST-VALUE", key)
			b, _ := ask(p.to, "DEBUG", "DIGEST-VALUE", key)
			if a != b && p.replica.title == p.master().title && p.replica.title == "redis" {
				odd[key] = true
			}
			if a != b && !odd[key] {
				x, _ := ask(p.from, "DUMP", key)
				y, _ := ask(p.to, "DUMP", key)
				out = append(out, fmt.Sprintf("%s: key %q of database %d: %q, %q", p, key, db, x, y))
			}
		}
	}
	if out == nil && len(odd) == 0 {
		out = []string{p.String() + ": the digests differ, and no key does"}
	}
	if out == nil {
		return "", nil
	}
	return strings.Join(out[:min(len(out), 5)], "\n"), nil
}

// keys returns the names of the keys of either, in the selected database.
func (p *pairing) keys() ([]string, error) {
	var out []string
	for _, l := range []*link{p.from, p.to} {
		raw, err := ask(l, "KEYS", "*")
		if err != nil {
			return nil, err
		}
		for raw = raw[strings.Index(raw, "\r\n")+2:]; len(raw) > 0; {
			head, rest, _ := strings.Cut(raw[1:], "\r\n")
			n, _ := strconv.Atoi(head)
			out = append(out, rest[:n])
			raw = rest[n+2:]
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
