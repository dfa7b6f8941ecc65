package engine_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
)

// TestCases runs testdata/cases, in the format of package scenario, against sessions of an engine. The
// connection "remote" is from another machine, "owner" is the program's, "v1" to "v9" are from machines of
// their own, as are those whose names go on behind that, such as "v1x", and nothing ends "unending".
// Directives of the test's own:
//
//	@tick N      N ticks of the engine
//	@reclaim     what has expired is reclaimed
//	@timers      the engine has timers, which end as the clock moves
//	@batch B     the batch of commands of connection B has ended
//	@memory B N  so, and its buffers take N bytes, @memory B N QUERY FREE: QUERY of them and FREE are qbuf's
//	@output B N  N bytes more wait for connection B
//	@lost B      the bytes of messages that connection B has lost, which ends it
//	@hold B      connection B has published in a script that goes on, up to @release B
//	@left        the ids of the clients that nobody has killed
//	@logged      what the log got, @groups in how many groups
//	@timeout B   what connection B waits for has not come in time
//	@most B      the milliseconds for which connection B waits at most
//	@held B      connection B waits, and its turn has not come
//	@step US     from now on each reading of the clock moves it by US microseconds
//	@disk        the engine has a directory, in memory
//	@stop        the engine closes
//	@start ARGS  another one loads what it has left, with these directives or those of the section
//	@open ARGS   so, but it does not load; @load does
//	@put FILE B  the disk has a file of these bytes
//	@fault K F   operations of kind K fail on files whose names contain F, as on a full disk; none do if
//	             nothing is said
//	@files       the names of the disk's files
//	@file F B    the file F in $DIR, a directory of the system's, has these bytes
//	@text F      the bytes of that file
//	@remove F    it is removed
//	@modes       the names in $DIR with their modes
//	@until TEXT  INFO persistence contains the text
//	@durable B   what connection B has written is on disk
//	@await B     so, in some seconds
//	@counted     the memory of the keyspace is that of a recount
//	@said        the lines of the server's log since the last time; SHUTDOWN, which sections without it do
//	             not have, adds "shutdown"
//	@run B CMD   connection B runs a script that does not end; the others are told so. Each reading of the
//	             clock moves it by a tenth of a second
//	@ran         the reply of that script
//	@ending      the engine ends scripts
//	@prepare     what a signal does before the engine ends; @insist is a second signal, @signal saves only
func TestCases(t *testing.T) {
	race.OneGoroutine(t)
	files, err := scenario.Glob("testdata/cases/*.cases",
		"tick", "reclaim", "timeout", "left", "batch", "logged", "groups", "held", "most", "step", "disk",
		"stop", "start", "open", "load", "put", "fault", "files", "until", "durable", "file", "text",
		"remove", "modes", "timers", "memory", "output", "lost", "await", "counted", "said", "run", "ran",
		"ending", "prepare", "insist", "signal", "hold", "release")
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
	disk    *crashdisk.Disk // nil: none
	timers  []*timer
	timed   bool // the engine has timers
	owned   bool // SHUTDOWN is possible
	said    []string
	mu      sync.Mutex // protects said
	ran     chan []byte
	running bool
}

type timer struct {
	atUs int64
	fn   func() // nil: it is stopped
}

// after is engine.Options.After.
func (p *casePlayer) after(ms int64, fn func()) (stop func()) {
	one := &timer{p.hands.us.Load() + ms*1000, fn}
	p.timers = append(p.timers, one)
	return func() { one.fn = nil }
}

// runTimers runs the timers that are due.
func (p *casePlayer) runTimers() {
	all := p.timers
	p.timers = nil
	for _, one := range all {
		if one.atUs > p.hands.us.Load() {
			p.timers = append(p.timers, one)
		} else if one.fn != nil {
			one.fn()
		}
	}
}

