package server_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/server"
)

// RL.ALLOW answers the same however it is called: every scenario of testdata/rl runs
// on every path below, over real sockets and with a frozen clock.

// mayChange reports whether the step can change the keyspace. RL commands that are
// refused, denied, or only peek must not.
func (s rlStep) mayChange() bool {
	words := strings.Fields(s.line)
	if strings.HasPrefix(s.want, "ERR ") || strings.HasPrefix(s.want, "WRONGTYPE ") ||
		slices.Contains(words, "PEEK") || strings.HasSuffix(s.line, " COST 0") {
		return false
	}
	switch words[0] {
	case "RL.ALLOW":
		return admittedOne.MatchString(s.want)
	case "RL.MALLOW", "RL.MRESERVE":
		return admittedAll.MatchString(s.want)
	case "CL.THROTTLE", "RL.THROTTLE":
		return !strings.HasPrefix(s.want, "[1 ") && (len(words) != 6 || words[5] != "0")
	case "RL.RESERVE", "RL.ACQUIRE":
		return !strings.HasPrefix(s.want, "[0 ")
	case "INCREX":
		return !strings.HasSuffix(s.want, " 0]")
	case "RL.REFUND", "RL.RESET", "RL.SETTLE", "RL.MSETTLE", "RL.MCANCEL", "RL.RENEW", "RL.RELEASE",
		"RL.ADOPT":
		return s.want != "0"
	case "RL.INFO", "RL.TOP", "RL.SIM", "RL.EXPLAIN":
		return false
	}
	return true // RL.CANCEL too, which settles a hold of which nothing is left with 0
}

// Replies to calls that were admitted: about a key, and about several keys. A wait other than 0 is that of a
// denial, which SHADOW may answer as admitted.
var (
	admittedOne = regexp.MustCompile(`^\[(\d+ \d+ \d+ 0 |.*\bretry_after_ms 0 )`)
	admittedAll = regexp.MustCompile(
		`^\[\d+ (\d+ \d+ \d+ 0 \d+|\[\d+ \d+ \d+ 0 \d+\]( \[\d+ \d+ \d+ 0 \d+\])*)\]$`)
)

func (s rlStep) keys() []string {
	words := strings.Fields(s.line)
	if len(words) == 1 || words[0] == "RL.CHECK" {
		return nil
	}
	switch n, err := strconv.Atoi(words[1]); {
	case countsKeys[words[0]] && err == nil && n > 0 && len(words) >= 2+n &&
		(words[0] != "RL.MALLOW" || len(words) > 2+n && words[2+n] == "TERM"):
		return words[2 : 2+n]
	case words[0] == "RL.RESET":
		return words[1:]
	case countsKeys[words[0]] && (err != nil || n < 1 || n > len(words)-2):
		return nil
	case words[0] == "RL.MALLOW" && err == nil && len(words) >= 2+3*n:
		var keys []string
		for i := range n {
			keys = append(keys, words[2+3*i])
		}
		return keys
	}
	return words[1:2]
}

// countsKeys are the commands that have the number of their keys in front of them.
var countsKeys = map[string]bool{
	"RL.MALLOW": true, "RL.MRESERVE": true, "RL.MSETTLE": true, "RL.MCANCEL": true,
}

// rlPath is a way to call. It sends groups of steps at once.
type rlPath struct {
	name string
	// joins reports whether next may be in the same group as last.
	joins func(last, next rlStep) bool
	send  func(p *rlRun, group []rlStep) []string
	proto int
}

// checkTopic is the scenarios of RL.CHECK.
const checkTopic = "check"

var rlPaths = []rlPath{
	{"RESP2", nil, sendEach, 2},
	{"RESP3", nil, sendEach, 3},
	{"pipeline of calls that change nothing", func(a, b rlStep) bool {
		return a.atMs == b.atMs && a.mayChange() == b.mayChange()
	}, sendPipeline, 2},
	{
		"one pipeline with DEBUG CLOCK in it", func(a, b rlStep) bool { return a.atMs <= b.atMs },
		sendPipeline, 3,
	},
	{"MULTI", func(a, b rlStep) bool {
		return a.atMs == b.atMs && a.mayChange() == b.mayChange()
	}, sendMulti, 2},
	{"EVAL", nil, sendEval, 2},
	{"EVAL in MULTI over RESP3", nil, sendEvalInMulti, 3},
}

