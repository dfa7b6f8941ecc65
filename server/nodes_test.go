package server_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/testca"
)

// A nodesRun is the servers of a section of testdata/nodes, and the connections to them.
type nodesRun struct {
	*fabric
	named map[string]*node
	wires map[string]*wire
	dirs  map[string]string
	vars  map[string]string // of the section
	// histories are the ids that @history has seen.
	histories []string
	streams   map[string]bool // connections that have sent PSYNC: a copy comes at any time
}

// A nodeClient is a connection by its name. If the server has ended, its next use is one to another.
type nodeClient struct {
	run  *nodesRun
	name string
}

func (c nodeClient) wire() wireClient { return wireClient{c.run.wire(c.name)} }

func (c nodeClient) Send(args [][]byte) error {
	if string(args[0]) == "PSYNC" {
		c.run.streams[c.name] = true
	}
	return c.wire().Send(args)
}

func (c nodeClient) SendRaw(b []byte) error { return c.wire().SendRaw(b) }
func (c nodeClient) Reply() ([]byte, error) { return c.wire().Reply() }
func (c nodeClient) Rest() ([]byte, error)  { return c.wire().Rest() }

func (c nodeClient) Unread() []byte {
	if w := c.run.wires[c.name]; w != nil && !c.run.streams[c.name] {
		return wireClient{w}.Unread()
	}
	return nil
}

func (c nodeClient) Close() error {
	w := c.run.wires[c.name]
	delete(c.run.wires, c.name)
	if w == nil {
		return nil
	}
	return w.conn.Close()
}

// node returns the server of a connection: the name without the digit at its end.
func (r *nodesRun) node(name string) *node {
	r.t.Helper()
	n := r.named[strings.TrimRight(name, "0123456789")]
	require.NotNil(r.t, n, "there is no server for %s", name)
	return n
}

func (r *nodesRun) wire(name string) *wire {
	r.t.Helper()
	if r.wires[name] == nil {
		r.wires[name] = r.node(name).dial(r.t)
	}
	return r.wires[name]
}

// start starts a server: its name, its kind, perhaps the name of a directory behind "on", and directives. One
// that has ended keeps its clocks.
func (r *nodesRun) start(text string) {
	var words []string
	for _, word := range wordsOf(r.t, text) {
		words = append(words, string(word))
	}
	name, k, directives := words[0], kind(words[1]), words[2:]
	var on disk.FS
	if len(directives) > 0 && directives[0] == "on" {
		if r.dirs[directives[1]] == "" {
			r.dirs[directives[1]] = r.t.TempDir()
		}
		dir := r.dirs[directives[1]]
		on, directives = disk.OS(dir), append([]string{"--dir", dir}, directives[2:]...)
	}
	r.ahead = 0
	if before := r.named[name]; before != nil {
		r.ahead = time.Duration(before.extra.Load()) * time.Microsecond
	}
	r.named[name] = r.nodeOn(k, on, directives...)
	r.wires[name] = r.named[name].wire
	_, r.vars[name] = r.named[name].hostPort()
}

func (r *nodesRun) stop(name string) {
	n := r.node(name)
	r.nodes = slices.DeleteFunc(r.nodes, func(other *node) bool { return other == n })
	for conn := range r.wires {
		if r.node(conn) == n {
			delete(r.wires, conn)
		}
	}
	n.end()
}

// history returns the number of a history's id.
func (r *nodesRun) history(id string) int {
	if strings.Trim(id, "0") == "" {
		return 0
	}
	if !slices.Contains(r.histories, id) {
		r.histories = append(r.histories, id)
	}
	return 1 + slices.Index(r.histories, id)
}

// jump moves clocks ahead, of redis-server if they are held.
func (r *nodesRun) jump(n *node, d time.Duration) {
	if n.kind == ours || r.held {
		n.jump(r.t, d)
	}
}

var untilText = regexp.MustCompile(`(?s)^/(.+)/ ([A-Za-z0-9]+): (.+)$`)

