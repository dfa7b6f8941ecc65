package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/cases, in the format of package scenario, against sessions of an engine. The
// connection "remote" is from another machine, "owner" is the program's, "v1" to "v9" are from machines of
// their own, and nothing ends "unending". Directives of the test's own:
//
//	@tick N      N ticks of the engine
//	@reclaim     what has expired is reclaimed
//	@batch B     the batch of commands of connection B has ended
//	@left        the ids of the clients that nobody has killed
//	@logged      what the log got, @groups in how many groups
//	@timeout B   what connection B waits for has not come in time
//	@held B      connection B waits, and its turn has not come
func TestCases(t *testing.T) {
	files, err := scenario.Glob("testdata/cases/*.cases",
		"tick", "reclaim", "timeout", "left", "batch", "logged", "groups", "held")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				p := newCasePlayer(t, s)
				for _, fault := range p.Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// A casePlayer runs a section against sessions of an engine.
type casePlayer struct {
	scenario.Runner
	e       *engine.Engine
	hands   *hands
	clients map[string]*caseClient
	log     logBuffer
}

func newCasePlayer(t *testing.T, s scenario.Section) *casePlayer {
	p := &casePlayer{clients: map[string]*caseClient{}}
	p.e, p.hands = newEngine(t, s.Directives...)
	p.Protocol = s.Protocol
	if slices.ContainsFunc(s.Steps, func(st scenario.Step) bool {
		return st.Line == "@logged" || st.Line == "@groups"
	}) {
		p.e.Record(&p.log)
	}
	p.Dial = func(name string) (scenario.Client, error) {
		p.clients[name] = newCaseClient(p.e, name)
		return p.clients[name], nil
	}
	p.SetClock = func(nowMs int64) error {
		p.hands.us = (nowMs - startNowMs) * 1000
		return nil
	}
	p.Own = map[string]func(string) ([]byte, error){
		"tick": func(text string) ([]byte, error) {
			n, err := strconv.Atoi(text)
			for range n {
				p.e.Tick()
			}
			return nil, err
		},
		"reclaim": func(string) ([]byte, error) { p.e.Reclaim(); return nil, nil },
		"batch": func(name string) ([]byte, error) {
			c := p.clients[name]
			if c == nil {
				return nil, fmt.Errorf("no connection %s", name)
			}
			c.Publish(engine.Buffers{})
			return nil, nil
		},
		"left": func(string) ([]byte, error) {
			c := newCaseClient(p.e, "unending")
			defer c.Close()
			_ = c.Send(args("CLIENT LIST"))
			list, err := c.Reply()
			var ids []string
			for _, c := range p.clients {
				id := strconv.FormatInt(c.ID(), 10)
				if bytes.Contains(list, []byte("\nid="+id+" ")) && !c.Closing() {
					ids = append(ids, id)
				}
			}
			slices.Sort(ids)
			return fmt.Appendf(nil, "+%s\r\n", strings.Join(ids, " ")), err
		},
		"logged": func(string) ([]byte, error) {
			text := strings.Join(logLines(t, p.log.take()), "; ")
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), nil
		},
		"groups": func(string) ([]byte, error) {
			n := p.log.groups
			p.log.groups = 0
			return fmt.Appendf(nil, ":%d\r\n", n), nil
		},
		"held": func(name string) ([]byte, error) {
			c := p.clients[name]
			if c == nil || c.Blocked() == nil || c.Blocked().Over() {
				return nil, fmt.Errorf("%q is not held", name)
			}
			return nil, nil
		},
		"timeout": func(name string) ([]byte, error) {
			c := p.clients[name]
			if c == nil || c.Blocked() == nil {
				return nil, fmt.Errorf("%q does not wait", name)
			}
			c.Blocked().TimeOut()
			return nil, nil
		},
	}
	return p
}

// A caseClient is a session as a client of scenarios.
type caseClient struct {
	*engine.Session
	out []byte // what was sent to the client and not read
}

func newCaseClient(e *engine.Engine, name string) *caseClient {
	peer := engine.Peer{Addr: "127.0.0.1:1", LocalAddr: "127.0.0.1:6379", Local: true, Kill: func() {}}
	switch number, visits := strings.CutPrefix(name, "v"); {
	case name == "remote":
		peer = engine.Peer{Addr: "192.0.2.1:1", LocalAddr: "192.0.2.2:6379"}
	case name == "owner":
		peer = engine.Peer{Owner: true}
	case name == "unending":
		peer = engine.Peer{Addr: "192.0.2.9:1000"}
	case visits && len(number) == 1 && number >= "1" && number <= "9":
		peer.Addr, peer.Local = "192.0.2."+number+":1000", false
		if number[0]%2 == 0 {
			peer.LocalAddr = "127.0.0.1:6380"
		}
	}
	return &caseClient{Session: e.NewSession(peer)}
}

func (c *caseClient) Send(args [][]byte) error {
	reply := c.Do(args)
	c.out = resp.Append(c.out, &reply, c.Proto())
	return nil
}

func (c *caseClient) SendRaw([]byte) error { return errors.New("a session takes no bytes") }

func (c *caseClient) Reply() ([]byte, error) {
	if len(c.Unread()) == 0 {
		return nil, errors.New("there is no reply")
	}
	reply, err := scenario.ReadReply(bufio.NewReader(bytes.NewReader(c.out)), nil)
	c.out = c.out[len(reply):]
	return reply, err
}

func (c *caseClient) Rest() ([]byte, error) {
	if rest := c.Unread(); c.Closing() {
		return rest, nil
	}
	return nil, errors.New("the session goes on")
}

// Unread includes the reply of a wait that has ended, and messages that have come since the last command.
func (c *caseClient) Unread() []byte {
	if b := c.Blocked(); b != nil && b.Over() {
		reply := c.Resume()
		c.out = resp.Append(c.out, &reply, c.Proto())
	}
	var lost int
	if c.out, lost = c.Deliver(c.out); lost > 0 {
		return fmt.Appendf(nil, "%d bytes are lost", lost)
	}
	return c.out
}

func (c *caseClient) Close() error { c.Session.Close(); return nil }
