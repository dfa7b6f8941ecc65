package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/logging"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
)

// A loginTest is an engine whose timers the test runs.
type loginTest struct {
	*engine.Engine
	hands  *hands
	timers []timer
	log    []string
}

type timer struct {
	atUs int64
	fn   func()
}

func newLoginTest(t *testing.T, directives ...string) *loginTest {
	l := &loginTest{}
	o := engine.Options{
		After: func(ms int64, fn func()) func() {
			l.timers = append(l.timers, timer{l.hands.us.Load() + ms*1000, fn})
			return func() {}
		},
		Log: logging.Func(func(text string) { l.log = append(l.log, text) }),
	}
	l.Engine, l.hands = newEngineWith(t, o, append([]string{"--requirepass", "right"}, directives...)...)
	return l
}

// connect opens a session from an address.
func (l *loginTest) connect(t *testing.T, network string) *engine.Session {
	s := l.NewSession(engine.Peer{Addr: network + ":1", Network: network})
	t.Cleanup(s.Close)
	return s
}

// pass lets time pass, and runs the timers that are due.
func (l *loginTest) pass(ms int64) {
	l.hands.pass(ms)
	due := l.timers
	l.timers = nil
	for _, one := range due {
		if one.atUs <= l.hands.us.Load() {
			one.fn()
		} else {
			l.timers = append(l.timers, one)
		}
	}
}

const manyLogins = "ERR too many logins from this address have failed, try again in some seconds"

const wrongPass = "WRONGPASS invalid username-password pair or user is disabled."

// guess returns how a login with a wrong password ends: wrongPass, manyLogins, or "" if it
// waits.
func guess(s *engine.Session, command string) string {
	reply := s.Do(args(command))
	if s.Blocked() != nil {
		return ""
	}
	return show(reply)
}

// TestGuesserIsSlowed checks that of many attempts on many connections ten are made at once
// and then three a second, and that another address, and one that knows the password,
// notice nothing.
func TestGuesserIsSlowed(t *testing.T) {
	l := newLoginTest(t)
	var waiting []*engine.Session
	outcomes := map[string]int{}
	for i := range 100 {
		s := l.connect(t, "10.0.0.1")
		command := "AUTH wrong"
		if i%2 == 1 {
			command = "HELLO 3 AUTH default wrong"
		}
		outcome := guess(s, command)
		outcomes[outcome]++
		if outcome == "" {
			waiting = append(waiting, s)
		}
	}
	require.Equal(t, map[string]int{wrongPass: 10, "": 15, manyLogins: 75}, outcomes, "five seconds wait")
	require.Len(t, l.log, 1)
	require.Equal(t, "many logins from an address fail: further ones are slowed addr=10.0.0.1:1", l.log[0])

	other := l.connect(t, "10.0.0.2")
	require.Equal(t, wrongPass, guess(other, "AUTH wrong"))
	require.Equal(t, "OK", do(other, "AUTH right"))

	for second := 1; second <= 5; second++ {
		l.pass(1000)
		made := 0
		waitingStill := waiting[:0]
		for _, s := range waiting {
			if !s.Blocked().Over() {
				waitingStill = append(waitingStill, s)
				continue
			}
			require.Equal(t, wrongPass, show(s.Resume()))
			require.Nil(t, s.Blocked())
			made++
		}
		waiting = waitingStill
		require.Equal(t, 3, made, second)
	}
	require.Empty(t, waiting)
	require.Equal(t, "26", infoOf(other, "acl_access_denied_auth"))

	// Someone at the guesser's address who knows the password waits for his turn.
	late := l.connect(t, "10.0.0.1")
	require.Empty(t, guess(late, "AUTH right"))
	l.pass(400)
	require.Equal(t, "OK", show(late.Resume()))
	require.Equal(t, "PONG", do(late, "PING"))

	// When it is quiet, ten attempts are free again.
	l.pass(10_000)
	for range 10 {
		require.Equal(t, wrongPass, guess(l.connect(t, "10.0.0.1"), "AUTH wrong"))
	}
	require.Empty(t, guess(l.connect(t, "10.0.0.1"), "AUTH wrong"))
}

