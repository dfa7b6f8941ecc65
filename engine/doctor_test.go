package engine_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/scenario"
)

// TestDoctorCases runs testdata/doctor against an engine with rl-doctor.
func TestDoctorCases(t *testing.T) {
	race.OneGoroutine(t)
	files, err := scenario.Glob("testdata/doctor/*.cases", "tick", "found")
	require.NoError(t, err)
	for _, f := range files {
		for _, s := range f.Sections {
			t.Run(s.Title, func(t *testing.T) { runDoctorCase(t, s) })
		}
	}
}

func runDoctorCase(t *testing.T, s scenario.Section) {
	s.Directives = []string{"--rl-doctor", "yes"}
	p := newCasePlayer(t, s)
	p.Dial = func(name string) (scenario.Client, error) {
		c := newCaseClient(p.e, name)
		if reply := doWords(c.Session, "CLIENT", "SETNAME", name); reply != "OK" {
			return nil, errors.New(reply)
		}
		return c, nil
	}
	p.Own["found"] = func(string) ([]byte, error) {
		found := strings.Join(doctorFindings(p.e), "; ")
		return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(found), found), nil
	}
	for _, fault := range p.Run(s).Faults() {
		t.Error(fault)
	}
}

// A scene is a world in which clients send commands to an engine with rl-doctor.
type scene struct {
	t       *testing.T
	e       *engine.Engine
	hands   *hands
	clients map[string]*engine.Session
}

func newScene(t *testing.T) *scene {
	e, h := newEngine(t, "--rl-doctor", "yes")
	return &scene{t, e, h, make(map[string]*engine.Session)}
}

// client returns the session of the client with a name.
func (w *scene) client(name string) *engine.Session {
	if w.clients[name] == nil {
		w.clients[name] = newSession(w.t, w.e)
		require.Equal(w.t, "OK", doWords(w.clients[name], "CLIENT", "SETNAME", name))
	}
	return w.clients[name]
}

func (w *scene) nowMs() int64 { return startNowMs + w.hands.us.Load()/1000 }

func (w *scene) found() []string { return doctorFindings(w.e) }

// sweep does what a second of ticks does.
func (w *scene) sweep() {
	for range 10 {
		w.e.Tick()
	}
}

// doctorFindings returns RL.DOCTOR's findings as "problem count pattern command client".
func doctorFindings(e *engine.Engine) (out []string) {
	admin := e.NewSession(engine.Peer{})
	defer admin.Close()
	for _, f := range admin.Do(args("RL.DOCTOR")).Elems() {
		fields := f.Elems()
		one := make([]string, 5)
		for i := range one {
			one[i] = show(fields[2*i+1])
		}
		out = append(out, strings.Join(one, " "))
	}
	return out
}

// TestDoctorTotals: RL.DOCTOR RESET keeps totals, CONFIG RESETSTAT does not.
func TestDoctorTotals(t *testing.T) {
	e, _, s := newServer(t, "--rl-doctor", "yes")
	total := func() int64 {
		for _, f := range e.Facts().Doctor.Totals() {
			if f.Problem == "merged-hits" {
				return f.Count
			}
		}
		return -1
	}
	for range 2 {
		do(s, fmt.Sprintf("ZADD k %d %[1]d", int64(startNowMs)))
	}
	require.Equal(t, "OK", do(s, "RL.DOCTOR RESET"))
	require.EqualValues(t, 1, total())
	require.Equal(t, "OK", do(s, "CONFIG RESETSTAT"))
	require.Zero(t, total())
}

// TestDoctorIsBounded checks that the number of findings is bounded for any commands.
func TestDoctorIsBounded(t *testing.T) {
	w := newScene(t)
	merged := 0
	for i := range 600 {
		letters := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprint(i))
		for range 2 {
			do(w.client("client"+letters), fmt.Sprintf("ZADD k:%s %d %[2]d", letters, int64(startNowMs)))
		}
		merged++
	}
	found := w.found()
	require.Len(t, found, 129)
	require.Equal(t, "merged-hits 472 * zadd *", found[0])
	sum := 0
	for _, f := range found {
		n, err := strconv.Atoi(strings.Fields(f)[1])
		require.NoError(t, err)
		sum += n
	}
	require.Equal(t, merged, sum)
	require.Less(t, w.e.MemoryUse().Doctor, int64(1_700_000))
	do(newSession(t, w.e), "CONFIG SET rl-doctor no")
	do(newSession(t, w.e), "RL.DOCTOR RESET")
	require.Zero(t, w.e.MemoryUse().Doctor)
}
