package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// Calls with WAIT among those of linearizable_terms_test.go. One that is granted has taken its units at some
// instant between call and reply; one that ends denied was denied when its time was over.

// withWait returns c, a call of RL.MALLOW, as one that waits.
func (c linTermsCall) withWait(ms int) linTermsCall {
	c.waitMs = ms
	c.line = append(slices.Clone(c.line), "WAIT", fmt.Sprint(ms))
	return c
}

// answers reports whether a reply to c can be that of a model, which is without the time waited.
func (c *linTermsCall) answers(s *linTermsState, want, reply string) bool {
	if c.waitMs == 0 {
		return reply == want
	}
	i := strings.LastIndexByte(reply, ' ')
	var waited int
	if _, err := fmt.Sscanf(reply[i:], " %d]", &waited); err != nil || reply[:i]+"]" != want {
		return false
	}
	begun := s.step - waited/linStepMs
	switch {
	case waited%linStepMs != 0 || begun < c.from:
		return false
	case isGranted(reply):
		return waited <= c.waitMs
	}
	return waited == c.waitMs
}

// isGranted reports whether the binding term of a call with FULL was granted.
func isGranted(reply string) bool {
	words := strings.Split(reply, " [")
	var binding int
	fmt.Sscanf(words[0], "[%d", &binding)
	return !strings.HasPrefix(words[binding], "0 ")
}

// recordWaits runs random calls of many clients at once. Most calls wait. The clock moves when every client
// has returned or waits, and once before.
func (p *linRun) recordWaits(seed uint64, clients int) []porcupine.Operation {
	const turns = 5
	t := p.t
	var h linHistory
	first := connect(t, p.callees[0])
	for _, c := range linTermsFirst {
		require.NoError(t, h.run(p, 0, first, c))
	}
	var steps, rest atomic.Int64
	steps.Store(3) // of linTermsFirst
	advance := func() {
		require.NoError(t, h.run(p, 0, first, newLinTermsCall("ADVANCE", 0, nil)))
		steps.Add(1)
	}
	wires := make([]*wire, clients)
	for i := range wires {
		wires[i] = connect(t, p.callees[0])
	}
	failed := make(chan error, turns*clients)
	for turn := range turns {
		rest.Store(0)
		var all sync.WaitGroup
		for client := range clients {
			r := rand.New(rand.NewPCG(seed, uint64(turn*clients+client)))
			all.Go(func() {
				defer rest.Add(1)
				c := newLinTermsCall("MALLOW", client, nil, linTermsOf(r)...)
				if r.IntN(8) == 0 {
					c = newLinTermsCall("RELEASE", client, nil, linTerm{key: linSlots + r.IntN(2)})
				} else if r.IntN(8) > 0 {
					c = c.withWait((1 + r.IntN(2)) * linStepMs)
				}
				c.from = int(steps.Load())
				if err := h.run(p, client, wires[client], c); err != nil {
					failed <- err
				}
			})
		}
		advance()
		for rest.Load() < int64(clients) {
			eventually(t, func() bool {
				ended := rest.Load() // first: who has ended does not block after that
				return fmt.Sprint(int64(clients)-ended) == infoField(t, first, "blocked_clients")
			}, func() {}, "some client neither ends nor blocks")
			if rest.Load() < int64(clients) {
				advance()
			}
		}
		all.Wait()
	}
	close(failed)
	require.NoError(t, <-failed)
	return h.ops
}

func TestWaitsLinearizable(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			history := newLinRun(t, 0).recordWaits(seed, linClients)
			ends := map[string]int{}
			for _, op := range history {
				if c := op.Input.(linTermsCall); c.waitMs > 0 {
					atOnce := strings.HasSuffix(op.Output.(string), " 0]")
					ends[fmt.Sprintf("granted %v, at once %v", isGranted(op.Output.(string)), atOnce)]++
				}
			}
			require.Greater(t, ends["granted true, at once false"], linClients/4, ends)
			require.Greater(t, ends["granted false, at once false"], linClients/4, ends)
			requireTermsLinearizable(t, history)
		})
	}
}

// TestWaitsLinearizableRejects proves that the check can fail: a faulty model explains no history, and no
// history is explained in which a call that has waited was granted what it was denied.
func TestWaitsLinearizableRejects(t *testing.T) {
	history := newLinRun(t, 0).recordWaits(9, linClients)
	require.True(t, linTermsFaults{}.explains(history))
	for name, wrong := range map[string]linTermsFaults{
		"takes although the last term denies": {ignoresTheLast: true},
		"units never expire":                  {linFaults: linFaults{neverExpires: true}},
	} {
		require.False(t, wrong.explains(history), name)
	}
	for name, change := range map[string]func(op *porcupine.Operation, reply string) bool{
		"granted what was denied": func(op *porcupine.Operation, reply string) bool {
			op.Output = strings.Replace(reply, "[0 ", "[1 ", 1)
			return !isGranted(reply)
		},
		"denied early": func(op *porcupine.Operation, reply string) bool {
			op.Output = strings.Replace(reply, " 400]", " 0]", 1)
			return !isGranted(reply)
		},
		"waited longer than it was there": func(op *porcupine.Operation, reply string) bool {
			op.Output = strings.Replace(reply, " 400]", " 4000]", 1)
			return isGranted(reply)
		},
	} {
		changed := slices.Clone(history)
		i := slices.IndexFunc(changed, func(op porcupine.Operation) bool {
			before, c := op.Output.(string), op.Input.(linTermsCall)
			return c.waitMs > 0 && change(&op, before) && op.Output != before
		})
		require.GreaterOrEqual(t, i, 0, name)
		change(&changed[i], changed[i].Output.(string))
		require.False(t, linTermsFaults{}.explains(changed), name)
	}
}
