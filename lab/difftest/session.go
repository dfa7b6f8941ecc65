package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	connections = 3        // of a round to each server
	maxBatch    = 48 << 10 // bytes in one write; replies of a batch fit socket buffers
	scanRounds  = 10_000   // a cursor that is not 0 after so many pages is a difference
	dialTimeout = time.Minute
)

// A server is one side of the comparison. setClock is nil if the clock cannot be held.
type server struct {
	title    string
	addr     string
	setClock func(nowMs int64) error
	// Stops the server if it runs, and starts it again; nil if this program did not start it.
	restart func() error
}

// A reply is one server's answer to one step: the bytes, or why there are none.
type reply struct {
	raw  []byte
	fail string
}

func (r reply) String() string { return r.from(0) }

// from formats the reply; of a long one, the part around byte at.
func (r reply) from(at int) string {
	const most, lead = 1500, 300
	if r.fail != "" {
		return "(" + r.fail[:min(len(r.fail), most)] + ")"
	}
	if len(r.raw) <= most {
		return fmt.Sprintf("%q", r.raw)
	}
	begin := max(at-lead, 0)
	end := min(begin+most, len(r.raw))
	return fmt.Sprintf("bytes %d to %d of %d: %q", begin, end, len(r.raw), r.raw[begin:end])
}

// firstDifference returns the index of the first byte that differs.
func firstDifference(a, b reply) int {
	i := 0
	for i < len(a.raw) && i < len(b.raw) && a.raw[i] == b.raw[i] {
		i++
	}
	return i
}

// A link is one connection to one server. After a failure it stays failed until it is dialed again.
type link struct {
	net.Conn
	r      *bufio.Reader
	fail   string
	pushed []byte // messages between replies
}

