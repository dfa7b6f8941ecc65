package replication

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// answer runs what a line has up to each semicolon, alone or at the end of a word. What answers something is
// the reply.
func answer(do func(words []string) (reply any, err error), args [][]byte) string {
	var replies, words []string
	for i, arg := range args {
		word, ends := strings.CutSuffix(string(arg), ";")
		if word != "" || !ends {
			words = append(words, word)
		}
		if !ends && i < len(args)-1 {
			continue
		}
		reply, err := do(words)
		if err != nil {
			return "!" + err.Error()
		}
		if reply != nil {
			replies = append(replies, cmp.Or(fmt.Sprint(reply), "nothing"))
		}
		words = nil
	}
	return strings.Join(replies, ", ")
}

// runScenes runs the sections of files: in makes the world of one, and plays it there by what a line does.
func runScenes(t *testing.T, path string,
	in func(t *testing.T, play func(do func(words []string) (reply any, err error))),
) {
	t.Helper()
	files, err := scenario.Glob(path)
	require.NoError(t, err)
	for _, f := range files {
		for _, section := range f.Sections {
			t.Run(section.Title, func(t *testing.T) {
				in(t, func(do func([]string) (any, error)) {
					c := scenario.AnsweringText(func(args [][]byte) string { return answer(do, args) })
					r := scenario.Runner{Dial: func(string) (scenario.Client, error) { return c, nil }}
					for _, fault := range r.Run(section).Faults() {
						t.Error(fault)
					}
					synctest.Wait()
				})
			})
		}
	}
}

// A scene is a section of testdata/scenes: a source, and its peers by their names.
type scene struct {
	*source
	peers   map[string]*peer
	changed <-chan struct{} // of the last acked
	readers map[string]*sceneReader
	ids     []string // that were shown, or are known
}

func TestScenes(t *testing.T) {
	runScenes(t, "testdata/scenes/*.cases", func(t *testing.T, play func(func([]string) (any, error))) {
		bubble(t, func(_ *testing.T, s *source) {
			play((&scene{
				source: s, peers: map[string]*peer{}, readers: map[string]*sceneReader{},
				ids: []string{idA, idB},
			}).do)
		})
	})
}

// do runs a line about the source, a peer or a reader.
func (s *scene) do(words []string) (reply any, err error) {
	number := func(i int) (n int64) {
		if len(words) > i {
			n, _ = strconv.ParseInt(words[i], 10, 64) // 0 for a word
		}
		return n
	}
	name := words[0]
	switch second := append(words, "")[1]; {
	case s.peers[name] != nil || second == "attach":
		words = words[1:]
		return s.ofPeer(name, words, number)
	case s.readers[name] != nil || second == "here" || second == "from":
		return s.ofReader(name, words[1:])
	}
	return s.ofMaster(words, number)
}

