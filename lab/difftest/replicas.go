package main

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zlimit/zlimit/oracle"
)

// replicas are the servers that follow the two of a comparison, in four pairings. During the rounds links are
// cut, and replicas are restarted from dump.rdb or promoted; after each round both of a pairing must hold the
// same. Masters' clocks are held in the future, so at the replicas, whose clocks run, no deadline has passed.
type replicas struct {
	pairings  [4]*pairing // of each master first redis, then ours
	events    map[int]event
	restarted bool // in this round
	ended     bool // the replicas have been stopped, and not started
	copies    int  // that masters have begun
	goneOn    int  // replicas that went on where they were
	promoted  bool // after the round before
	begun     [2]server
	read      [2]bool // a replica of this master has read a dump in this round
}

// An event is something that happens to all replicas between two steps of a round.
type event int

const (
	cut event = iota + 1
	end
	begin
)

// A pairing is a master with a replica of either kind.
type pairing struct {
	master  func() server
	replica server
	stop    func() error // with dump.rdb; it may start again itself
	start   func() error // nil: stop does it
	from    *link
	to      *link
}

// replicaTimeout is how long a replica may take until it follows its master.
const replicaTimeout = time.Minute

// attach starts a replica of each kind for both servers of a comparison.
func (o targets) attach(d *runner) (all *replicas, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	all = &replicas{}
	masters := []func() server{func() server { return d.ref }, func() server { return d.ours }}
	for i, master := range masters {
		host, port, err := net.SplitHostPort(master().addr)
		if err != nil {
			return nil, end, err
		}
		r, err := oracle.Start(oracle.Options{RealTime: true, Args: []string{
			"--save", "3600 1", "--replicaof", host + " " + port,
		}})
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { _ = r.Close() })
		p := &pairing{master: master, replica: server{title: "redis", addr: r.Addr()}}
		p.stop = func() error {
			p.to.send(appendCommand(nil, []string{"DEBUG", "RESTART"}), replyTimeout)
			return nil // the process begins anew
		}
		all.pairings[2*i] = p

		dir, err := os.MkdirTemp("", "difftest")
		if err != nil {
			return nil, end, err
		}
		ends = append(ends, func() { _ = os.RemoveAll(dir) })
		c := &child{path: o.serverPath}
		ends = append(ends, c.stop)
		q := &pairing{master: master, replica: server{title: "ours"}}
		q.stop = func() error {
			q.to.send(appendCommand(nil, []string{"SHUTDOWN", "SAVE"}), replyTimeout)
			select {
			case <-c.exited:
				return nil
			case <-time.After(replicaTimeout):
				return fmt.Errorf("%s does not end:\n%s", q, c.log())
			}
		}
		q.start = func() (err error) {
			host, port, err := net.SplitHostPort(q.master().addr)
			if err != nil {
				return err
			}
			c.args = []string{"--dir", dir, "--replicaof", host, port}
			q.replica.addr, err = c.start()
			return err
		}
		if err := q.start(); err != nil {
			return nil, end, err
		}
		all.pairings[2*i+1] = q
	}
	return all, end, nil
}

func (p *pairing) String() string { return p.replica.title + " as a replica of " + p.master().title }

// plan decides what happens during a round of so many steps.
func (all *replicas) plan(r *rand.Rand, number, steps int) {
	all.events = map[int]event{}
	all.restarted = number%5 == 2
	if number%2 == 1 {
		for range 1 + r.IntN(3) {
			all.events[r.IntN(steps)] = cut
		}
	}
	if all.restarted {
		at := r.IntN(steps)
		all.events[at] = end
		all.events[at+1+r.IntN(steps/4+1)] = begin
	}
}

// finish runs what was planned behind the last step, or behind one that was not reached.
func (all *replicas) finish() error {
	for i, e := range all.events {
		if e != begin {
			delete(all.events, i)
			continue
		}
		if err := all.happen(i); err != nil {
			return err
		}
	}
	return nil
}

