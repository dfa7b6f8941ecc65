package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Step is one line of a section.
type Step struct {
	Line   string
	Number int // of the line
	Action Action
	Args   [][]byte // the command
	Value  int64    // of directives that have a number
	Text   string   // what follows a test's own directive; the connection of @conn

	via     int    // the line that has inserted it; 0: none
	conn    string // "": the current one
	raw     []byte
	replies int
	mask    *regexp.Regexp
	compare comparison

	Recorded   []byte // the reply of the lines that begin with "|"
	IsRecorded bool
	want       string
	isShown    bool // there is a want
	patterns   []pattern

	Got    []byte // the reply of a run
	Failed error  // why there is none
	sent   string // Line with its times and variables
}

// A pattern is a regular expression that a reply must match, or must not.
type pattern struct {
	re  *regexp.Regexp
	not bool
}

// Place returns the file and line of a step of s.
func (s *Step) Place(of *Section) string {
	place := fmt.Sprintf("%s:%d", of.Path, s.Number)
	if s.via > 0 {
		place += fmt.Sprintf(" (inserted by line %d)", s.via)
	}
	return place
}

// Want returns the expected reply as Show formats it. ok is false if there is none.
func (s *Step) Want() (want string, ok bool) { return s.want, s.isShown }

// hasReply reports whether a run gets a reply, or bytes that are compared like one.
func (s *Step) hasReply() bool {
	switch s.Action {
	case Command, Raw:
		return s.replies > 0
	case Closed, Reply, Own:
		return true
	}
	return false
}

// Expects reports whether anything is said about the step's reply.
func (s *Step) Expects() bool { return s.isShown || s.IsRecorded || len(s.patterns) > 0 }

// An Action is what a step does.
type Action int

// What steps do.
const (
	Command Action = iota
	Raw
	Closed
	At
	Clock
	Advance
	Conn
	Close
	Blocked
	IDs
	Reply
	Save
	Own // a directive of the test's
	protocol
	redisFlags
	directives
)

var actions = map[string]Action{
	"@resp": protocol, "@at": At, "@clock": Clock, "@advance": Advance, "@blocked": Blocked, "@ids": IDs,
	"@conn": Conn, "@redis": redisFlags, "@directives": directives, "@closed": Closed, "@close": Close,
	"@reply": Reply, "@save": Save, "@raw": Raw,
}

type comparison int

const (
	exact comparison = iota
	shape
	multiset
)

var (
	withReason = regexp.MustCompile(`^(?:/(.+)/ )?\(([^)]+)\) (.+)$`)
	withConn   = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*): (.+)$`)
)

func parseStep(text string, own []string) (s Step, err error) {
	s = Step{Line: text, replies: 1}
	if m := withConn.FindStringSubmatch(text); m != nil {
		if s.conn, text = m[1], m[2]; s.conn != strings.ToLower(s.conn) {
			return s, fmt.Errorf("%s: the name of a connection is in lower case", s.conn)
		}
	}
	if text[0] != '@' {
		s.Args, err = Words(text)
		return s, err
	}
	name, rest, _ := strings.Cut(text, " ")
	s.Action = actions[name]
	if slices.Contains(own, name[1:]) {
		s.Action, s.Text = Own, rest
		s.Args, err = [][]byte{[]byte(name[1:])}, nil
		return s, err
	}
	switch name {
	case "@resp", "@at", "@clock", "@advance", "@blocked", "@ids":
		s.Value, err = strconv.ParseInt(rest, 10, 64)
	case "@conn", "@save":
		if s.Text = rest; rest == "" {
			err = fmt.Errorf("%s needs a name", name)
		}
	case "@redis", "@directives":
		if rest = strings.TrimSpace(rest); rest != "" {
			s.Args, err = Words(rest)
		}
	case "@closed", "@close", "@reply":
		if rest != "" {
			err = fmt.Errorf("%s: nothing follows %s", text, name)
		}
	case "@noreply":
		s.replies = 0
		s.Args, err = Words(rest)
	case "@raw":
		count, quoted, _ := strings.Cut(rest, " ")
		if s.replies, err = strconv.Atoi(count); err != nil {
			return s, err
		}
		parts, err := Words(quoted)
		if err != nil || len(parts) != 1 {
			return s, errors.Join(err, fmt.Errorf("%s: want @raw N \"bytes\"", text))
		}
		s.raw = parts[0]
	case "@mask", "@masked", "@unordered":
		return s, s.parseComparison(name, rest)
	default:
		err = fmt.Errorf("unknown directive %s", name)
	}
	return s, err
}

func (s *Step) parseComparison(name, rest string) (err error) {
	m := withReason.FindStringSubmatch(rest)
	if m == nil || (name == "@mask") != (m[1] != "") {
		return fmt.Errorf("%s: want %s (reason) command", s.Line, name)
	}
	s.compare = map[string]comparison{"@mask": exact, "@masked": shape, "@unordered": multiset}[name]
	if name == "@mask" {
		if s.mask, err = regexp.Compile(m[1]); err != nil {
			return err
		}
	}
	if m[3] == "@reply" {
		s.Action = Reply
		return nil
	}
	s.Args, err = Words(m[3])
	return err
}
