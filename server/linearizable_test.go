package server_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/server"
)

// The replies to RL.ALLOW, RL.MALLOW and RL.REFUND, while the clock moves, must be
// linearizable. Every call here has a window of linWindowMs, and the clock moves
// only in steps of linStepMs, so that the state of a key is its number of units per
// step.

const (
	linWindowMs = 3 * linStepMs // so that room comes when a step ends
	linStepMs   = 400
	linSteps    = 20 // at most in one history
)

// linCall is one command. Without keys it moves the clock by one step.
type linCall struct {
	name   string   // ALLOW, MALLOW, REFUND, ADVANCE
	keys   []int    // 0 or 1
	limits [2]int   // of the keys, in their order
	n      int      // units
	line   []string // the command
}

func newLinCall(name string, n int, keysAndLimits ...int) linCall {
	c := linCall{name: name, n: n}
	for i := 0; i < len(keysAndLimits); i += 2 {
		c.limits[len(c.keys)] = keysAndLimits[i+1]
		c.keys = append(c.keys, keysAndLimits[i])
	}
	key := func(i int) string { return string('a' + rune(c.keys[i])) }
	switch name {
	case "ADVANCE":
		c.line = strings.Fields(fmt.Sprint("DEBUG CLOCK ADVANCE ", linStepMs))
	case "REFUND":
		c.line = strings.Fields(fmt.Sprint("RL.REFUND ", key(0), " ", n))
	case "ALLOW":
		c.line = strings.Fields(fmt.Sprint("RL.ALLOW ", key(0), " ", c.limits[0], " ", linWindowMs,
			" COST ", n))
	case "MALLOW":
		line := fmt.Sprint("RL.MALLOW ", len(c.keys))
		for i := range c.keys {
			line += fmt.Sprint(" ", key(i), " ", c.limits[i], " ", linWindowMs)
		}
		c.line = strings.Fields(fmt.Sprint(line, " COST ", n))
	}
	return c
}

func (c linCall) command() (name string, line []string) { return c.name, c.line }

// A linInput is a call of a history.
type linInput interface {
	command() (name string, line []string)
}

// linState is the state of the model. It is comparable.
type linState struct {
	step  int
	units [2][linSteps]int // by key and the step in which they were admitted
}

// linFaults are deliberate faults of the model.
type linFaults struct{ limitOneMore, ignoresRefunds, admitsWhenDenied, neverExpires bool }

func (m linFaults) counts(s *linState, step int) bool {
	return m.neverExpires || (s.step-step)*linStepMs < linWindowMs
}

func (m linFaults) used(s *linState, key int) (n int) {
	for step, units := range s.units[key][:s.step+1] {
		if m.counts(s, step) {
			n += units
		}
	}
	return n
}

// decide returns the five numbers of the reply before anything is admitted.
func (m linFaults) decide(s *linState, key, limit, cost int) (d [5]int) {
	used := m.used(s, key)
	room := limit
	if m.limitOneMore {
		room++
	}
	d[1], d[2] = limit, max(limit-used, 0)
	leave := used + cost - room
	for step, units := range s.units[key][:s.step+1] {
		if units == 0 || !m.counts(s, step) {
			continue
		}
		over := (step-s.step)*linStepMs + linWindowMs
		if leave > 0 {
			d[3] = over
		}
		leave -= units
		d[4] = over
	}
	switch {
	case cost > limit:
		d[3] = -1
	case used+cost <= room:
		d[0], d[3] = cost, 0
	}
	return d
}

// admit adds the admitted units to a key.
func (s *linState) admit(key int, d *[5]int) {
	s.units[key][s.step] += d[0]
	d[2], d[4] = max(d[2]-d[0], 0), linWindowMs
}

// step returns the reply to a call and the state after it.
func (m linFaults) step(s linState, c linCall) (string, linState) {
	switch c.name {
	case "ADVANCE":
		s.step++
		return "OK", s
	case "REFUND":
		back := 0
		after := s
		for step := s.step; step >= 0 && m.counts(&s, step); step-- {
			n := min(c.n-back, s.units[c.keys[0]][step])
			after.units[c.keys[0]][step] -= n
			back += n
		}
		if m.ignoresRefunds {
			after = s
		}
		return fmt.Sprint(back), after
	}
	var binding [5]int
	index := -1
	denied := false
	for i, key := range c.keys {
		d := m.decide(&s, key, c.limits[i], c.n)
		denied = denied || d[0] == 0
		if index < 0 || binds(d, binding) {
			binding, index = d, i
		}
	}
	for i, key := range c.keys {
		d := m.decide(&s, key, c.limits[i], c.n)
		if denied && (!m.admitsWhenDenied || d[0] == 0) {
			continue
		}
		s.admit(key, &d)
		if i == index && !denied {
			binding = d
		}
	}
	if c.name == "ALLOW" {
		return fmt.Sprint(binding), s
	}
	return fmt.Sprintf("[%d %s", index+1, fmt.Sprint(binding)[1:]), s
}

// binds reports whether d, rather than other, which is named before it, makes the
// reply.
func binds(d, other [5]int) bool {
	switch {
	case (d[3] < 0) != (other[3] < 0):
		return d[3] < 0
	case d[3] != other[3]:
		return d[3] > other[3]
	}
	return d[2] < other[2]
}

func (m linFaults) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return linState{} },
		Step: func(state, input, output any) (bool, any) {
			reply, after := m.step(state.(linState), input.(linCall))
			return reply == output.(string), after
		},
		DescribeOperation: func(input, output any) string {
			return strings.Join(input.(linCall).line, " ") + " -> " + output.(string)
		},
	}
}

// A linRun is a server with a clock that one client moves, or several gateways before it.
type linRun struct {
	t       *testing.T
	callees []*server.Server
	advance func(ms int64) error
}