type rlRun struct {
	t     *testing.T
	srv   *server.Server
	wire  *wire // the path's connection
	other *wire // reads and watches the keyspace
	nowMs int64

	setClock func(nowMs int64) error // of redis-servers behind the path; nil: srv has the clock

	rlLogMaxUnits int64 // see maxUnits
}

func TestRLAllowOnEveryPath(t *testing.T) {
	race.OneGoroutine(t)
	scenarios := rlScenarios(t)
	for i, path := range rlPaths {
		t.Run(path.name, func(t *testing.T) {
			t.Parallel()
			servers := newServers(t)
			for _, scenario := range scenarios {
				if scenario.topic == checkTopic && i >= len(rlPaths)-2 {
					continue // scripts cannot call it
				}
				t.Run(scenario.name, func(t *testing.T) {
					servers.newRun(t, scenario).run(path, scenario)
				})
			}
		})
	}
}

// rlServers are the servers of a path, one for each set of directives. Scenarios use them one after the
// other, because most of what a scenario costs is a server's start and the library that a gateway loads.
type rlServers struct {
	t        *testing.T // the path's, which ends the servers
	started  map[string]*rlRun
	gateways map[string]*server.Server
}

func newServers(t *testing.T) *rlServers {
	return &rlServers{t, map[string]*rlRun{}, map[string]*server.Server{}}
}

// gateway returns a gateway to an upstream with the directives of a scenario.
func (s *rlServers) gateway(url string, scenario rlScenario) *server.Server {
	id := strings.Join(append([]string{url}, scenario.flags...), " ")
	if s.gateways[id] == nil {
		s.gateways[id] = startGatewayTo(s.t, url, scenario.flags...)
	}
	return s.gateways[id]
}

// newRun returns a run on a server without keys. What a server counts outlasts its keys, so scenarios of
// that have servers of their own.
func (s *rlServers) newRun(t *testing.T, scenario rlScenario) *rlRun {
	t.Helper()
	if scenario.topic == topTopic {
		return newRun(t, scenario.flags...)
	}
	flags := strings.Join(scenario.flags, " ")
	if s.started[flags] == nil {
		s.started[flags] = newRun(s.t, scenario.flags...)
	}
	srv := s.started[flags].srv
	p := &rlRun{t: t, srv: srv, wire: connect(t, srv), other: connect(t, srv)}
	require.Equal(t, "OK", p.call(p.other, "FLUSHALL SYNC"))
	return p
}

// newRun starts a server with directives, whose clock the run sets.
func newRun(t *testing.T, flags ...string) *rlRun {
	srv := start(t, append([]string{"--bind", "127.0.0.1", "--enable-debug-command", "yes"}, flags...)...)
	srv.Engine().Clock().Freeze()
	return &rlRun{t: t, srv: srv, wire: connect(t, srv), other: connect(t, srv)}
}

func (p *rlRun) run(path rlPath, scenario rlScenario) {
	t := p.t
	p.moveTo(scenario.steps[0].atMs)
	if path.proto == 3 {
		p.call(p.wire, "HELLO 3")
	}
	for rest := scenario.steps; len(rest) > 0; {
		n := 1
		for path.joins != nil && n < len(rest) && path.joins(rest[n-1], rest[n]) {
			n++
		}
		group := rest[:n]
		rest = rest[n:]
		p.moveTo(group[0].atMs)

		var before []string
		unchanged := !group[0].mayChange() && !group[n-1].mayChange() && group[0].atMs == group[n-1].atMs
		for _, s := range group {
			unchanged = unchanged && !s.mayChange()
		}
		if unchanged {
			before = p.keyspace()
			var watch []string
			for _, s := range group {
				for _, key := range s.keys() {
					watch = append(watch, "WATCH "+key)
				}
			}
			for _, reply := range p.other.calls(t, append(watch, "MULTI")...) {
				require.Equal(t, "+OK", reply, watch)
			}
		}
		for i, got := range path.send(p, group) {
			require.Equal(t, group[i].want, got, "%s: %s", group[i].place, group[i].line)
		}
		if unchanged {
			require.Equal(t, "[]", p.call(p.other, "EXEC"), "marked watched keys: %v", group)
			require.Equal(t, before, p.keyspace(), "%v changed the keyspace", group)
		}
	}
}

