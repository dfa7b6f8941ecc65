package server_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A case file is read line by line:
//
//	# comment
//	== title               a section: a fresh server, empty, at transcriptStartMs
//	SET k "a\x00b" EX 10   a command, quoted as redis-cli does; one reply
//	@resp 2                this section (before the first one: the file) is
//	                       recorded under this protocol only; default is both,
//	                       and under RESP3 each connection opens with HELLO 3
//	@redis --name value    when recorded, this section's redis-server gets the
//	                       flags; ours answers so without them
//	@directives --name v   this section's servers get the directives
//	@clock MS              the clock jumps to MS
//	@advance MS            the clock moves by MS
//	@conn B                switch to connection B, opened at its first use
//	@noreply CMD           a command without a reply, or with a later one
//	@blocked N             wait until N connections are blocked
//	@ids N                 the next connection that is opened has N as its CLIENT ID,
//	                       those after it N+1 and so on
//	@reply                 the late reply to an earlier command
//	@raw N "BYTES"         bytes to send verbatim, then N replies
//	@closed                the remaining output until Redis closes the connection
//
// and three forms for answers that cannot be equal byte for byte, each with
// the reason in parentheses:
//
//	@mask /RE/ (why) CMD   what matches RE is not compared
//	@masked (why) CMD      only the types and the sizes of arrays are compared
//	@unordered (why) CMD   arrays, sets and maps are compared as multisets
//
// CMD may be @reply.
//
// A recording repeats titles, directives and commands, each followed by the
// reply: one line for each CRLF-ended line of the wire, behind a "|", with
// bytes outside printable ASCII as \xHH. A backslash at the end of a line
// says that no CRLF followed. Recordings omit what @mask and the other forms
// exclude, so that recording again changes nothing.
type transcript struct {
	protocol int // 0: both
	sections []section
}

type section struct {
	title    string
	protocol int      // 0: both
	flags    []string // of redis-server only
	both     []string // directives of both servers
	steps    []step
}

// step is one line of a section. reply is the server's reply after normalize, and
// failed the error if there is none.
type step struct {
	line   string
	number int // line number, for messages
	reply  []byte
	failed error

	action  action
	args    [][]byte // the command
	raw     []byte   // actRaw
	replies int      // number of replies
	value   int64    // actClock, actAdvance, actBlocked, actIDs
	conn    string   // actConn
	mask    *regexp.Regexp
	compare comparison
}

type action int

const (
	actCommand action = iota
	actRaw
	actClosed
	actClock
	actAdvance
	actConn
	actProtocol
	actFlags
	actDirectives
	actBlocked
	actIDs
	actReply
)

type comparison int

const (
	exact comparison = iota
	shape
	multiset
)

func parseTranscript(t *testing.T, path string) transcript {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err, "for a recording: go test ./server -run TestTranscripts -record")
	tr, err := readTranscript(string(text))
	require.NoError(t, err, path)
	return tr
}

func readTranscript(text string) (transcript, error) {
	var tr transcript
	for i, line := range strings.Split(text, "\n") {
		fail := func(err error) (transcript, error) { return tr, fmt.Errorf("line %d: %w", i+1, err) }
		last := len(tr.sections) - 1
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "== "):
			title := line[len("== "):]
			if slices.ContainsFunc(tr.sections, func(s section) bool { return s.title == title }) {
				return fail(fmt.Errorf("second section %q", title))
			}
			tr.sections = append(tr.sections, section{title: title, protocol: tr.protocol})
		case line[0] == '|':
			if last < 0 || len(tr.sections[last].steps) == 0 {
				return fail(errors.New("a reply without a command"))
			}
			s := &tr.sections[last].steps[len(tr.sections[last].steps)-1]
			bytes, err := unescape(line[1:])
			if err != nil {
				return fail(err)
			}
			s.reply = append(s.reply, bytes...)
		default:
			s, err := parseStep(line)
			if err != nil {
				return fail(err)
			}
			s.number = i + 1
			switch {
			case s.action == actProtocol && last < 0:
				tr.protocol = int(s.value)
			case last < 0:
				return fail(errors.New("a command before the first section"))
			case s.action == actProtocol:
				tr.sections[last].protocol = int(s.value)
			case s.action == actFlags:
				for _, arg := range s.args {
					tr.sections[last].flags = append(tr.sections[last].flags, string(arg))
				}
			case s.action == actDirectives:
				for _, arg := range s.args {
					tr.sections[last].both = append(tr.sections[last].both, string(arg))
				}
			default:
				tr.sections[last].steps = append(tr.sections[last].steps, s)
			}
		}
	}
	return tr, nil
}

var withReason = regexp.MustCompile(`^(?:/(.+)/ )?\(([^)]+)\) (.+)$`)

func parseStep(line string) (s step, err error) {
	s = step{line: line, replies: 1}
	if line[0] != '@' {
		s.args, err = splitArgs(line)
		return s, err
	}
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "@resp", "@clock", "@advance", "@blocked", "@ids":
		s.action = map[string]action{
			"@resp": actProtocol, "@clock": actClock, "@advance": actAdvance, "@blocked": actBlocked,
			"@ids": actIDs,
		}[name]
		s.value, err = strconv.ParseInt(rest, 10, 64)
	case "@conn":
		s.action, s.conn = actConn, rest
	case "@redis", "@directives":
		s.action = map[string]action{"@redis": actFlags, "@directives": actDirectives}[name]
		s.args, err = splitArgs(rest)
	case "@closed":
		s.action = actClosed
	case "@reply":
		s.action = actReply
	case "@noreply":
		s.replies = 0
		s.args, err = splitArgs(rest)
	case "@raw":
		count, quoted, _ := strings.Cut(rest, " ")
		s.action = actRaw
		if s.replies, err = strconv.Atoi(count); err != nil {
			return s, err
		}
		parts, err := splitArgs(quoted)
		if err != nil || len(parts) != 1 {
			return s, errors.Join(err, fmt.Errorf("%s: want @raw N \"bytes\"", line))
		}
		s.raw = parts[0]
	case "@mask", "@masked", "@unordered":
		m := withReason.FindStringSubmatch(rest)
		if m == nil || (name == "@mask") != (m[1] != "") {
			return s, fmt.Errorf("%s: want %s (reason) command", line, name)
		}
		s.compare = map[string]comparison{"@mask": exact, "@masked": shape, "@unordered": multiset}[name]
		if name == "@mask" {
			if s.mask, err = regexp.Compile(m[1]); err != nil {
				return s, err
			}
		}
		if m[3] == "@reply" {
			s.action = actReply
			return s, nil
		}
		s.args, err = splitArgs(m[3])
	default:
		err = fmt.Errorf("unknown directive %s", name)
	}
	return s, err
}

// under returns the sections that are recorded under the protocol.
func (tr transcript) under(protocol int) transcript {
	kept := slices.DeleteFunc(slices.Clone(tr.sections), func(s section) bool {
		return s.protocol != 0 && s.protocol != protocol
	})
	return transcript{sections: kept}
}

// lines returns the lines of the transcript without the replies.
func (tr transcript) lines() []string {
	var lines []string
	for _, sec := range tr.sections {
		lines = append(lines, "== "+sec.title)
		for _, s := range sec.steps {
			lines = append(lines, s.line)
		}
	}
	return lines
}

func (sec section) print(w io.Writer) {
	_, _ = fmt.Fprintf(w, "== %s\n", sec.title) // into a bytes.Buffer
	for _, s := range sec.steps {
		_, _ = fmt.Fprintf(w, "%s\n%s", s.line, printReply(s.reply))
	}
}
