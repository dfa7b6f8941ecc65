package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit/lab/abuse"
)

// kinds are the clients of the load.
var kinds = []struct {
	name    string
	clients int
	round   func(w *worker) error // one round of a client
}{
	{"limiter", 3, limiter},
	{"keys", 2, shortKeys},
	{"script", 2, script},
	{"transaction", 1, transaction},
	{"publisher", 1, publisher},
	{"subscriber", 2, subscriber},
	{"blocked", 1, blocked},
	{"waiter", 3, waiter},
	{"operator", 1, operator},
	{"leaver", 2, leaver},
}

// roundsPerSession is after how many rounds a client reconnects.
const roundsPerSession = 50

// A worker is a client of the load, over its many connections.
type worker struct {
	*abuse.Client
	addr  string
	id    int
	round int
	calls *atomic.Int64
}

// session runs some rounds over one connection.
func (w *worker) session(ctx context.Context, round func(*worker) error) (err error) {
	if w.Client, err = abuse.Dial(w.addr, ""); err != nil {
		return err
	}
	defer func() { w.Close() }() // the client of that moment: a leaver has another by then
	// At the end nobody may wait for a message that nobody sends any more.
	first := w.Client
	defer context.AfterFunc(ctx, func() { first.Close() })()
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for range roundsPerSession {
		if ctx.Err() != nil {
			return nil
		}
		w.round++
		if err := round(w); err != nil && ctx.Err() == nil {
			return err
		}
		<-pace.C
	}
	return nil
}

// key returns the name of a key that others use too, of so many.
func (w *worker) key(prefix string, n int) string { return prefix + strconv.Itoa(rand.IntN(n)) }

// do sends a command and requires a reply that is no error.
func (w *worker) do(args ...string) (any, error) {
	w.calls.Add(1)
	reply, err := w.Do(args...)
	if err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return reply, err
}

// expect is do for a reply that is known.
func (w *worker) expect(want any, args ...string) error {
	reply, err := w.do(args...)
	if err == nil && reply != want {
		err = fmt.Errorf("%s: the reply is %v, not %v", strings.Join(args, " "), reply, want)
	}
	return err
}

// each runs commands whose replies do not matter.
func (w *worker) each(commands ...string) error {
	for _, c := range commands {
		if _, err := w.do(strings.Fields(c)...); err != nil {
			return err
		}
	}
	return nil
}

func limiter(w *worker) error {
	key := w.key("user:", 2000)
	id := fmt.Sprintf("%d:%d", w.id, w.round)
	several := fmt.Sprintf(" 3 requests:%s tokens:%[1]s slots:%[1]s ", key)
	return w.each("RL.ALLOW "+key+" 10 1s", "RL.ALLOW log:"+key+" 5 2s COST 2", "RL.INFO "+key,
		"RL.RESERVE held:"+key+" 1000 1s 2 HOLD 500 ID "+id, "RL.SETTLE held:"+key+" "+id+" 1",
		"RL.ACQUIRE slots:"+key+" 1000 LEASE 500 ID "+id, "RL.RELEASE slots:"+key+" "+id,
		"RL.MRESERVE"+several+"TERM 1000 1s TERM 9000 2s ALGO FIXED COST 9 TERM SLOTS 1000 LEASE 500 "+
			"HOLD 500 ID "+id,
		"RL.MSETTLE"+several+id+" 1 5 0")
}

func shortKeys(w *worker) error {
	key := fmt.Sprintf("short:%d:%d", w.id, w.round)
	if err := w.expect("OK", "SET", key, strings.Repeat("v", 10+w.round%500), "PX", "500"); err != nil {
		return err
	}
	key = w.key("kept:", 500)
	return w.each("INCR "+key+":n", "EXPIRE "+key+":n 2", "HSET "+key+":h f "+key, "EXPIRE "+key+":h 2",
		"ZADD "+key+":z 1 a 2 b", "PEXPIRE "+key+":z 700", "LPUSH "+key+":l a b c", "PEXPIRE "+key+":l 700",
		"DEL "+key+":gone")
}