// moveTo sets the clock, forwards or backwards.
func (p *rlRun) moveTo(atMs int64) {
	if p.nowMs == startNowMs+atMs {
		return // a redis-server's clock is a file
	}
	p.nowMs = startNowMs + atMs
	if p.setClock != nil {
		require.NoError(p.t, p.setClock(p.nowMs))
		return
	}
	p.srv.Engine().Clock().Set(p.nowMs)
}

// call sends one command line and returns its formatted reply.
func (p *rlRun) call(w *wire, line string) string {
	require.NoError(p.t, w.send(wordsOf(p.t, line)))
	return p.reply(w)
}

func (p *rlRun) reply(w *wire) string {
	reply, err := w.readReply()
	require.NoError(p.t, err)
	return showReply(p.t, reply)
}

// keyspace describes every key as clients see it: commands, and then their replies.
func (p *rlRun) keyspace() []string {
	keys := strings.Fields(strings.Trim(p.call(p.other, "KEYS *"), "[]"))
	slices.Sort(keys)
	var lines []string
	for _, key := range keys {
		for _, ask := range []string{
			"TYPE %s", "PEXPIRETIME %s", "OBJECT ENCODING %s", "GET %s", "ZCARD %s",
			"ZRANGE %s 0 5000 WITHSCORES", "ZRANGE %s -1 -1 WITHSCORES", "HGETALL %s",
		} {
			lines = append(lines, fmt.Sprintf(ask, key))
		}
	}
	return append(lines, p.other.calls(p.t, lines...)...)
}

func sendEach(p *rlRun, group []rlStep) []string {
	var got []string
	for _, s := range group {
		got = append(got, p.call(p.wire, s.line))
	}
	return got
}

// sendPipeline writes the whole group at once. If the clock moves within it, it
// inserts DEBUG CLOCK ADVANCE.
func sendPipeline(p *rlRun, group []rlStep) []string {
	var (
		bytes []byte
		skip  []bool // replies of DEBUG
	)
	for _, s := range group {
		if d := startNowMs + s.atMs - p.nowMs; d != 0 {
			bytes = appendCommand(bytes, wordsOf(p.t, fmt.Sprint("DEBUG CLOCK ADVANCE ", d)))
			skip = append(skip, true)
			p.nowMs += d
		}
		bytes = appendCommand(bytes, wordsOf(p.t, s.line))
		skip = append(skip, false)
	}
	require.NoError(p.t, p.wire.sendRaw(bytes))
	var got []string
	for _, debug := range skip {
		reply := p.reply(p.wire)
		if debug {
			require.Equal(p.t, "OK", reply)
		} else {
			got = append(got, reply)
		}
	}
	return got
}

func sendMulti(p *rlRun, group []rlStep) []string {
	require.Equal(p.t, "OK", p.call(p.wire, "MULTI"))
	for _, s := range group {
		require.Equal(p.t, "QUEUED", p.call(p.wire, s.line))
	}
	require.NoError(p.t, p.wire.send(wordsOf(p.t, "EXEC")))
	reply, err := p.wire.readReply()
	require.NoError(p.t, err)
	return elements(p.t, reply)
}

const rlScript = "return redis.call(unpack(ARGV))"

func evalArgs(t *testing.T, line string) [][]byte {
	args := wordsOf(t, line)
	return append([][]byte{[]byte("EVAL"), []byte(rlScript), []byte("1"), args[1]}, args...)
}

// scriptContext is what redis.call appends to an error.
var scriptContext = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script:1\.$`)

func sendEval(p *rlRun, group []rlStep) []string {
	var got []string
	for _, s := range group {
		require.NoError(p.t, p.wire.send(evalArgs(p.t, s.line)))
		got = append(got, scriptContext.ReplaceAllString(p.reply(p.wire), ""))
	}
	return got
}

func sendEvalInMulti(p *rlRun, group []rlStep) []string {
	require.Equal(p.t, "OK", p.call(p.wire, "MULTI"))
	for _, s := range group {
		require.NoError(p.t, p.wire.send(evalArgs(p.t, s.line)))
		require.Equal(p.t, "QUEUED", p.reply(p.wire))
	}
	require.NoError(p.t, p.wire.send(wordsOf(p.t, "EXEC")))
	reply, err := p.wire.readReply()
	require.NoError(p.t, err)
	got := elements(p.t, reply)
	for i := range got {
		got[i] = scriptContext.ReplaceAllString(got[i], "")
	}
	return got
}
