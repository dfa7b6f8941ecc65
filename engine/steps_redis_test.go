package engine_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/oracle"
)

// The recordings of effects and of keyspace notifications have the same form: cases of
// commands, and below each command what was observed of it. See effectsRecording.

// effectsStep is one line of a case, and the lines recorded below it.
type effectsStep struct {
	line    string
	session int
	waits   bool
	lots    bool
	words   [][]byte
	want    []string
}

type effectsCase struct {
	name  string
	steps []effectsStep
}

func parseEffects(t testing.TB, text string) (all []effectsCase) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "== "); ok {
			all = append(all, effectsCase{name: name})
			continue
		}
		c := &all[len(all)-1]
		step := effectsStep{line: line, session: 1}
		head, rest, _ := strings.Cut(line, " ")
		switch head {
		case ">":
		case "?>":
			step.lots = true
		case "2>", "2>>", "3>>":
			step.session = int(head[0] - '0')
			step.waits = strings.HasSuffix(head, ">>")
		case "@+":
			step.session = 0
		default:
			last := &c.steps[len(c.steps)-1]
			last.want = append(last.want, line)
			continue
		}
		step.words = wordsOf(t, rest)
		c.steps = append(c.steps, step)
	}
	return all
}

// passMs returns by how many milliseconds a step moves the clock.
func (s *effectsStep) passMs(t testing.TB) int64 {
	ms, err := strconv.ParseInt(string(s.words[0]), 10, 64)
	require.NoError(t, err)
	return ms
}

// wordsOf returns the words of a command.
func wordsOf(t testing.TB, line string) [][]byte {
	out, err := oracle.Words(line)
	require.NoError(t, err)
	return out
}

type effectsDifference struct {
	step      effectsStep
	want, got []string
}

// replaySteps runs a case and returns the steps whose observation differs from the
// recording. observed returns what was observed since its last call. masked hides the
// random part of the lines of a step that has one.
func replaySteps(t testing.TB, e *engine.Engine, h *hands, c effectsCase, observed func() []string,
	masked func(lines []string) []string,
) (out []effectsDifference) {
	sessions := [4]*engine.Session{}
	for i := range sessions {
		sessions[i] = newSession(t, e)
	}
	for _, step := range c.steps {
		if step.session == 0 {
			h.pass(step.passMs(t))
			continue
		}
		sessions[step.session].Do(step.words)
		for _, s := range sessions {
			if s.Blocked() != nil && s.Ready() {
				s.Resume()
			}
		}
		got, want := observed(), step.want
		if step.lots {
			got, want = masked(got), masked(want)
		}
		if !slices.Equal(got, want) {
			out = append(out, effectsDifference{step, want, got})
		}
	}
	return out
}

// recordSteps runs a case on redis-server and writes its recording. observed returns
// what was observed since its last call.
func recordSteps(
	t *testing.T, r *oracle.Redis, c effectsCase, out *strings.Builder, observed func() []string,
) {
	nowMs := int64(startNowMs)
	require.NoError(t, r.SetClock(nowMs))
	clients := [4]*effectsClient{}
	for i := range clients {
		clients[i] = dialEffects(t, r.Addr())
		defer func() { require.NoError(t, clients[i].conn.Close()) }()
	}
	clients[0].do(t, "FLUSHALL")
	clients[0].do(t, "FUNCTION", "FLUSH")
	observed()
	fmt.Fprintf(out, "== %s\n", c.name)
	for _, step := range c.steps {
		fmt.Fprintln(out, step.line)
		if step.session == 0 {
			nowMs += step.passMs(t)
			require.NoError(t, r.SetClock(nowMs))
			continue
		}
		client := clients[step.session]
		if client.waiting {
			client.reply(t)
			client.waiting = false
		}
		client.send(t, step.words)
		if client.waiting = step.waits; !step.waits {
			client.reply(t)
		} else {
			for !strings.Contains(clients[0].do(t, "CLIENT", "LIST", "ID", client.id), "flags=b") {
			}
		}
		for _, line := range observed() {
			fmt.Fprintln(out, line)
		}
	}
}

type effectsClient struct {
	conn    net.Conn
	r       *bufio.Reader
	id      string
	waiting bool // a reply is still to come
}

func dialEffects(t *testing.T, addr string) *effectsClient {
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	c := &effectsClient{conn: conn, r: bufio.NewReader(conn)}
	c.id = c.do(t, "CLIENT", "ID")
	return c
}

func (c *effectsClient) do(t *testing.T, line ...string) string {
	var words [][]byte
	for _, w := range line {
		words = append(words, []byte(w))
	}
	c.send(t, words)
	return c.reply(t)
}

// doLine is do for a line, whose words are cut as redis-cli does.
func (c *effectsClient) doLine(t *testing.T, line string) string {
	c.send(t, wordsOf(t, line))
	return c.reply(t)
}

func (c *effectsClient) send(t *testing.T, words [][]byte) {
	_, err := c.conn.Write(asLogged(words))
	require.NoError(t, err)
}

// reply reads a reply and returns its first word.
func (c *effectsClient) reply(t *testing.T) string {
	if words := c.words(t); len(words) > 0 {
		return words[0]
	}
	return ""
}

// words reads a reply and returns its words, whatever its depth.
func (c *effectsClient) words(t testing.TB) (out []string) {
	line, err := c.r.ReadString('\n')
	require.NoError(t, err)
	line = strings.TrimSpace(line)
	switch n, _ := strconv.Atoi(line[1:]); {
	case n < 0 && (line[0] == '$' || line[0] == '*'):
		return []string{"(nil)"}
	case line[0] == '$':
		bulk := make([]byte, n+2)
		_, err = io.ReadFull(c.r, bulk)
		require.NoError(t, err)
		return []string{string(bulk[:n])}
	case line[0] == '*':
		for range n {
			out = append(out, c.words(t)...)
		}
		return out
	}
	return []string{line[1:]}
}