func script(w *worker) error {
	const count = "local n = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], 900) return n"
	if _, err := w.do("EVAL", count, "1", w.key("script:", 200)); err != nil {
		return err
	}
	// Sources of which each is new fill the cache, which must stay bounded.
	if err := w.expect(int64(w.round), "EVAL", fmt.Sprintf("return %d", w.round), "0"); err != nil {
		return err
	}
	if w.round%20 == 0 {
		_, err := w.Do("EVAL", "local t = {} for i = 1, 20000 do t[i] = {i} end "+
			"return redis.error_reply('OUT full')", "0")
		var refusal abuse.ErrorReply
		if !errors.As(err, &refusal) || !strings.HasPrefix(string(refusal), "OUT full") {
			return fmt.Errorf("the script's error is %w", err)
		}
	}
	return nil
}

func transaction(w *worker) error {
	key := w.key("tx:", 100)
	err := w.each("WATCH "+key, "MULTI", "INCR "+key, "PEXPIRE "+key+" 800", "EXEC")
	if w.round%7 == 0 {
		err = errors.Join(err, w.each("MULTI", "SET "+key+" x", "DISCARD"))
	}
	return err
}

func publisher(w *worker) error {
	return w.each("PUBLISH news:" + strconv.Itoa(w.round%10) + " " + strings.Repeat("m", 200))
}

// subscriber subscribes, reads some messages, and hangs up without unsubscribing.
func subscriber(w *worker) error {
	if w.round%roundsPerSession == 1 {
		if err := w.each("SUBSCRIBE news:"+strconv.Itoa(w.id%10), "PSUBSCRIBE news:*"); err != nil {
			return err
		}
	}
	_, err := w.Reply()
	return err
}

// blocked waits for elements, which come every second time.
func blocked(w *worker) error {
	queue := "queue:" + strconv.Itoa(w.id)
	if w.round%2 == 0 {
		if _, err := w.do("RPUSH", queue, "job"); err != nil {
			return err
		}
	}
	_, err := w.do("BLPOP", queue, "0.01")
	return err
}

// waiter waits for room in keys that others wait for as well.
func waiter(w *worker) error {
	id := strconv.Itoa(w.id)
	return w.each("RL.ALLOW wait:log 20 20 WAIT 1s",
		"RL.MALLOW 2 wait:log wait:slots TERM 20 20 TERM SLOTS 2 LEASE 500 ID "+id+" WAIT 50",
		"RL.RELEASE wait:slots "+id, "RL.ACQUIRE wait:slots 1 LEASE 10 ID "+id+" WAIT 30")
}

func operator(w *worker) error {
	hz := []string{"10", "20", "50"}[w.round%3]
	if err := w.each("CONFIG SET hz "+hz, "INFO everything", "CLIENT LIST", "CONFIG GET *",
		"SCAN 0 COUNT 500", "KEYS user:1*", "TYPE user:1", "DBSIZE"); err != nil {
		return err
	}
	if w.round%25 == 0 {
		id, err := w.do("CLIENT", "ID")
		if err != nil {
			return err
		}
		return w.each(fmt.Sprintf("CLIENT TRACKING ON REDIRECT %d", id), "GET user:1:n",
			"CLIENT TRACKING OFF", "SCRIPT FLUSH")
	}
	return nil
}

// leaver hangs up in the middle of something.
func leaver(w *worker) error {
	switch w.round % 5 {
	case 0:
		return w.each("MULTI", "SET left 1")
	case 4:
		return w.reconnect(abuse.Command("RL.ALLOW", "wait:never", "1", "1h", "WAIT", "1h"))
	case 1:
		return w.reconnect(abuse.Command("BLPOP", "never", "0"))
	case 2:
		return w.reconnect([]byte("*2\r\n$4\r\nECHO\r\n$100000\r\nhalf"))
	}
	return w.reconnect(abuse.Command("MONITOR"))
}

// reconnect sends the beginning of something, hangs up and connects again.
func (w *worker) reconnect(b []byte) error {
	if err := w.Send(b); err != nil {
		return err
	}
	w.Close()
	c, err := abuse.Dial(w.addr, "")
	if err == nil {
		w.Client = c
	}
	return err
}
