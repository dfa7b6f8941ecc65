package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// popModel is a model of docs/adr/0006 for lists and one goroutine: the session that has
// waited longest at a key is served first, keys are served in the order in which they
// were created, and keys that serving creates come last.
type popModel struct {
	lists   map[string][]string
	waiting []*modelWaiter // longest first
	fault   bool           // planted: the last one to wait is served first
}

type modelWaiter struct {
	session int
	call    popCall
}

// A popCall is BLMPOP, or BRPOPLPUSH where it has a target.
type popCall struct {
	keys   []string
	right  bool
	count  int
	target string
}

func (c popCall) line() string {
	if c.target != "" {
		return "BRPOPLPUSH " + c.keys[0] + " " + c.target + " 0"
	}
	end := "LEFT"
	if c.right {
		end = "RIGHT"
	}
	return fmt.Sprintf("BLMPOP 0 %d %s %s COUNT %d", len(c.keys), strings.Join(c.keys, " "), end, c.count)
}

// take runs a call at a key that has elements, and returns the reply and the key that it
// has created.
func (m *popModel) take(c popCall, key string) (reply, made string) {
	list := m.lists[key]
	n := min(c.count, len(list))
	taken := slices.Clone(list[:n])
	list = list[n:]
	if c.right {
		list = m.lists[key]
		taken = slices.Clone(list[len(list)-n:])
		slices.Reverse(taken)
		list = list[:len(list)-n]
	}
	m.lists[key] = list
	if c.target == "" {
		return fmt.Sprintf("[%s [%s]]", key, strings.Join(taken, " ")), ""
	}
	if len(m.lists[c.target]) == 0 {
		made = c.target
	}
	m.lists[c.target] = append(slices.Clone(taken), m.lists[c.target]...)
	return taken[0], made
}

// ask runs a call; the reply is empty if it waits. served are the replies to other calls
// that it has caused.
func (m *popModel) ask(session int, c popCall) (reply string, served map[int]string) {
	for _, key := range c.keys {
		if len(m.lists[key]) > 0 {
			reply, made := m.take(c, key)
			return reply, m.serve(made)
		}
	}
	m.waiting = append(m.waiting, &modelWaiter{session, c})
	return "", nil
}

func (m *popModel) push(key string, elements []string) (served map[int]string) {
	made := ""
	if len(m.lists[key]) == 0 {
		made = key
	}
	m.lists[key] = append(m.lists[key], elements...)
	return m.serve(made)
}

func (m *popModel) serve(ready ...string) map[int]string {
	served := map[int]string{}
	for ; len(ready) > 0; ready = ready[1:] {
		key := ready[0]
		line := slices.Clone(m.waiting)
		if m.fault {
			slices.Reverse(line)
		}
		for _, w := range line {
			if len(m.lists[key]) == 0 {
				break
			}
			if !slices.Contains(w.call.keys, key) {
				continue
			}
			m.leave(w.session)
			reply, made := m.take(w.call, key)
			served[w.session] = reply
			if made != "" {
				ready = append(ready, made)
			}
		}
	}
	return served
}

func (m *popModel) leave(session int) {
	m.waiting = slices.DeleteFunc(m.waiting, func(w *modelWaiter) bool { return w.session == session })
}

// popRound runs random pops, pushes and timeouts in an engine and in the model, and
// returns the first difference.
func popRound(t *testing.T, seed uint64, fault bool) (difference string) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	e, _ := newEngine(t)
	m := &popModel{lists: map[string][]string{}, fault: fault}
	sessions := make([]*engine.Session, 6)
	for i := range sessions {
		sessions[i] = newSession(t, e)
	}
	pusher := newSession(t, e)
	key := func() string { return string(rune('a' + rnd.IntN(4))) }
	for serial := range 400 {
		var want map[int]string
		i := rnd.IntN(len(sessions))
		s := sessions[i]
		switch {
		case rnd.IntN(3) == 0:
			line, k := "RPUSH", key()
			var elements []string
			for n := range 1 + rnd.IntN(5) {
				elements = append(elements, fmt.Sprintf("%d.%d", serial, n))
			}
			do(pusher, strings.Join(append([]string{line, k}, elements...), " "))
			want = m.push(k, elements)
		case s.Blocked() != nil:
			if rnd.IntN(2) == 0 {
				do(pusher, fmt.Sprintf("CLIENT UNBLOCK %d", s.ID()))
			} else {
				s.Blocked().TimeOut()
			}
			m.leave(i)
			want = map[int]string{i: "(nil)"}
		default:
			c := popCall{keys: []string{key()}, right: rnd.IntN(2) == 0, count: 1 + rnd.IntN(3)}
			for range rnd.IntN(3) {
				c.keys = append(c.keys, key())
			}
			if rnd.IntN(3) == 0 {
				c = popCall{keys: c.keys[:1], right: true, count: 1, target: key()}
			}
			var reply string
			reply, want = m.ask(i, c)
			got := do(s, c.line())
			if s.Blocked() != nil {
				got = ""
			}
			if got != reply {
				return fmt.Sprintf("%s: %q, the model %q", c.line(), got, reply)
			}
		}
		for j, s := range sessions {
			if s.Blocked() == nil || !s.Ready() {
				if want[j] != "" {
					return fmt.Sprintf("session %d still waits for %q", j, want[j])
				}
				continue
			}
			if got := show(s.Resume()); got != want[j] {
				return fmt.Sprintf("session %d: %q, the model %q", j, got, want[j])
			}
		}
		for k, list := range m.lists {
			if got := do(pusher, "LRANGE "+k+" 0 -1"); got != "["+strings.Join(list, " ")+"]" {
				return fmt.Sprintf("%s: %s, the model %v", k, got, list)
			}
		}
	}
	return ""
}

func TestPopsOfSeveralKeysFollowTheModel(t *testing.T) {
	race.OneGoroutine(t)
	for seed := range uint64(100) {
		require.Empty(t, popRound(t, seed, false), "seed %d", seed)
	}
	require.NotEmpty(t, popRound(t, 1, true), "a model that serves in another order is told apart")
}
