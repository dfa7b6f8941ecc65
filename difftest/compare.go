package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// judge compares the replies of one run, step by step. It keeps what a later reply depends on: the commands queued in
// a MULTI, whose replies come with EXEC, and the reply that a glued step's comparator may look back to.
type judge struct {
	looseClock bool // the servers' clocks run, and are only roughly equal
	queued     [connections][]step
	before     [connections]*value
	scripts    []string // that were sent, with all their arguments
}

// otherBytes is the plain difference, which the replies themselves show best.
const otherBytes = "other bytes"

// see returns "" where ours agrees with ref, else what differs.
func (j *judge) see(s step, ref, ours reply) string {
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
	if s.hears {
		return j.told(ref.raw, ours.raw)
	}
	if strings.HasPrefix(name, "EVAL") {
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
		// What is looked back to: the member list, the key list, the set, the hash, an encoding.
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
			return "another number of replies in EXEC"
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

// told compares what clients were told of keys, and the reply behind it. In a script Redis tracks the keys that it
// declares, ours also those that it only reads: ours may tell of a key more where a script has named it.
func (j *judge) told(ref, ours []byte) string {
	for len(ours) > 0 {
		v, rest, err := parseNext(ours)
		if err != nil {
			return "our messages: " + err.Error()
		}
		one := ours[:len(ours)-len(rest)]
		switch {
		case bytes.HasPrefix(ref, one):
			ref = ref[len(one):]
		case !j.named(v):
			return "other messages"
		}
		ours = rest
	}
	if len(ref) > 0 {
		return "messages are missing"
	}
	return ""
}

// named reports whether a message is about a key that a script has named.
func (j *judge) named(v value) bool {
	if v.kind != '>' || len(v.elems) != 2 || len(v.elems[1].elems) != 1 {
		return false
	}
	key := v.elems[1].elems[0].text
	return slices.ContainsFunc(j.scripts, func(s string) bool { return strings.Contains(s, key) })
}

// values compares one reply, asking the list of exceptions where the bytes differ.
func (j *judge) values(args []string, ref, ours value, before *value) string {
	if ref.key() == ours.key() {
		return ""
	}
	if ref.kind == '-' && ours.kind == '-' && sameInterpreterError(ref.text, ours.text) {
		return ""
	}
	e, ok := exceptions[commandName(args)]
	switch {
	case !ok,
		e.when == looseClock && !j.looseClock,
		e.when != evenErrors && (ref.isError() || ours.isError()):
		return otherBytes
	}
	return e.how(sight{args: args, ref: ref, ours: ours, before: before})
}

// endsQueue tells whether a command with that reply leaves an empty transaction queue. A MULTI inside a MULTI is refused
// and does not.
func endsQueue(name string, ref []byte) bool {
	return name == "EXEC" || name == "DISCARD" || name == "RESET" || (name == "MULTI" && ref[0] == '+')
}