// TestGuesserLocksOutHisAddress checks what SECURITY.md says of clients behind one address, as
// behind a load balancer: while one of them guesses, nobody there logs in, who is logged in
// notices nothing, and the directive ends it.
func TestGuesserLocksOutHisAddress(t *testing.T) {
	l := newLoginTest(t)
	admin := l.connect(t, "10.0.0.1")
	require.Equal(t, "OK", do(admin, "AUTH right"))
	for range 100 {
		guess(l.connect(t, "10.0.0.1"), "AUTH wrong")
	}
	require.Equal(t, manyLogins, guess(l.connect(t, "10.0.0.1"), "AUTH right"))
	require.Equal(t, "OK", do(l.connect(t, "10.0.0.2"), "AUTH right"))
	require.Equal(t, "PONG", do(admin, "PING"))
	require.Equal(t, "OK", do(admin, "CONFIG SET failed-logins-per-second 0"))
	require.Equal(t, "OK", do(l.connect(t, "10.0.0.1"), "AUTH right"))
}

// TestRightLoginsAreNotSlowed checks that right passwords cost nothing, however many.
func TestRightLoginsAreNotSlowed(t *testing.T) {
	l := newLoginTest(t)
	for range 1000 {
		require.Equal(t, "OK", do(l.connect(t, "10.0.0.1"), "AUTH right"))
	}
	for range 10 {
		require.Equal(t, wrongPass, guess(l.connect(t, "10.0.0.1"), "AUTH wrong"))
	}
}

func TestLoginLimitIsOff(t *testing.T) {
	l := newLoginTest(t, "--failed-logins-per-second", "0")
	s := l.connect(t, "10.0.0.1")
	for range 1000 {
		require.Equal(t, wrongPass, guess(s, "AUTH wrong"))
	}
	require.Equal(t, "OK", do(s, "AUTH right"))
	require.Equal(t, "OK", do(s, "CONFIG SET failed-logins-per-second 1"))
	for range 10 {
		require.Equal(t, wrongPass, guess(s, "AUTH wrong"))
	}
	require.Empty(t, guess(s, "AUTH wrong"))
}

// TestLoginInTransaction checks that AUTH in EXEC, which cannot wait, is refused instead.
func TestLoginInTransaction(t *testing.T) {
	l := newLoginTest(t)
	s := l.connect(t, "10.0.0.1")
	require.Equal(t, "OK", do(s, "AUTH right"))
	do(s, "MULTI")
	for range 11 {
		require.Equal(t, "QUEUED", do(s, "AUTH wrong"))
	}
	reply := show(s.Do(args("EXEC")))
	require.Equal(t, 10, strings.Count(reply, "WRONGPASS"), reply)
	require.Equal(t, 1, strings.Count(reply, "too many logins"), reply)
	require.Nil(t, s.Blocked())
}

// TestWaitingLoginOfAConnectionThatEnds checks that a connection may end while its login
// waits.
func TestWaitingLoginOfAConnectionThatEnds(t *testing.T) {
	l := newLoginTest(t)
	for range 10 {
		require.Equal(t, wrongPass, guess(l.connect(t, "10.0.0.1"), "AUTH wrong"))
	}
	s := l.NewSession(engine.Peer{Addr: "10.0.0.1:2", Network: "10.0.0.1", Kill: func() {}})
	require.Empty(t, guess(s, "AUTH wrong"))
	admin := l.connect(t, "10.0.0.2")
	require.Equal(t, "OK", do(admin, "AUTH right"))
	require.Equal(t, "0", do(admin, fmt.Sprintf("CLIENT UNBLOCK %d", s.ID())))
	require.Equal(t, "1", do(admin, fmt.Sprintf("CLIENT KILL ID %d", s.ID())))
	require.Equal(t, resp.KindNone, s.Resume().Kind())
	s.Close()
	l.pass(10_000)
	require.Equal(t, "0", infoOf(admin, "blocked_clients"))
}

// TestManyAddresses checks that the addresses that are remembered are bounded, and that one
// that guesses much is not forgotten for those that guess a little.
func TestManyAddresses(t *testing.T) {
	race.OneGoroutine(t)
	l := newLoginTest(t)
	for range 10 {
		require.Equal(t, wrongPass, guess(l.connect(t, "guesser"), "AUTH wrong"))
	}
	for i := range 30_000 {
		s := l.NewSession(engine.Peer{Network: fmt.Sprint(i)})
		require.Equal(t, wrongPass, guess(s, "AUTH wrong"))
		s.Close()
	}
	require.Empty(t, guess(l.connect(t, "guesser"), "AUTH wrong"))
	require.LessOrEqual(t, l.LoginNetworks(), 10_000)
}