// untilReply sends a command until its reply matches. Clocks of ours that may, move ahead meanwhile: by a
// jump for each attempt. Beside a redis-server, which confirms what it has once a second of its own, they
// move only ten times as fast as it does: its silence would pass for an end. The same goes for the release.
func (r *nodesRun) untilReply(text string, jump time.Duration) {
	m := untilText.FindStringSubmatch(text)
	require.NotNil(r.t, m, "%s: want /RE/ NAME: CMD", text)
	re := regexp.MustCompile("(?m)" + m[1])
	w := r.wire(m[2])
	beside := slices.ContainsFunc(r.nodes, func(n *node) bool { return n.srv == nil })
	last := time.Now()
	r.until(func() bool {
		d := jump
		if now := time.Now(); beside && jump > 0 {
			d, last = 10*now.Sub(last), now
		}
		for _, n := range r.nodes {
			r.jump(n, d)
		}
		return re.MatchString(doLine(r.t, w, m[3]))
	}, "%s", text)
}

// TestNodes runs testdata/nodes, in the format of package scenario, on servers of both kinds.
// Before the colon of a line is the name of a server, or with a digit behind it, of another connection to it.
// $NAME is a server's port. Directives of the test's own:
//
//	@held                   the clocks stand, but for jumps
//	@start NAME KIND [on DIR] [DIRECTIVES]  a server, zlimit, redis or (TestReleases) 0.1.0, with the files
//	                        of a directory
//	@stop NAME              it ends
//	@follow A B             A is made a replica of B, and gets everything
//	@caughtup A B           A gets what B had done
//	@same A B               A gets what B had done, and holds what B does
//	@functions A B          they have the same libraries
//	@restore A B KEY ...    A gets keys from B by RESTORE
//	@fill NAME PREFIX       keys of all types
//	@effects NAME           commands whose effects must not be computed again
//	@until /RE/ NAME: CMD   the command is sent, with periodic work between, until its reply matches
//	@hurry /RE/ NAME: CMD   so, while the clocks of ours move
//	@await NAME             the next reply, with periodic work until it comes; EOF at the connection's end
//	@cut NAME               the connection ends, whatever is unread
//	@halfclose NAME         it ends in one direction
//	@remove DIR             the directory is no longer there
//	@ticks N                periodic work, N times
//	@jump NAME MS           its clocks jump ahead; of a redis-server only held ones
//	@pass NAME MS           time passes at a server
//	@certificates           $CERT, $KEY, $CA and others; $TLS are the directives with them, $UPSTREAM a
//	                        gateway's
//	@listen NAME            it listens for TLS at $NAMETLS
//	@tend [NAME ...]        from now on there is periodic work on these only
//	@silent NAME PORT       the connection NAME9 is a replica that confirms nothing, and listens on a port
//	@attach NAME            the connection NAME7 is a replica that has read its copy, and has a small buffer
//	@ends NAME              the connection ends, whatever comes before
//	@sync NAME              the connection NAME8 is a replica that has sent SYNC and read the copy
//	@stream NAME            the next command of the stream that comes in there, but for pings
//	@deaf                   $deaf is a port that accepts nothing
//	@id NAME                the id of its history
//	@next NAME              its offset and one
//	@holds NAME             what it holds
//	@counts NAME            how many copies and continuations it has begun as a master
//	@history NAME           its history and the one before, numbered as they are seen; 0: none
func TestNodes(t *testing.T) {
	t.Parallel()
	runNodes(t, "testdata/nodes/*.cases", "")
}

// runNodes runs the sections of files. release is the program of such servers.
func runNodes(t *testing.T, pattern, release string) {
	words := slices.Collect(maps.Keys(newNodesRun(t).directives()))
	files, err := scenario.Glob(pattern, words...)
	require.NoError(t, err)
	for _, f := range files {
		alone := map[int]bool{} // lines at which a section begins, of those without a redis-server
		for _, s := range f.Sections {
			if !runs(s, "redis") {
				alone[s.Steps[0].Number] = true
			}
		}
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) {
				if race.Enabled && runs(s, "redis") && (alone[s.Steps[0].Number] || !runs(s, "zlimit")) {
					t.Skip("the race detector finds nothing in redis-server; make test runs it")
				}
				t.Parallel()
				run := newNodesRun(t)
				run.release = release
				r := scenario.Runner{
					Protocol: s.Protocol,
					Vars:     run.vars,
					Own:      map[string]func(string) ([]byte, error){},
					Dial: func(name string) (scenario.Client, error) {
						return nodeClient{run, name}, nil
					},
				}
				for name, do := range run.directives() {
					r.Own[name] = func(text string) ([]byte, error) {
						return []byte(do(text, strings.Fields(text))), nil
					}
				}
				for _, fault := range r.Run(s).Faults() {
					t.Error(fault)
				}
			})
		}
	}
}