func newCasePlayer(t *testing.T, s scenario.Section) *casePlayer {
	p := &casePlayer{clients: map[string]*caseClient{}, hands: &hands{}, ran: make(chan []byte, 1)}
	uses := func(lines ...string) bool {
		return slices.ContainsFunc(s.Steps, func(st scenario.Step) bool {
			return slices.Contains(lines, st.Line)
		})
	}
	if uses("@disk", "@stop", "@fault") {
		p.disk = crashdisk.New(1)
	}
	p.owned, p.timed = uses("@said"), uses("@timers")
	require.NoError(t, p.restart(t, s.Directives))
	t.Cleanup(func() {
		if p.running {
			p.e.End()
			<-p.ran
		}
		if p.disk != nil {
			require.NoError(t, p.e.Close())
		}
	})
	p.Protocol = s.Protocol
	if uses("@logged", "@groups") {
		p.e.Record(&p.log)
	}
	p.Dial = func(name string) (scenario.Client, error) { return p.client(name), nil }
	p.SetClock = func(nowMs int64) error {
		p.hands.us.Store((nowMs - startNowMs) * 1000)
		p.runTimers()
		return nil
	}
	split := func(text string) []string {
		if text == "" {
			return s.Directives
		}
		f, err := scenario.Read("== x\n@directives " + text)
		require.NoError(t, err)
		return f.Sections[0].Directives
	}
	nothing := func(do func()) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { do(); return nil, nil }
	}
	fails := func(do func() error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) {
			err := do()
			if err == nil {
				return nil, nil
			}
			return fmt.Appendf(nil, "!%d\r\n%v\r\n", len(err.Error()), err), nil
		}
	}
	numbers := func(do func(c *caseClient, n [3]int)) func(string) ([]byte, error) {
		return func(text string) ([]byte, error) {
			var n [3]int
			name, list, _ := strings.Cut(text, " ")
			_, err := fmt.Sscan(list+" 0 0 0", &n[0], &n[1], &n[2])
			do(p.client(name), n)
			return nil, err
		}
	}
	shown := func(texts *[]string) func(string) ([]byte, error) {
		return func(string) ([]byte, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			text := strings.Join(*texts, "; ")
			*texts = nil
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), nil
		}
	}
	p.Own = map[string]func(string) ([]byte, error){
		"tick": func(text string) ([]byte, error) {
			n, err := strconv.Atoi(text)
			for range n {
				p.e.Tick()
			}
			return nil, err
		},
		"reclaim": nothing(func() { p.e.Reclaim() }),
		"step": func(text string) ([]byte, error) {
			us, err := strconv.ParseInt(text, 10, 64)
			p.hands.step.Store(us)
			return nil, err
		},
		"disk":   nothing(func() {}),
		"timers": nothing(func() {}),
		"memory": numbers(func(c *caseClient, n [3]int) {
			c.Publish(engine.Buffers{Memory: n[0], Query: n[1], QueryFree: n[2]})
		}),
		"output":  numbers(func(c *caseClient, n [3]int) { c.CountOutput(n[0]) }),
		"hold":    numbers(func(c *caseClient, _ [3]int) { c.Hold() }),
		"release": numbers(func(c *caseClient, _ [3]int) { c.LetGo() }),
		"lost": func(name string) ([]byte, error) {
			c := p.client(name)
			_, lost := c.Deliver(nil)
			if lost > 0 && !c.Ready() {
				return nil, errors.New("its connection is not told")
			}
			c.closed = lost > 0
			return fmt.Appendf(nil, ":%d\r\n", lost), nil
		},
		"file": func(text string) ([]byte, error) {
			if p.Vars["DIR"] == "" {
				p.Vars["DIR"] = t.TempDir()
			}
			words, err := scenario.Words(text)
			if err != nil {
				return nil, err
			}
			path := filepath.Join(p.Vars["DIR"], string(words[0]))
			err = os.MkdirAll(filepath.Dir(path), 0o700)
			return nil, errors.Join(err, os.WriteFile(path, words[1], 0o640))
		},
		"text": func(name string) ([]byte, error) {
			text, err := os.ReadFile(filepath.Join(p.Vars["DIR"], name))
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), err
		},
		"remove": func(name string) ([]byte, error) {
			return nil, os.RemoveAll(filepath.Join(p.Vars["DIR"], name))
		},
		"modes": func(string) ([]byte, error) {
			entries, err := os.ReadDir(p.Vars["DIR"])
			var lines []string
			for _, entry := range entries {
				info, infoErr := entry.Info()
				if err = errors.Join(err, infoErr); infoErr == nil {
					lines = append(lines, fmt.Sprint(info.Mode(), " ", entry.Name()))
				}
			}
			reply, _ := shown(&lines)("")
			return reply, err
		},
		"stop": fails(func() error {
			for _, c := range p.clients {
				c.Session.Close()
			}
			return p.e.Close()
		}),
		"start": func(text string) ([]byte, error) {
			return fails(func() error { return p.restart(t, split(text)) })("")
		},
		"open": func(text string) ([]byte, error) {
			return fails(func() error { return p.start(t, split(text)) })("")
		},
		"load": fails(p.load),
		"put": func(text string) ([]byte, error) {
			words := split(text)
			p.disk.Put(words[0], []byte(words[1]))
			return nil, nil
		},
		"fault": func(text string) ([]byte, error) {
			if kind, part, ok := strings.Cut(text, " "); ok {
				full(p.disk, crashdisk.Kind(kind), part)
			} else {
				p.disk.Hook(nil)
			}
			return nil, nil
		},
		"files": func(string) ([]byte, error) {
			names := p.disk.Names()
			return shown(&names)("")
		},
		"until": func(text string) ([]byte, error) {
			asker := newCaseClient(p.e, "")
			defer asker.Close()
			for !strings.Contains(do(asker.Session, "INFO persistence"), text) {
				runtime.Gosched()
			}
			return nil, nil
		},
		"durable": func(name string) ([]byte, error) {
			return fails(p.client(name).WaitDurable)("")
		},
		"await": func(name string) ([]byte, error) {
			for p.client(name).WaitDurable() != nil {
				p.hands.pass(1000)
				p.e.Tick()
			}
			return nil, nil
		},
		"counted": fails(func() error {
			if counted, found := p.e.CountedMemory(); counted != found {
				return fmt.Errorf("%+v are counted, there are %+v", counted, found)
			}
			return nil
		}),
		"said": shown(&p.said),
		"run": func(text string) ([]byte, error) {
			name, line, _ := strings.Cut(text, " ")
			words, err := scenario.Words(line)
			if err != nil {
				return nil, err
			}
			c, other := p.client(name), newCaseClient(p.e, "")
			defer other.Close()
			p.hands.step.Store(100_000)
			p.running = true
			go func() {
				reply := c.Do(words)
				p.ran <- resp.Append(nil, &reply, c.Proto())
			}()
			for !strings.HasPrefix(do(other.Session, "get k"), "BUSY") {
				runtime.Gosched() // it has not begun
			}
			return nil, nil
		},
		"ran":     func(string) ([]byte, error) { p.running = false; return <-p.ran, nil },
		"ending":  nothing(func() { p.e.End() }),
		"prepare": fails(func() error { return p.e.PrepareShutdown(nil) }),
		"insist": fails(func() error {
			insist := make(chan struct{})
			close(insist)
			return p.e.PrepareShutdown(insist)
		}),
		"signal": fails(func() error { return p.e.SaveAtSignal() }),
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
			lines := logLines(t, p.log.take())
			return shown(&lines)("")
		},
		"groups": func(string) ([]byte, error) {
			n := p.log.groups
			p.log.groups = 0
			return fmt.Appendf(nil, ":%d\r\n", n), nil
		},
		"held": func(name string) ([]byte, error) {
			p.runTimers()
			c := p.clients[name]
			if c == nil || c.Blocked() == nil || c.Blocked().Over() {
				return nil, fmt.Errorf("%q is not held", name)
			}
			return nil, nil
		},
		"most": func(name string) ([]byte, error) {
			c := p.client(name)
			c.Unread() // its turn may have come to wait for something else
			if c.Blocked() == nil {
				return nil, fmt.Errorf("%q does not wait", name)
			}
			return fmt.Appendf(nil, ":%d\r\n", c.Blocked().TimeoutMs()), nil
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

// start makes the engine, over the disk if there is one.
func (p *casePlayer) start(t *testing.T, directives []string) error {
	o := engine.Options{
		Log:  logging.Func(p.say),
		Dial: func(string, <-chan struct{}) (io.ReadWriteCloser, error) { return nil, io.EOF },
	}
	if p.disk != nil {
		o.Disk = p.disk.FS()
	}
	if p.timed {
		o.After = p.after
	}
	if p.owned || p.disk != nil {
		o.Shutdown = func() { p.say("shutdown") }
	}
	p.e = newEngineBy(t, p.hands, o, directives...)
	for name, c := range p.clients {
		*c = *p.newClient(name)
	}
	if p.disk == nil {
		return nil
	}
	return p.e.Open()
}

func (p *casePlayer) restart(t *testing.T, directives []string) error {
	if err := p.start(t, directives); err != nil {
		return err
	}
	return p.load()
}

func (p *casePlayer) load() error {
	if p.disk == nil {
		return nil
	}
	return p.e.Load(func() {})
}

func (p *casePlayer) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, line)
}

