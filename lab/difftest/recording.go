package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/words"
)

// A recording is text. Its first line names the format and the instant at which it begins, in Unix
// milliseconds; then each line is an event: milliseconds since the event before, the number of the
// connection, and what happened there.
//
//	recording 1 1700000000000
//	# bottleneck 2.19.5
//	0 1 > EVALSHA 2b5d... 1 key "two words"
//	3 1 < 1
//	0 1 x
//
// > is a command, < so many replies or messages, x the end of the connection. Arguments are quoted as in
// redis.conf. Passwords are not recorded: AUTH becomes PING, and HELLO keeps its protocol only.
const recordingHead = "recording 1"

// A recorded is a line of a recording: an event.
type recorded struct {
	atMs    int64 // Unix milliseconds
	conn    int
	args    []string // of a command
	replies int      // or so many replies arrived
	ends    bool     // or the connection ended
}

var errRecording = errors.New("not a recording")

// maxLine bounds a line of a recording, and so a command.
const maxLine = 8 << 20

// readRecording returns the events of a recording and the instant at which it begins.
func readRecording(r io.Reader) (events []recorded, startMs int64, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Text()
		if number == 1 {
			rest, ok := strings.CutPrefix(line, recordingHead+" ")
			startMs, err = strconv.ParseInt(rest, 10, 64)
			if !ok || err != nil {
				return nil, 0, fmt.Errorf("%w: the first line is %.60q", errRecording, line)
			}
			continue
		}
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: line %d: %.60q", err, number, line)
		}
		last := startMs
		if len(events) > 0 {
			last = events[len(events)-1].atMs
		}
		e.atMs += last
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return nil, 0, err
	}
	if len(events) == 0 {
		return nil, 0, fmt.Errorf("%w: no events", errRecording)
	}
	return events, startMs, nil
}

// parseEvent parses a line. Its atMs is the time since the event before.
func parseEvent(line string) (e recorded, err error) {
	split, ok := words.Split([]byte(line), nil)
	var fields []string
	for _, w := range split {
		fields = append(fields, string(w))
	}
	if !ok || len(fields) < 3 {
		return e, errRecording
	}
	e.atMs, err = strconv.ParseInt(fields[0], 10, 64)
	if err != nil || e.atMs < 0 {
		return e, errRecording
	}
	if e.conn, err = strconv.Atoi(fields[1]); err != nil {
		return e, errRecording
	}
	switch kind, rest := fields[2], fields[3:]; {
	case kind == ">" && len(rest) > 0:
		e.args = rest
	case kind == "<" && len(rest) == 1:
		e.replies, err = strconv.Atoi(rest[0])
	case kind == "x" && len(rest) == 0:
		e.ends = true
	default:
		err = errRecording
	}
	return e, err
}

func (e recorded) String() string {
	switch {
	case e.ends:
		return "x"
	case e.args == nil:
		return "< " + strconv.Itoa(e.replies)
	}
	text := ">"
	for _, a := range e.args {
		text += " " + words.Spell(a)
	}
	return text
}

// A recorder writes events as they happen, up to a number of bytes.
type recorder struct {
	mu       sync.Mutex // protects what follows
	out      io.Writer
	err      error
	left     int64
	full     bool
	last     int64
	waiting  recorded // replies that are not written yet, since more may follow at the same instant
	commands int
}

func newRecorder(out io.Writer, limit, nowMs int64) *recorder {
	r := &recorder{out: out, left: limit, last: nowMs}
	r.write(fmt.Sprintf("%s %d\n", recordingHead, nowMs))
	return r
}

// add records an event that happens now.
func (r *recorder) add(e recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.atMs = max(time.Now().UnixMilli(), r.last)
	if w := &r.waiting; w.replies > 0 {
		if e.replies > 0 && e.conn == w.conn && e.atMs == w.atMs {
			w.replies += e.replies
			return
		}
		r.line(*w)
		w.replies = 0
	}
	if e.replies > 0 {
		r.waiting = e
		return
	}
	if e.args != nil {
		e.args = withoutPassword(e.args)
		r.commands++
	}
	r.line(e)
}

// close writes the replies that are waiting.
func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting.replies > 0 {
		r.line(r.waiting)
		r.waiting.replies = 0
	}
	return r.err
}

func (r *recorder) line(e recorded) {
	r.write(fmt.Sprintf("%d %d %s\n", e.atMs-r.last, e.conn, e))
	r.last = e.atMs
}

// write writes a line, or nothing more once one did not fit.
func (r *recorder) write(line string) {
	r.left -= int64(len(line))
	r.full = r.full || r.left < 0
	if r.full || r.err != nil {
		return
	}
	_, r.err = io.WriteString(r.out, line)
}

// withoutPassword returns a command that may be written to a file.
func withoutPassword(args []string) []string {
	switch strings.ToUpper(args[0]) {
	case "AUTH":
		return []string{"PING"}
	case "HELLO":
		return args[:min(2, len(args))]
	}
	return args
}
