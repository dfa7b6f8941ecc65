package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A checker compares the replies of one run, step by step. It keeps what later replies depend on: the
// commands queued in a MULTI, whose replies come with EXEC, and the previous reply, which the comparator of a
// glued step may use.
type checker struct {
	runningClock bool // the servers' clocks run, and are only roughly equal
	queued       [connections][]step
	before       [connections]*value
	scripts      []string // scripts and calls of functions sent so far, with all their arguments
}

// otherBytes is the plain difference, which the replies themselves show best.
const otherBytes = "different bytes"

// check returns "" if ours agrees with ref, else what differs.
func (j *checker) check(s step, ref, ours reply) string {
	if s.clockMs > 0 || s.silent {
		return ""
	}
	if ref.fail != "" || ours.fail != "" {
		if ref.fail == ours.fail {
			return "both servers failed: " + ref.fail
		}
		return "no reply"
	}
	name := commandName(s.args)
	if s.pushes {
		return j.pushes(ref.raw, ours.raw)
	}
	if strings.HasPrefix(name, "EVAL") || name == "FCALL" {
		j.scripts = append(j.scripts, strings.Join(s.args, " "))
	}
	before := j.before[s.conn]
	j.before[s.conn] = nil
	queued := j.queued[s.conn]
	if s.iterate || s.closes {
		if s.closes {
			j.queued[s.conn] = nil
		}
		if !bytes.Equal(ref.raw, ours.raw) {
			return otherBytes
		}
		return ""
	}
	switch {
	case string(ref.raw) == "+QUEUED\r\n":
		j.queued[s.conn] = append(queued, s)
	case endsQueue(name, ref.raw):
		j.queued[s.conn] = nil
	}
	if c := ref.raw[0]; c == '*' || c == '~' || c == '%' || c == '$' {
		// A glued step may use it: the member list, the key list, the set, the hash, an encoding.
		if v, err := parse(ref.raw); err == nil {
			j.before[s.conn] = &v
		}
	}
	if bytes.Equal(ref.raw, ours.raw) {
		return ""
	}
	a, err := parse(ref.raw)
	if err != nil {
		return "Redis' reply: " + err.Error()
	}
	b, err := parse(ours.raw)
	if err != nil {
		return "our reply: " + err.Error()
	}
	if name == "EXEC" && a.kind == '*' && len(a.elems) == len(queued) {
		if a.kind != b.kind || a.null != b.null || len(a.elems) != len(b.elems) {
			return "different number of replies in EXEC"
		}
		for i, q := range queued {
			if d := j.values(q.compared(), a.elems[i], b.elems[i], nil); d != "" {
				return "reply " + strconv.Itoa(i+1) + ", to " + q.name() + ": " + d
			}
		}
		return ""
	}
	if !s.glue {
		before = nil
	}
	return j.values(s.compared(), a, b, before)
}

// pushes compares the invalidation messages and the reply after them. In a script or function Redis tracks
// the declared keys, ours also the keys it reads: ours may send a message more about a key that a script has
// named.
func (j *checker) pushes(ref, ours []byte) string {
	for len(ours) > 0 {
		v, rest, err := parseNext(ours)
		if err != nil {
			return "our messages: " + err.Error()
		}
		one := ours[:len(ours)-len(rest)]
		switch {
		case bytes.HasPrefix(ref, one):
			ref = ref[len(one):]
		case !j.inScript(v):
			return "different messages"
		}
		ours = rest
	}
	if len(ref) > 0 {
		return "missing messages"
	}
	return ""
}

// inScript reports whether a message is about a key that a script has named.
func (j *checker) inScript(v value) bool {
	if v.kind != '>' || len(v.elems) != 2 || len(v.elems[1].elems) != 1 {
		return false
	}
	key := v.elems[1].elems[0].text
	return slices.ContainsFunc(j.scripts, func(s string) bool { return strings.Contains(s, key) })
}

// values compares one reply, and consults the list of exceptions if the bytes differ.
func (j *checker) values(args []string, ref, ours value, before *value) string {
	if ref.key() == ours.key() {
		return ""
	}
	if ref.kind == '-' && ours.kind == '-' && sameInterpreterError(ref.text, ours.text) {
		return ""
	}
	e, ok := exceptions[commandName(args)]
	switch {
	case !ok,
		e.when == runningClock && !j.runningClock,
		e.when != alsoErrors && (ref.isError() || ours.isError()):
		return otherBytes
	}
	return e.how(comparison{args: args, ref: ref, ours: ours, before: before})
}

// endsQueue reports whether a command with that reply leaves an empty transaction queue. A MULTI inside a
// MULTI is refused and does not.
func endsQueue(name string, ref []byte) bool {
	return name == "EXEC" || name == "DISCARD" || name == "RESET" || (name == "MULTI" && ref[0] == '+')
}