// client returns the client with a name that is used or is to be.
func (p *casePlayer) client(name string) *caseClient {
	c := p.clients[name]
	if c == nil || name == "" || c.closed {
		c = p.newClient(name)
		p.clients[name] = c
	}
	return c
}

func (p *casePlayer) newClient(name string) *caseClient {
	c := newCaseClient(p.e, name)
	c.waits, c.due = p.disk != nil, p.runTimers
	return c
}

// A caseClient is a session as a client of scenarios.
type caseClient struct {
	*client
	out    []byte // what was sent to the client and not read
	in     bufio.Reader
	waits  bool // for replies that come later
	closed bool
	due    func() // runs the timers that are due
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
	case visits && number != "" && number[0] >= '1' && number[0] <= '9':
		peer.Network = "192.0.2." + number[:1]
		peer.Addr, peer.Local = peer.Network+":1000", false
		if number[0]%2 == 0 {
			peer.LocalAddr = "127.0.0.1:6380"
		}
	}
	return &caseClient{client: newClient(e, peer), due: func() {}}
}

func (c *caseClient) Send(args [][]byte) error {
	c.due()
	reply := c.Do(args)
	c.out = resp.Append(c.out, &reply, c.Proto())
	return nil
}

func (c *caseClient) SendRaw([]byte) error { return errors.New("a session takes no bytes") }

func (c *caseClient) Reply() ([]byte, error) {
	for len(c.Unread()) == 0 {
		if b := c.Blocked(); b == nil || !c.waits {
			return nil, errors.New("there is no reply")
		}
		<-c.woken
	}
	c.in.Reset(bytes.NewReader(c.out))
	reply, err := scenario.ReadReply(&c.in, nil)
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
	c.due()
	if c.closed {
		return nil
	}
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

func (c *caseClient) Close() error { c.Session.Close(); c.closed = true; return nil }