// happen runs what is planned behind a step.
func (all *replicas) happen(i int) error {
	e, ok := all.events[i]
	if !ok {
		return nil
	}
	delete(all.events, i)
	ended := all.ended
	all.ended = e == end || ended && e != begin
	for _, p := range all.pairings {
		var err error
		switch {
		case e == cut:
			if p.from != nil && p.from.fail == "" {
				_, err = ask(p.from, "CLIENT", "KILL", "TYPE", "replica")
			}
		case e == end:
			err = p.end()
		case ended:
			err = p.begin()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pairing) end() error {
	if err := p.dial(); err != nil {
		return err
	}
	return p.stop()
}

func (p *pairing) begin() error {
	p.to.close()
	p.to = nil
	if p.start == nil {
		return nil
	}
	return p.start()
}

// dial connects to both servers where there is no connection.
func (p *pairing) dial() (err error) {
	for _, c := range []struct {
		l    **link
		addr string
	}{{&p.from, p.master().addr}, {&p.to, p.replica.addr}} {
		for begin := time.Now(); *c.l == nil || (*c.l).fail != ""; pause() {
			if *c.l, err = dial(c.addr); err == nil {
				_, err = ask(*c.l, "PING")
			}
			if err != nil && time.Since(begin) > replicaTimeout {
				return err
			}
		}
	}
	return nil
}

// expired is PEXPIRETIME's reply about a key that has expired, and is removed later.
const expired = ":-2\r\n"

// ask sends a command to one of the two and returns the reply as it came.
func ask(l *link, args ...string) (string, error) {
	all, err := askAll(l, args)
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// askAll sends commands in one write.
func askAll(l *link, commands ...[]string) (replies []string, err error) {
	var out []byte
	for _, args := range commands {
		out = appendCommand(out, args)
	}
	l.send(out, replyTimeout)
	for _, args := range commands {
		got := l.receive()
		if got.fail != "" {
			return nil, fmt.Errorf("%s: %s", strings.Join(args, " "), got.fail)
		}
		replies = append(replies, string(got.raw))
	}
	return replies, nil
}

// follow makes the replica follow its master, if it does not yet, and waits until it has everything. why is
// not empty if the replica has stopped by itself.
func (p *pairing) follow() (why string, err error) {
	host, port, err := net.SplitHostPort(p.master().addr)
	if err != nil {
		return "", err
	}
	if err := p.dial(); err != nil {
		return "", err
	}
	// A master whose clock is held would wait for others for ever.
	if _, err := ask(p.from, "CONFIG", "SET", "repl-diskless-sync-delay", "0"); err != nil {
		return "", err
	}
	info, err := ask(p.to, "INFO", "replication")
	if err != nil {
		return "", err
	}
	if _, text, ok := strings.Cut(info, "master_link_error:"); ok && strings.Contains(text, "cannot be") {
		why, _, _ = strings.Cut(text, "\r\n")
	}
	for begin := time.Now(); ; pause() {
		// While a dump is loaded the reply is LOADING.
		if _, err := ask(p.to, "REPLICAOF", host, port); err != nil {
			return why, err
		}
		ours, err := ask(p.to, "ROLE")
		if err != nil {
			return why, err
		}
		theirs, err := ask(p.from, "ROLE")
		if err != nil {
			return why, err
		}
		at, to := numbers(theirs), numbers(ours)
		if strings.Contains(ours, "connected") && len(at) > 0 && len(to) > 0 && at[0] == to[len(to)-1] {
			return why, nil
		}
		if time.Since(begin) > replicaTimeout {
			info, _ = ask(p.to, "INFO", "replication")
			return why, fmt.Errorf("%s does not follow: %q, %q, %q", p, theirs, ours, info)
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

// compare reports what replicas hold otherwise than their masters after a round.
func (all *replicas) compare(number int, report func(signature, what string)) error {
	if err := all.limit(number); err != nil {
		return err
	}
	var stopped [4]string
	for i, p := range all.pairings {
		why, err := p.follow()
		if err != nil {
			return err
		}
		stopped[i] = why
		// The masters' count of copies is since the round's begin.
		stats, err := ask(p.from, "INFO", "stats")
		if err != nil {
			return err
		}
		if i%2 == 1 {
			full, partial := field(stats, "sync_full"), field(stats, "sync_partial_ok")
			all.copies += full
			all.goneOn += partial
			if full > 0 && all.begun[i/2].addr == p.master().addr && !all.promoted {
				report(p.master().title+" as a master", fmt.Sprintf("%d copies for two replicas, which had "+
					"its history; %d went on", full, partial))
			}
			// A copy for who was promoted may be counted before the round and made within it.
			all.begun[i/2], all.read[i/2] = p.master(), all.restarted || full > 0 || all.promoted
		}
	}
	// Redis' own replica holds these keys otherwise: it misses some growth by BITFIELD, and a number's
	// conversion that fails may make the next SORT fail, there or at the master. Whatever such keys are
	// renamed to or stored in follows, and ours stops where redis-server's replica goes on with an error.
	odd := map[string]bool{}
	var held [4]map[string]string
	for i, p := range all.pairings {
		var what string
		var err error
		for range 3 { // keys that expire between two questions are no difference
			if what, held[i], err = p.compare(odd); err != nil {
				return err
			}
			if what == "" {
				break
			}
		}
		if what != "" {
			report(p.String(), what)
		}
	}
	for i, p := range all.pairings {
		if stopped[i] != "" && len(odd) == 0 {
			report(p.String(), "it has stopped: "+stopped[i])
		}
	}
	for i := range 2 {
		if all.read[i] { // what is read from a dump is in the encoding of something new
			continue
		}
		if what := otherThan(held[2*i], held[2*i+1], odd); what != "" {
			report("replicas of "+all.pairings[2*i].master().title, what)
		}
	}
	if all.promoted = number%7 == 2; !all.promoted {
		return nil
	}
	for _, p := range all.pairings { // the next copy is the only one without a reason
		if err := p.promote(); err != nil {
			return err
		}
	}
	return nil
}

// promote makes a master of a replica, which must then take writes, and starts it again, for its clock is now
// its former master's.
func (p *pairing) promote() error {
	for _, command := range []string{"REPLICAOF NO ONE", "SET promoted v", "FUNCTION LIST"} {
		got, err := ask(p.to, strings.Fields(command)...)
		if err != nil {
			return err
		}
		if got[0] == '-' {
			return fmt.Errorf("%s, promoted: %s: %s", p, command, got)
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	return p.begin()
}

func field(info, name string) int {
	_, text, _ := strings.Cut(info, "\r\n"+name+":")
	text, _, _ = strings.Cut(text, "\r\n")
	n, _ := strconv.Atoi(text)
	return n
}

// limit sends our master commands that redis-server does not know: limiters of all algorithms.
func (all *replicas) limit(number int) error {
	p := all.pairings[3]
	if p.master().title != "ours" {
		return nil // -self
	}
	if err := p.dial(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(uint64(number), 43))
	commands := [][]string{{"SELECT", "0"}}
	for range 60 {
		line := pick(r, limiterCommands...)
		line = strings.ReplaceAll(line, "$key", "rl:"+itoa(r.IntN(4)))
		line = strings.ReplaceAll(line, "$id", "id"+itoa(r.IntN(3)))
		line = strings.ReplaceAll(line, "$n", itoa(1+r.IntN(5)))
		commands = append(commands, strings.Fields(line))
	}
	commands = append(commands, []string{"EXEC"}) // which may end a transaction
	_, err := askAll(p.from, commands...)
	return err
}

// compare returns what the replica holds otherwise than its master, or "", and the encodings of the replica's
// keys. Keys that a redis-server holds otherwise than its master of the same kind are added to odd, and do
// not differ.
func (p *pairing) compare(odd map[string]bool) (string, map[string]string, error) {
	var out []string
	held := map[string]string{}
	for db := range 16 {
		for _, l := range []*link{p.from, p.to} {
			if _, err := ask(l, "SELECT", strconv.Itoa(db)); err != nil {
				return "", nil, err
			}
		}
		keys, err := p.keys()
		if err != nil {
			return "", nil, err
		}
		if _, err := p.follow(); err != nil { // KEYS may have removed what has expired
			return "", nil, err
		}
		var commands [][]string
		const each = 3
		for _, key := range keys {
			commands = append(commands, []string{"PEXPIRETIME", key}, []string{"DEBUG", "DIGEST-VALUE", key},
				[]string{"OBJECT", "ENCODING", key})
		}
		if commands == nil {
			continue
		}
		a, err := askAll(p.from, commands...)
		if err != nil {
			return "", nil, err
		}
		b, err := askAll(p.to, commands...)
		if err != nil {
			return "", nil, err
		}
		now, err := ask(p.to, "TIME")
		if err != nil {
			return "", nil, err
		}
		clock, err := parse([]byte(now))
		if err != nil {
			return "", nil, err
		}
		for i, key := range keys {
			a, b := a[each*i:each*(i+1)], b[each*i:each*(i+1)]
			name := fmt.Sprintf("key %q of database %d", key, db)
			at := numbers(a[0])[0]
			if b[0] == expired && at > 0 && strconv.Itoa(at/1000) <= clock.elems[0].text {
				a[0] = expired // a copy has put the replica's clock to its master's
			} else {
				held[name] = b[2]
			}
			same := slices.Equal(a[:2], b[:2])
			if !same && p.replica.title == p.master().title && p.replica.title == "redis" {
				odd[name] = true
			}
			if a[0] != expired && !same && !odd[name] {
				x, _ := ask(p.from, "DUMP", key)
				y, _ := ask(p.to, "DUMP", key)
				out = append(out, fmt.Sprintf("%s: %q, %q; %q, %q", name, a, b, x, y))
			}
		}
	}
	a, err := libraries(p.from)
	if err != nil {
		return "", nil, err
	}
	b, err := libraries(p.to)
	if err != nil {
		return "", nil, err
	}
	if !slices.Equal(a, b) {
		out = append(out, fmt.Sprintf("functions: %q, %q", a, b))
	}
	return strings.Join(out[:min(len(out), 5)], "\n"), held, nil
}

// libraries returns the descriptions of a server's libraries, which are in no order.
func libraries(l *link) ([]string, error) {
	raw, err := ask(l, "FUNCTION", "LIST", "WITHCODE")
	if err != nil {
		return nil, err
	}
	list, err := parse([]byte(raw))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, library := range list.elems {
		var words []string
		for _, e := range library.elems {
			words = append(words, e.key())
		}
		out = append(out, strings.Join(words, " "))
	}
	slices.Sort(out)
	return out, nil
}

// otherThan returns which keys two replicas of one master hold in other encodings, but for the odd ones.
func otherThan(a, b map[string]string, odd map[string]bool) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if other, ok := b[name]; ok && a[name] != other && !odd[name] {
			out = append(out, fmt.Sprintf("%s: redis %q, ours %q", name, a[name], other))
		}
	}
	return strings.Join(out[:min(len(out), 5)], "\n")
}

// keys returns the names of the keys of either, in the selected database.
func (p *pairing) keys() ([]string, error) {
	var out []string
	for _, l := range []*link{p.from, p.to} {
		raw, err := ask(l, "KEYS", "*")
		if err != nil {
			return nil, err
		}
		list, err := parse([]byte(raw))
		if err != nil {
			return nil, err
		}
		for _, e := range list.elems {
			out = append(out, e.text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func (all *replicas) summary(out io.Writer) {
	fmt.Fprintf(out, "replicas: %d copies, %d times they went on where they were\n", all.copies, all.goneOn)
}

// limiterCommands are sent to our master, with values for $key, $id and $n.
var limiterCommands = []string{
	"RL.ALLOW $key:a $n 10s", "RL.ALLOW $key:a 5 10s COST $n", "RL.ALLOW $key:b 3 1s 10 1m COST $n ATMOST",
	"RL.ALLOW $key:c 20 1m COST $n ALGO GCRA 20", "RL.ALLOW $key:d 20 1m COST $n ALGO FIXED",
	"RL.ALLOW $key:e 20 1m COST $n ALGO COUNTER",
	"RL.ALLOW $key:a 5 10s COST $n SHADOW", "RL.MALLOW 2 $key:a 5 10s $key:f 10 1m COST $n SHADOW",
	"RL.MALLOW 2 $key:a 5 10s $key:f 10 1m COST $n", "RL.REFUND $key:a $n",
	"RL.ADOPT $key:a BACK ms", "RL.ADOPT $key:a",
	"RL.RESET $key:a $key:f",
	"RL.RESERVE $key:h 100 1m $n HOLD 30s ID $id", "RL.SETTLE $key:h $id $n", "RL.CANCEL $key:h $id",
	"RL.MALLOW 2 $key:a $key:d TERM 5 10s COST $n TERM 20 1m ALGO FIXED FULL",
	"RL.MALLOW 2 $key:e $key:j TERM 20 1m ALGO COUNTER COST $n TERM SLOTS 3 LEASE 30s ID $id",
	"RL.MRESERVE 4 $key:m $key:c $key:g $key:j TERM 100 1m COST $n TERM 20 1m ALGO GCRA 20 COST 2 " +
		"TERM 50 1m ALGO BUCKETS 6 COST $n TERM SLOTS 3 LEASE 30s HOLD 30s ID $id",
	"RL.MSETTLE 4 $key:m $key:c $key:g $key:j $id $n 1 $n 0", "RL.MCANCEL 4 $key:m $key:c $key:g $key:j $id",
	"RL.ACQUIRE $key:j $n LEASE 30s ID $id", "RL.RELEASE $key:j $id", "RL.RENEW $key:j $id LEASE 40s",
	"CL.THROTTLE $key:t 15 30 60 $n", "RL.THROTTLE $key:t 15 30 60 $n",
	"PEXPIRE $key:a 1000", "SWAPDB 0 1", "MULTI", "EXEC",
}