// runs reports whether a server of a section is of a kind.
func runs(s scenario.Section, kind string) bool {
	return slices.ContainsFunc(s.Steps, func(step scenario.Step) bool {
		return strings.HasPrefix(step.Line, "@start ") && strings.Contains(step.Line+" ", " "+kind+" ")
	})
}

func newNodesRun(t *testing.T) *nodesRun {
	return &nodesRun{
		fabric: newFabric(t), named: map[string]*node{}, wires: map[string]*wire{}, dirs: map[string]string{},
		streams: map[string]bool{},
		vars:    map[string]string{},
	}
}

// directives are the test's own. They return what is compared like a reply.
func (r *nodesRun) directives() map[string]func(text string, words []string) string {
	quiet := func(do func(text string)) func(string, []string) string {
		return func(text string, _ []string) string { do(text); return "" }
	}
	two := func(do func(a, b *node)) func(string, []string) string {
		return func(_ string, words []string) string {
			do(r.node(words[0]), r.node(words[1]))
			return ""
		}
	}
	timed := func(do func(n *node, d time.Duration)) func(string, []string) string {
		return func(_ string, words []string) string {
			ms, err := strconv.Atoi(words[1])
			require.NoError(r.t, err)
			do(r.node(words[0]), time.Duration(ms)*time.Millisecond)
			return ""
		}
	}
	return map[string]func(text string, words []string) string{
		"held":      quiet(func(string) { r.held = true }),
		"start":     quiet(r.start),
		"stop":      quiet(r.stop),
		"follow":    two(r.follow),
		"caughtup":  two(r.caughtUp),
		"same":      two(r.requireSame),
		"functions": two(func(a, b *node) { requireSameFunctions(r.t, a, b) }),
		"restore": func(_ string, words []string) string {
			r.restore(r.node(words[0]), r.node(words[1]), words[2:])
			return ""
		},
		"jump": timed(r.jump),
		"pass": timed(r.pass),
		"fill": func(_ string, words []string) string {
			r.node(words[0]).fill(r.t, pairingKeys(words[1])...)
			return ""
		},
		"effects": quiet(func(name string) {
			for _, line := range pairingEffects {
				r.node(name).do(r.t, line)
			}
		}),
		"until": quiet(func(text string) { r.untilReply(text, 0) }),
		"hurry": quiet(func(text string) { r.untilReply(text, 100*time.Millisecond) }),
		"await": func(name string, _ []string) string {
			if reply := r.await(r.wire(name)); reply != "EOF" {
				return reply + "\r\n"
			}
			return "+EOF\r\n"
		},
		"cut": quiet(func(name string) {
			require.NoError(r.t, r.wire(name).conn.Close())
			delete(r.wires, name)
		}),
		"halfclose": quiet(func(name string) {
			require.NoError(r.t, r.wire(name).conn.(*net.TCPConn).CloseWrite())
		}),
		"remove": quiet(func(dir string) {
			require.NoError(r.t, os.RemoveAll(r.dirs[dir]))
		}),
		"ticks": quiet(func(text string) {
			n, err := strconv.Atoi(text)
			require.NoError(r.t, err)
			for range n {
				r.tick()
			}
		}),
		"certificates": quiet(func(string) { r.certificates() }),
		"listen": quiet(func(name string) {
			r.vars[name+"TLS"] = r.node(name).listenTLS(r.t)
		}),
		"tend": func(_ string, words []string) string {
			r.nodes = nil
			for _, name := range words {
				r.nodes = append(r.nodes, r.node(name))
			}
			return ""
		},
		"silent": func(_ string, words []string) string {
			r.wires[words[0]+"9"] = r.attachSilent(r.node(words[0]), words[1])
			return ""
		},
		"attach": quiet(func(name string) {
			w := r.node(name).dial(r.t)
			require.NoError(r.t, w.conn.(*net.TCPConn).SetReadBuffer(1<<16))
			r.attachOn(r.node(name), w)
			r.wires[name+"7"] = w
		}),
		"ends": quiet(func(name string) { r.wire(name).awaitClose(r.t) }),
		"sync": quiet(func(name string) {
			w := r.wire(name + "8")
			require.NoError(r.t, w.sendRaw([]byte("SYNC\r\n")))
			r.untilReply(`/^slave0:.*state=(send_bulk|online)/ `+name+": INFO replication", 0)
			readCopy(r.t, w)
		}),
		"stream": func(name string, _ []string) string {
			for {
				if reply := r.await(r.wire(name)); !strings.Contains(strings.ToUpper(reply), "\r\nPING") {
					return reply + "\r\n"
				}
			}
		},
		"deaf": quiet(func(string) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(r.t, err)
			r.t.Cleanup(func() { l.Close() })
			_, r.vars["deaf"], _ = net.SplitHostPort(l.Addr().String())
		}),
		"id": func(name string, _ []string) string {
			return "+" + r.node(name).field(r.t, "master_replid") + "\r\n"
		},
		"next": func(name string, _ []string) string {
			return fmt.Sprintf(":%d\r\n", r.node(name).offset(r.t)+1)
		},
		"holds": func(name string, _ []string) string {
			return "+" + strings.Join(r.node(name).holds(r.t), " ") + "\r\n"
		},
		"history": func(name string, _ []string) string {
			fields := r.node(name).info(r.t, "replication")
			return fmt.Sprintf("+%d %d\r\n",
				r.history(fields["master_replid"]), r.history(fields["master_replid2"]))
		},
		"counts": func(name string, _ []string) string {
			full, partial := r.node(name).counts(r.t)
			return fmt.Sprintf("+%s %s\r\n", full, partial)
		},
	}
}

