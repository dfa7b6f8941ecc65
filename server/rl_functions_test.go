package server_test

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/policy"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scenario"
	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// The scenarios of RL.* run through the functions of package ratelimit, too, which a
// gateway calls: there the server only sees FCALL.

// functionPaths are ways to call the functions.
var functionPaths = []rlPath{
	{"functions", nil, sendFunctions, 2},
	{"functions over RESP3", nil, sendFunctions, 3},
	{"functions in MULTI", func(a, b rlStep) bool {
		return a.atMs == b.atMs && a.mayChange() == b.mayChange()
	}, sendFunctionsInMulti, 2},
	{"the script", nil, sendScript, 2},
}

// beyondFunctions are scenarios of what a gateway's upstream does not do: the reasons.
// heldCalendar is why a reservation over a window of the calendar is refused: see (*Call).reserve.
const heldCalendar = "a function has no zones, and such a reservation may be settled in a later slice"

var beyondFunctions = map[string]string{
	"rl-max-keys-per-prefix":                                     "a server counts its own keys",
	"RL.CHECK: explained":                                        "no function explains a window",
	"INCREX BYFLOAT":                                             "beyond the package's bounds",
	"a reservation over a month":                                 heldCalendar,
	"an excess counts in the month in which it is settled":       heldCalendar,
	"what is given back after the month has ended gives nothing": heldCalendar,
}

func TestFunctionsOnEveryPath(t *testing.T) {
	race.OneGoroutine(t)
	scenarios := rlScenarios(t)
	for _, path := range functionPaths {
		t.Run(path.name, func(t *testing.T) {
			t.Parallel()
			servers := newServers(t)
			for _, scenario := range scenarios {
				if scenario.topic == topTopic || beyondFunctions[scenario.name] != "" {
					continue
				}
				t.Run(scenario.name, func(t *testing.T) {
					servers.newRun(t, scenario).run(path, scenario)
				})
			}
		})
	}
}

var rateLimitCommands = func() map[string]*commands.Command {
	rows := make(map[string]*commands.Command)
	for _, row := range slices.Concat(rl.Commands, commands.Strings) {
		rows[row.Name] = &row
	}
	return rows
}()

// functionCall returns the call of a command, nil if it is none of a function, or its
// refusal.
func functionCall(p *rlRun, line string) (*ratelimit.Call, *commands.Ctx, resp.Value) {
	args := wordsOf(p.t, line)
	cmd := rateLimitCommands[strings.ToLower(string(args[0]))]
	if cmd == nil || !ratelimit.Handles(cmd) {
		return nil, nil, resp.None
	}
	c := &commands.Ctx{Args: args, Cmd: cmd}
	c.NowMs = p.nowMs
	c.Settings = &commands.Settings{RLLogMaxUnits: p.maxUnits(), Policies: p.policies()}
	if c.Args = c.Standing(cmd, args); cmd.Keyless != nil && cmd.Keyless(c.Args) {
		return nil, nil, resp.None
	}
	call, refusal := ratelimit.Parse(c)
	return call, c, refusal
}

// policies returns those of the server.
func (p *rlRun) policies() *policy.Set { return p.srv.Engine().Policies() }

// maxUnits returns rl-log-max-units.
func (p *rlRun) maxUnits() int64 {
	if p.rlLogMaxUnits == 0 {
		reply := p.call(connect(p.t, p.srv), "CONFIG GET rl-log-max-units")
		n, err := strconv.ParseInt(strings.Fields(strings.Trim(reply, "[]"))[1], 10, 64)
		require.NoError(p.t, err)
		p.rlLogMaxUnits = n
	}
	return p.rlLogMaxUnits
}

func encodedReply(p *rlRun, v resp.Value, proto int) string {
	return showReply(p.t, resp.Append(nil, &v, proto))
}

func sendFunctions(p *rlRun, group []rlStep) []string { return sendCalls(p, group, false) }
func sendScript(p *rlRun, group []rlStep) []string    { return sendCalls(p, group, true) }

func sendCalls(p *rlRun, group []rlStep, script bool) (got []string) {
	for _, s := range group {
		call, c, refusal := functionCall(p, s.line)
		switch {
		case refusal.IsError():
			got = append(got, encodedReply(p, refusal, resp.RESP2))
			continue
		case call == nil:
			got = append(got, p.call(p.wire, s.line))
			continue
		}
		words, load := call.AppendFCall(nil), []string{"FUNCTION", "LOAD", ratelimit.Library()}
		if script {
			words, load = call.AppendEval(nil), []string{"SCRIPT", "LOAD", ratelimit.Script()}
		}
		reply := sendWords(p, words)
		if ratelimit.NeedsLoad(reply) {
			loaded := sendWords(p, [][]byte{[]byte(load[0]), []byte(load[1]), []byte(load[2])})
			require.NotEqual(p.t, "-", string(loaded[:1]), "%s", loaded)
			reply = sendWords(p, words)
		}
		got = append(got, encodedReply(p, call.Reply(c, reply), resp.RESP3))
	}
	return got
}

func sendWords(p *rlRun, words [][]byte) []byte {
	require.NoError(p.t, p.wire.send(words))
	reply, err := p.wire.readReply()
	require.NoError(p.t, err)
	return reply
}

// sendFunctionsInMulti calls the functions in one transaction. Calls that are refused
// before it, and commands without function, are sent alone.
func sendFunctionsInMulti(p *rlRun, group []rlStep) []string {
	got := make([]string, len(group))
	loaded := sendWords(p, [][]byte{[]byte("FUNCTION"), []byte("LOAD"), []byte(ratelimit.Library())})
	if string(loaded[:1]) == "-" {
		require.Contains(p.t, string(loaded), "already exists")
	}
	require.Equal(p.t, "OK", p.call(p.wire, "MULTI"))
	type queued struct {
		at   int
		call *ratelimit.Call
		c    *commands.Ctx
	}
	var calls []queued
	for i, s := range group {
		call, c, refusal := functionCall(p, s.line)
		words := wordsOf(p.t, s.line)
		switch {
		case refusal.IsError():
			got[i] = encodedReply(p, refusal, resp.RESP2)
			continue
		case call != nil:
			words = call.AppendFCall(nil)
		}
		require.Equal(p.t, "+QUEUED\r\n", string(sendWords(p, words)))
		calls = append(calls, queued{i, call, c})
	}
	rest := bufio.NewReader(bytes.NewReader(sendWords(p, wordsOf(p.t, "EXEC"))))
	_, err := rest.ReadBytes('\n')
	require.NoError(p.t, err)
	for _, q := range calls {
		reply, err := scenario.ReadReply(rest, nil)
		require.NoError(p.t, err)
		if q.call != nil {
			got[q.at] = encodedReply(p, q.call.Reply(q.c, reply), resp.RESP2)
		} else {
			got[q.at] = showReply(p.t, reply)
		}
	}
	require.Zero(p.t, rest.Buffered())
	return got
}