// truth is a reply of yes or no.
func truth(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// ofMaster runs a line about the source. Times are in seconds.
func (s *scene) ofMaster(words []string, number func(i int) int64) (reply any, _ error) {
	n := number(1)
	switch words[0] {
	case "SET":
		s.write(strings.Join(words, " "))
	case "tick":
		s.tick()
	case "later":
		s.later(n * second)
	case "gate": // a snapshot waits before its end
		s.gate = make(chan struct{})
	case "open":
		s.openGate()
	case "delay":
		s.settings.SyncDelayUs = n * second
	case "expect":
		s.settings.SyncReplicas = int(n)
	case "hard":
		s.settings.HardBytes = n
	case "soft":
		s.settings.SoftBytes, s.settings.SoftUs = n, number(2)*second
	case "ttl":
		s.settings.BacklogTTLUs = n * second
	case "padding": // makes copies larger
		s.padding = int(n)
	case "fail":
		s.fail, s.failSoon = errors.New("out of luck"), words[1] == "soon"
		if words[1] == "never" {
			s.fail = nil
		}
	case "activate":
		s.stream.Activate()
	case "following":
		s.stream.SetFollowing(words[1] == "yes")
	case "size":
		s.stream.SetSize(n)
	case "text": // is added to the stream
		s.stream.Follow([]byte(pattern(int(n))), 0)
	case "close":
		s.Close()
	case "copies":
		reply = s.copies
	case "copying":
		reply = truth(s.Master.copies.stop != nil)
	case "active":
		reply = truth(s.stream.Active())
	case "name":
		reply = position(s.stream)
	case "offset":
		reply = s.stream.Position().Offset
	case "more": // what is kept for replicas alone
		_, reply = s.stream.Memory()
	case "attached":
		reply = len(s.Replicas())
	case "counts":
		full, partial, refused := s.Counts()
		reply = fmt.Sprintf("%d full, %d partial, %d refused", full, partial, refused)
	case "good":
		reply = s.Good(s.now.now(), n*second)
	case "acked":
		reply, s.changed = s.Acked(n)
	case "changed": // since acked
		reply = truth(isClosed(s.changed))
	default:
		return s.ofStream(words, number)
	}
	return reply, nil
}

var kinds = map[string]Said{
	"modern": modern, "ancient": ancient, "sync": {SYNC: true}, "rdb": {EOF: true, PSYNC2: true, RDB: true},
}

// ofPeer runs a line about a replica.
func (s *scene) ofPeer(name string, words []string, number func(i int) int64) (reply any, err error) {
	p := s.peers[name]
	switch words[0] {
	case "attach": // a kind; "at" an offset or "of another" history; "full" of so many bytes
		from, full := nowhere, 0
		for i, word := range words {
			switch word {
			case "at":
				from = Position{position(s.stream), number(i + 1)}
			case "of":
				from = Position{idB, 3}
			case "full":
				full = int(number(i + 1))
			}
		}
		s.peers[name] = s.attach(from, kinds[words[1]], full)
	case "got":
		reply = strings.ReplaceAll(shown(p.got()), position(s.stream), "ID")
	case "drain":
		p.got()
	case "read": // so many bytes
		b := make([]byte, number(1))
		for n := 0; n < len(b); {
			m, _ := p.conn.Read(b[n:])
			n += m
		}
	case "ack":
		p.ack(number(1))
	case "heard":
		p.Heard(s.now.now())
	case "leave":
		p.leave()
	case "state":
		reply = p.Status().State
	case "offset":
		reply = p.Status().Offset
	case "error":
		reply = fmt.Sprint(p.err)
	case "killed":
		reply = truth(p.killed)
	case "ended":
		reply = truth(p.ended)
	default:
		err = errors.New("no word of a replica's")
	}
	return reply, err
}

// shown formats what a replica was sent: commands by their words, and a dot for each empty line, except
// before a copy: when it begins is a matter of the scheduler's.
func shown(sent string) string {
	var out []string
	dots := ""
	for sent != "" {
		line, rest, _ := strings.Cut(sent, "\r\n")
		switch sent[0] {
		case '\n':
			dots += "."
			sent = sent[1:]
			continue
		case '+':
			out, sent = append(out, line[1:]), rest
		case '$':
			form, keys, found := "sized", "", true
			if mark, marked := strings.CutPrefix(line, "$EOF:"); marked {
				form = "marked"
				keys, sent, found = strings.Cut(rest, mark)
			} else if n, _ := strconv.Atoi(line[1:]); n <= len(rest) {
				keys, sent = rest[:n], rest[n:]
			}
			whole, ok := strings.CutSuffix(keys, copyEnd)
			if !found || !ok {
				return strings.Join(append(out, "half a copy"), "; ")
			}
			whole = strings.TrimRight(strings.TrimPrefix(whole, copyHead), "x")
			out = append(out, form+" copy of ["+shown(whole)+"]")
		case '*':
			p := parser{in: bufio.NewReader(strings.NewReader(sent))}
			cmd, err := p.next()
			if err != nil {
				return strings.Join(append(out, err.Error()), "; ")
			}
			out, sent = append(out, dots+lineOf(cmd.args)), sent[len(cmd.raw):]
		default:
			_, after, found := strings.Cut(sent, copyEnd)
			if !found {
				return strings.Join(append(out, "..."), "; ")
			}
			out = append(out, "end of the copy")
			if sent = after; sent != "" && sent[0] != '*' {
				sent = sent[40:] // its mark
			}
		}
		dots = ""
	}
	if dots != "" {
		out = append(out, dots)
	}
	return strings.Join(out, "; ")
}
