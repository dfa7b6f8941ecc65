package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/zlimit/zlimit/oracle"
)

// heldStartMs is the start of every held clock, so that runs do not depend on when they
// are made.
const heldStartMs = 1_800_000_000_000

// A held server has a clock that stands still until the program under test moves it.
// Limiters of several callers, on a machine of any speed, then see the same instants on
// both servers. Programs use the clock by HTTP, which every language has: GET /now and
// GET /advance?ms=N return the time in unix milliseconds.
type held struct {
	port  int
	clock string       // address of the clock
	align func() error // advances the clock to the next whole hour, wherever it was left
	lost  func() error
	stop  func() error // stops the clock and the server
}

// startHeld runs path in folder, with more flags. A redis-server, started through
// package oracle, ignores the first two.
func startHeld(ctx context.Context, path, folder string, redis bool, flags ...string) (*held, error) {
	if redis {
		h, _, err := startOracle(flags...)
		return h, err
	}
	s, err := start(ctx, path, folder, append([]string{"--enable-debug-command", "yes"}, flags...)...)
	if err != nil {
		return nil, err
	}
	set := func(nowMs int64) error { return s.debugClock("SET " + strconv.FormatInt(nowMs, 10)) }
	if err := errors.Join(s.debugClock("FREEZE"), set(heldStartMs)); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return newHeld(s.port, set, s.lost, s.stop)
}

// startOracle runs redis-server with args in addition to oracle's.
func startOracle(args ...string) (*held, *oracle.Redis, error) {
	r, err := oracle.Start(oracle.Options{NowMs: heldStartMs, Args: args})
	if err != nil {
		return nil, nil, err
	}
	_, portText, err := net.SplitHostPort(r.Addr())
	port, portErr := strconv.Atoi(portText)
	if err := errors.Join(err, portErr); err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	h, err := newHeld(port, r.SetClock, func() error { return nil }, r.Close)
	return h, r, err
}

func (s *server) debugClock(words string) error {
	reply, err := s.ask("DEBUG CLOCK " + words)
	if err == nil && reply != "+OK" {
		err = fmt.Errorf("DEBUG CLOCK %s: %s", words, reply)
	}
	return err
}

func newHeld(port int, set func(nowMs int64) error, lost, stop func() error) (*held, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	c := &clock{set: set, nowMs: heldStartMs}
	web := &http.Server{Handler: c.handler()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = web.Serve(listener) // until it is closed
	}()
	return &held{
		port: port, clock: "http://" + listener.Addr().String(), align: c.align, lost: lost,
		stop: func() error {
			err := web.Close()
			<-ended
			return errors.Join(err, stop())
		},
	}, nil
}

// A clock controls a server's time.
type clock struct {
	set   func(nowMs int64) error
	mu    sync.Mutex
	nowMs int64 // protected by mu
}

// advance moves the clock by what by returns for the current time. If the server does
// not follow, the clock keeps its time.
func (c *clock) advance(by func(nowMs int64) (ms int64, err error)) (nowMs int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ms, err := by(c.nowMs)
	if err == nil && ms < 0 {
		err = errors.New("the clock goes forward only")
	}
	if err == nil && ms > 0 {
		err = c.set(c.nowMs + ms)
	}
	if err != nil {
		return 0, err
	}
	c.nowMs += ms
	return c.nowMs, nil
}

func (c *clock) align() error {
	const hour = 3_600_000
	_, err := c.advance(func(nowMs int64) (int64, error) { return hour - nowMs%hour, nil })
	return err
}

func (c *clock) handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, by func(*http.Request) (int64, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			nowMs, err := c.advance(func(int64) (int64, error) { return by(r) })
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			fmt.Fprint(w, nowMs)
		})
	}
	answer("/now", func(*http.Request) (int64, error) { return 0, nil })
	answer("/advance", func(r *http.Request) (int64, error) {
		return strconv.ParseInt(r.FormValue("ms"), 10, 64)
	})
	return mux
}
