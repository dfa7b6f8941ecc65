package zlimit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/durable"
	"github.com/zlimit/zlimit/resp"
)

// inProcess is the address of in-process sessions in CLIENT LIST.
const inProcess = "in-process"

// A Session corresponds to a connection: it has a selected database, a protocol, a transaction after MULTI,
// and watched keys. Its methods may be called concurrently, but run one after the other; a transaction
// belongs to one caller.
type Session struct {
	limiter *Limiter

	mu   sync.Mutex
	in   *engine.Session // protected by mu, like the fields below; nil after Close
	woke chan struct{}   // the wait of a blocked command may be over
	args [][]byte
}

// Session opens a session. It needs no password. After Close of the Limiter its methods return ErrClosed.
func (l *Limiter) Session() *Session {
	s := &Session{limiter: l, woke: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return s
	}
	s.in = l.engine.NewSession(engine.Peer{
		Addr: inProcess, LocalAddr: inProcess, FD: -1, Local: true, Owner: true,
		Wake: func() {
			select {
			case s.woke <- struct{}{}:
			default: // already signaled
			}
		},
	})
	l.sessions[s] = struct{}{}
	return s
}

// Close closes the session and discards an open transaction.
func (s *Session) Close() {
	s.limiter.mu.Lock()
	delete(s.limiter.sessions, s)
	s.limiter.mu.Unlock()
	s.end()
}

// end closes the engine's session after the current call.
func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in != nil {
		s.in.Close()
		s.in = nil
	}
}

// Do runs one command in a new session: Do(ctx, "ZCARD", "user:42"). Arguments are strings, byte slices,
// integers, floats, booleans (1 and 0) or durations (whole milliseconds). See Session.Do for the reply.
func (l *Limiter) Do(ctx context.Context, args ...any) (any, error) {
	s := l.Session()
	defer s.Close()
	return s.Do(ctx, args...)
}

// Do runs one command. It returns an int64, a string, a bool, a float64, nil, a []any of these, or, after
// HELLO 3, a map[any]any. An error reply is an Error; errors inside an array, such as EXEC's, are elements of
// it.
//
// A blocking command (BLPOP) waits until it is served, its timeout is over, ctx is done, or the Limiter is
// closed. ctx also ends a wait for the disk: the command may then have run. Other commands are not
// interrupted. A session cannot receive messages of its subscriptions; that takes a connection, for example
// through server/pipe.
func (s *Session) Do(ctx context.Context, args ...any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in == nil {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, errNoCommand
	}
	s.args = s.args[:0]
	for i, a := range args {
		text, err := argument(a)
		if err != nil {
			return nil, fmt.Errorf("zlimit: argument %d: %w", i, err)
		}
		s.args = append(s.args, text)
	}
	s.in.Cancel(ctx)
	defer s.in.Cancel(nil)
	reply := s.in.Do(s.args)
	s.in.Publish(engine.Buffers{})
	if s.in.Canceled() {
		return nil, ctx.Err()
	}
	for s.in.Blocked() != nil {
		var err error
		if reply, err = s.wait(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.in.WaitDurable(); err != nil {
		if errors.Is(err, durable.ErrCanceled) {
			err = ctx.Err()
		}
		return nil, err
	}
	if reply.IsError() {
		return nil, replyError(reply)
	}
	return native(reply, s.in.Proto()), nil
}

// wait waits for a blocked command. It requires mu.
func (s *Session) wait(ctx context.Context) (resp.Value, error) {
	var over <-chan time.Time
	b := s.in.Blocked()
	if ms := b.TimeoutMs(); ms > 0 {
		timer := time.NewTimer(time.Duration(min(ms, maxWaitMs)) * time.Millisecond)
		defer timer.Stop()
		over = timer.C
	}
	var cause error
	for !s.in.Ready() {
		select {
		case <-s.woke:
		case <-over:
			b.TimeOut()
		case <-ctx.Done():
			cause = ctx.Err()
			b.TimeOut() // no effect if it was served just before
		case <-s.limiter.ending:
			cause = ErrClosed
			b.TimeOut()
		}
	}
	reply := s.in.Resume()
	if cause != nil && (reply.Kind() == resp.KindNull || reply.Kind() == resp.KindNullArray) {
		return reply, cause
	}
	return reply, nil
}

// maxWaitMs replaces longer timeouts, which a Duration may not hold.
const maxWaitMs = 100 * 365 * 24 * 3600 * 1000

// argument formats a value as a client would.
func argument(a any) ([]byte, error) {
	switch v := a.(type) {
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	case int:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(nil, v, 10), nil
	case int32:
		return strconv.AppendInt(nil, int64(v), 10), nil
	case uint64:
		return strconv.AppendUint(nil, v, 10), nil
	case float64:
		return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
	case bool:
		if v {
			return []byte("1"), nil
		}
		return []byte("0"), nil
	case time.Duration:
		if v%time.Millisecond != 0 {
			return nil, errDuration
		}
		return strconv.AppendInt(nil, v.Milliseconds(), 10), nil
	}
	return nil, fmt.Errorf("a %T is no argument of a command", a)
}

// native converts a reply to Go types, as a copy.
func native(v resp.Value, proto int) any {
	switch v.Kind() {
	case resp.KindInteger:
		return v.Int()
	case resp.KindBulkInt:
		return strconv.FormatInt(v.Int(), 10)
	case resp.KindBool:
		if proto < resp.RESP3 {
			return v.Int()
		}
		return v.Int() != 0
	case resp.KindDouble:
		if proto < resp.RESP3 {
			return string(resp.AppendFloat(nil, v.Float()))
		}
		return v.Float()
	case resp.KindNone, resp.KindNull, resp.KindNullArray:
		return nil
	case resp.KindError:
		return replyError(v)
	case resp.KindMap:
		if proto < resp.RESP3 {
			break
		}
		pairs := v.Elems()
		m := make(map[any]any, len(pairs)/2)
		for i := 0; i+1 < len(pairs); i += 2 {
			key := native(pairs[i], proto)
			if _, odd := key.([]any); odd {
				key = fmt.Sprint(key) // slices cannot be keys; none of our replies has one
			}
			m[key] = native(pairs[i+1], proto)
		}
		return m
	case resp.KindArray, resp.KindSet, resp.KindPush:
	default:
		return strings.Clone(v.Str())
	}
	elems := v.Elems()
	out := make([]any, len(elems))
	for i := range elems {
		out[i] = native(elems[i], proto)
	}
	return out
}