// certificates makes variables of the files of certificates.
func (r *nodesRun) certificates() {
	c := newCertificates(r.t)
	other, err := testca.New("others")
	require.NoError(r.t, err)
	strangers := &certificates{dir: r.t.TempDir(), ca: other}
	cert, key := c.issue(r.t, "client", testca.Leaf{Name: "client"})
	strangerCert, strangerKey := strangers.issue(r.t, "stranger", testca.Leaf{Name: "stranger"})
	late := testca.Leaf{Name: "late", NotAfter: time.Now().Add(-time.Hour)}
	lateCert, lateKey := c.issue(r.t, "late", late)
	maps.Copy(r.vars, map[string]string{
		"CERT": c.cert, "KEY": c.key, "CA": c.caFile, "OTHERCA": c.otherCA,
		"CLIENTCERT": cert, "CLIENTKEY": key, "TLS": strings.Join(c.links(), " "),
		"STRANGER":      "--tls-client-cert-file " + strangerCert + " --tls-client-key-file " + strangerKey,
		"EXPIRED":       "--tls-client-cert-file " + lateCert + " --tls-client-key-file " + lateKey,
		"EXPIREDMASTER": "--tls-cert-file " + lateCert + " --tls-key-file " + lateKey,
		"EXPIREDGATE":   "--upstream-tls-cert-file " + lateCert + " --upstream-tls-key-file " + lateKey,
		"UPSTREAM": "--upstream-tls-ca-cert-file " + c.caFile + " --upstream-tls-cert-file " + c.cert +
			" --upstream-tls-key-file " + c.key + " --upstream-timeout 60000",
	})
}

// attachSilent makes a node have a replica that never confirms anything, and listens on port.
func (f *fabric) attachSilent(master *node, port string) *wire {
	f.t.Helper()
	c, err := net.Dial("tcp", master.addr)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { c.Close() })
	w := newWire(c)
	require.Equal(f.t, "+OK", doLine(f.t, w, "REPLCONF listening-port "+port+" capa eof capa psync2"))
	require.Regexp(f.t, `^\+CONTINUE`,
		doLine(f.t, w, fmt.Sprint("PSYNC ", master.field(f.t, "master_replid"), " ", master.offset(f.t)+1)))
	go func() { // it reads
		buf := make([]byte, 1<<16)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}()
	f.until(func() bool {
		return strings.Contains(master.field(f.t, "slave0"), "port="+port+",state=online")
	})
	return w
}