func dial(addr string) (*link, error) {
	c, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return nil, err
	}
	return &link{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

func (l *link) close() {
	if l != nil {
		_ = l.Close() // the round is over
	}
}

// failed records the first failure, in words that are the same for both servers.
func (l *link) failed(err error) {
	var timeout net.Error
	switch {
	case l.fail != "":
	case errors.As(err, &timeout) && timeout.Timeout():
		l.fail = "no reply in time"
	case errors.Is(err, errBadReply):
		l.fail = err.Error()
	default:
		l.fail = "connection closed"
	}
}

func (l *link) send(b []byte, timeout time.Duration) {
	if l.fail != "" {
		return
	}
	if err := l.SetDeadline(time.Now().Add(timeout)); err != nil {
		l.failed(err)
	} else if _, err := l.Write(b); err != nil {
		// Replies sent before the server closed the connection can still be read.
		return
	}
}

func (l *link) receive() reply {
	if l.fail != "" {
		return reply{fail: l.fail}
	}
	for {
		raw, err := appendReply(nil, l.r, 0)
		if err != nil {
			l.failed(err)
			return reply{fail: l.fail}
		}
		if raw[0] != '>' {
			return reply{raw: raw}
		}
		l.pushed = append(l.pushed, raw...)
	}
}

// withPushed prepends the messages pushed since its last call to a reply.
func (l *link) withPushed(r reply) reply {
	if r.fail == "" {
		r.raw = append(l.pushed, r.raw...)
	}
	l.pushed = nil
	return r
}

// receiveAll reads until the server closes the connection.
func (l *link) receiveAll() reply {
	if l.fail != "" {
		return reply{fail: l.fail}
	}
	raw, err := io.ReadAll(l.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return reply{fail: fmt.Sprintf("not closed after %.60q", raw)}
	}
	return reply{raw: raw} // to a client, a reset is the same as an orderly end
}

// A visitor is called with each step and both replies, in order. It returns false to end the run.
type visitor func(i int, s step, ref, ours reply) bool

// A runner runs rounds against two servers. It must not be used concurrently.
type runner struct {
	ref, ours server
	timeout   time.Duration
	links     [2][connections]*link
	out       []byte
}

func (d *runner) servers() [2]server { return [2]server{d.ref, d.ours} }

func (d *runner) closeLinks() {
	for side := range d.links {
		for i, l := range d.links[side] {
			l.close()
			d.links[side][i] = nil
		}
	}
}

// errOursFailed means that our server could not be reset: it died, or it hangs.
var errOursFailed = errors.New("our server cannot be reset")

// reset brings both servers to the state that every round starts from: new connections, no keys, no cached
// scripts, the clock at nowMs. The order matters for our server: its clock goes back only while it has no
// keys.
func (d *runner) reset(nowMs int64) error {
	d.closeLinks()
	for side, s := range d.servers() {
		if err := d.resetSide(side, nowMs); err != nil {
			err = fmt.Errorf("%s: %w", s.title, err)
			if side == 1 {
				err = errors.Join(errOursFailed, err)
			}
			return err
		}
	}
	return nil
}

func (d *runner) resetSide(side int, nowMs int64) error {
	s := d.servers()[side]
	admin, err := dial(s.addr)
	if err != nil {
		return err
	}
	defer admin.close()
	for _, line := range []string{"FLUSHALL", "SCRIPT FLUSH", "FUNCTION FLUSH", "CONFIG RESETSTAT"} {
		admin.send(appendCommand(nil, strings.Fields(line)), d.timeout)
		if got := admin.receive(); string(got.raw) != "+OK\r\n" {
			return fmt.Errorf("%s replies %v", line, got)
		}
	}
	if s.setClock != nil {
		if err := s.setClock(nowMs); err != nil {
			return fmt.Errorf("clock to %d: %w", nowMs, err)
		}
	}
	for i := range d.links[side] {
		if d.links[side][i], err = dial(s.addr); err != nil {
			return err
		}
	}
	return nil
}

// restartOurs restarts our server if that is possible, and resets both.
func (d *runner) restartOurs(nowMs int64) error {
	if d.ours.restart == nil {
		return errOursFailed
	}
	if err := d.ours.restart(); err != nil {
		return err
	}
	return d.reset(nowMs)
}

// run sends steps to both servers in order and passes each to visit. Consecutive steps of one connection are
// sent in one write, up to the next cut. Before another connection sends, all replies have been read, so both
// servers execute in the same order.
func (d *runner) run(steps []step, visit visitor) error {
	for i := 0; i < len(steps); {
		s := steps[i]
		var ref, ours reply
		switch {
		case s.clockMs > 0:
			for _, side := range d.servers() {
				if side.setClock == nil {
					continue
				}
				if err := side.setClock(s.clockMs); err != nil {
					return fmt.Errorf("%s: clock to %d: %w", side.title, s.clockMs, err)
				}
			}
		case s.iterate:
			ref, ours = d.iterate(0, s), d.iterate(1, s)
		case s.closes:
			ref, ours = d.sendClosing(s)
		default:
			n, more := d.batch(steps, i, visit)
			if !more {
				return nil
			}
			i = n
			continue
		}
		if !visit(i, s, ref, ours) {
			return nil
		}
		i++
	}
	return nil
}

// batch sends the consecutive steps that start at i and returns the index after them.
func (d *runner) batch(steps []step, i int, visit visitor) (next int, more bool) {
	conn := steps[i].conn
	d.out = d.out[:0]
	end := i
	for ; end < len(steps); end++ {
		s := steps[end]
		if s.conn != conn || s.clockMs > 0 || s.iterate || s.closes ||
			(end > i && (s.cut || len(d.out) > maxBatch)) {
			break
		}
		if s.args == nil {
			d.out = append(d.out, s.raw...)
		} else {
			d.out = appendCommand(d.out, s.args)
		}
	}
	for side := range d.links {
		d.write(d.links[side][conn], steps[i].split)
	}
	for j := i; j < end; j++ {
		var ref, ours reply
		if !steps[j].silent {
			ref = d.links[0][conn].receive()
			ours = d.links[1][conn].receive()
			if steps[j].pushes {
				ref, ours = d.links[0][conn].withPushed(ref), d.links[1][conn].withPushed(ours)
			}
		}
		if !visit(j, steps[j], ref, ours) {
			return j + 1, false
		}
	}
	return end, true
}

// write sends d.out, in two parts if split, so that a server has to keep its place in half a command.
func (d *runner) write(l *link, split bool) {
	if split && len(d.out) > 1 {
		at := len(d.out) * 2 / 3
		l.send(d.out[:at], d.timeout)
		l.send(d.out[at:], d.timeout)
		return
	}
	l.send(d.out, d.timeout)
}

// sendClosing sends a step after which both servers close the connection, and dials again.
func (d *runner) sendClosing(s step) (ref, ours reply) {
	b := []byte(s.raw)
	if s.args != nil {
		b = appendCommand(nil, s.args)
	}
	var got [2]reply
	for side, srv := range d.servers() {
		l := d.links[side][s.conn]
		l.send(b, d.timeout)
		got[side] = l.receiveAll()
		l.close()
		next, err := dial(srv.addr)
		if err != nil {
			got[side].fail = "cannot dial again"
			next = &link{Conn: l.Conn, r: l.r, fail: got[side].fail}
		}
		d.links[side][s.conn] = next
	}
	return got[0], got[1]
}

// iterate runs SCAN, HSCAN, SSCAN or ZSCAN to its end on one server and returns the sorted union of the
// elements, because cursors, order and repetitions differ between servers. An error reply is returned as it
// is.
func (d *runner) iterate(side int, s step) reply {
	l := d.links[side][s.conn]
	at, of := 1, 1 // the index of the cursor, and the number of elements in an entry
	if !strings.EqualFold(s.args[0], "scan") {
		at = 2
		if !strings.EqualFold(s.args[0], "sscan") {
			of = 2
		}
	}
	args := append([]string(nil), s.args...)
	seen := map[string]bool{}
	for range scanRounds {
		l.send(appendCommand(nil, args), d.timeout)
		got := l.receive()
		if got.fail != "" {
			return got
		}
		v, err := parse(got.raw)
		if err != nil {
			return reply{fail: err.Error()}
		}
		if len(v.elems) != 2 || v.elems[1].kind != '*' {
			return got // an error, or QUEUED if a shrunk round left a MULTI open
		}
		list := v.elems[1].elems
		for i := 0; i+of <= len(list); i += of {
			key := ""
			for _, e := range list[i : i+of] {
				key += e.key()
			}
			seen[key] = true
		}
		if args[at] = v.elems[0].text; args[at] == "0" {
			all := make([]string, 0, len(seen))
			for k := range seen {
				all = append(all, k)
			}
			sort.Strings(all)
			return reply{raw: []byte("all " + strconv.Itoa(len(all)) + ": " + strings.Join(all, " "))}
		}
	}
	return reply{fail: "the cursor did not reach 0"}
}