// newLinRun returns a server of ours, with gateways if there are any.
func newLinRun(t *testing.T, gateways int) *linRun {
	p := newRun(t)
	p.moveTo(0)
	run := &linRun{t: t, callees: []*server.Server{p.srv}}
	for i := range gateways {
		run.callees = append(run.callees[:i], startGateway(t, p.srv))
	}
	run.advance = func(ms int64) error {
		args := bytes.Fields(fmt.Appendf(nil, "DEBUG CLOCK ADVANCE %d", ms))
		if err := p.wire.send(args); err != nil {
			return err
		}
		_, err := p.wire.readReply()
		return err
	}
	return run
}

// linHistory records calls and replies. Times are values of a counter, not of a
// clock.
type linHistory struct {
	counter atomic.Int64
	mu      sync.Mutex
	ops     []porcupine.Operation
}

func (h *linHistory) run(p *linRun, client int, w *wire, c linInput) error {
	name, line := c.command()
	args := make([][]byte, len(line))
	for i, word := range line {
		args[i] = []byte(word)
	}
	call := h.counter.Add(1)
	output := "OK"
	if name == "ADVANCE" { // of one client, and not through a gateway, which does not have the clock
		if err := p.advance(linStepMs); err != nil {
			return err
		}
	} else {
		if err := w.send(args); err != nil {
			return err
		}
		reply, err := w.readReply()
		if err != nil {
			return err
		}
		output = showReply(p.t, reply)
	}
	back := h.counter.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{
		ClientId: client, Input: c, Call: call, Output: output, Return: back,
	})
	return nil
}

// linFirstCalls are calls of a single client that no faulty model explains.
var linFirstCalls = []linCall{
	newLinCall("ALLOW", 3, 0, 5),
	newLinCall("MALLOW", 3, 1, 8, 0, 5), // b has room, a has not
	newLinCall("ALLOW", 8, 1, 8),
	newLinCall("ALLOW", 3, 0, 5),
	newLinCall("REFUND", 2, 0, 0),
	newLinCall("ALLOW", 4, 0, 5),
	newLinCall("ALLOW", 1, 0, 5),
	newLinCall("ADVANCE", 0),
	newLinCall("ADVANCE", 0),
	newLinCall("ADVANCE", 0),
	newLinCall("MALLOW", 5, 0, 5, 1, 8),
}

func randomLinCall(r *rand.Rand) linCall {
	a, limits := r.IntN(2), []int{5, 8}
	limit := func() int { return limits[r.IntN(2)] }
	switch r.IntN(10) {
	case 0, 1:
		return newLinCall("REFUND", r.IntN(6), a, 0)
	case 2, 3, 4:
		return newLinCall("MALLOW", 1+r.IntN(4), a, limit(), 1-a, limit())
	}
	return newLinCall("ALLOW", 1+r.IntN(6), a, limit())
}

// recordHistory runs random calls of several clients at once, through gateways if there are any.
func recordHistory(t *testing.T, seed uint64, gateways int) []porcupine.Operation {
	return newLinRun(t, gateways).record(seed)
}

func (p *linRun) record(seed uint64) []porcupine.Operation {
	const clients, calls = 5, 24
	t := p.t
	var h linHistory
	first := connect(t, p.callees[0])
	for _, c := range linFirstCalls {
		require.NoError(t, h.run(p, 0, first, c))
	}
	var all sync.WaitGroup
	failed := make(chan error, clients)
	for client := range clients {
		w, r := connect(t, p.callees[client%len(p.callees)]), rand.New(rand.NewPCG(seed, uint64(client)))
		all.Go(func() {
			for i := range calls {
				c := randomLinCall(r)
				if client == 0 && i%4 == 3 {
					c = newLinCall("ADVANCE", 0)
				}
				if err := h.run(p, client, w, c); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	require.NoError(t, <-failed)
	return h.ops
}

func TestLinearizable(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			requireLinearizable(t, recordHistory(t, seed, 0))
		})
	}
}

func requireLinearizable(t *testing.T, history []porcupine.Operation) {
	model := linFaults{}.model()
	if porcupine.CheckOperations(model, history) {
		return
	}
	for _, op := range history {
		t.Log(op.ClientId, op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
	}
	t.Fatal("no order of the calls explains the replies")
}

// TestLinearizableRejects proves that the check can fail: a faulty model explains
// no history, and the correct model no impossible one.
func TestLinearizableRejects(t *testing.T) {
	history := recordHistory(t, 9, 0)
	right := linFaults{}.model()
	require.True(t, porcupine.CheckOperations(right, history))
	for name, wrong := range map[string]linFaults{
		"admits one more than the limit":          {limitOneMore: true},
		"ignores refunds":                         {ignoresRefunds: true},
		"a denied MALLOW admits units":            {admitsWhenDenied: true},
		"units never expire":                      {neverExpires: true},
		"units never expire, refunds are ignored": {neverExpires: true, ignoresRefunds: true},
	} {
		require.False(t, porcupine.CheckOperations(wrong.model(), history), name)
	}

	swapped := slices.Clone(history) // two replies of one client, swapped
	swapped[5].Output, swapped[6].Output = swapped[6].Output, swapped[5].Output
	require.NotEqual(t, swapped[5].Output, swapped[6].Output)
	require.False(t, porcupine.CheckOperations(right, swapped), "swapped")

	stale := slices.Clone(history) // a reply that ignores the client's previous call
	stale[3].Output = fmt.Sprint([5]int{3, 5, 2, 0, linWindowMs})
	require.Equal(t, stale[0].Output, stale[3].Output)
	require.False(t, porcupine.CheckOperations(right, stale), "stale")
}
