// Package miniredis offers zlimittest under the names of alicebob/miniredis, as far as
// tests of rate limiters use them. If a test file compiles with this import instead of
// that one, the migration is done. docs/testing.md lists replacements for what is
// missing.
//
// It differs on purpose in one thing: there is one clock. FastForward moves TIME as
// well as every TTL, and SetTime moves every TTL as well as TIME. Otherwise the clock
// is frozen, so that a TTL reads as it was set. All other answers to clients are the
// server's, which is compared with Redis.
//
// This package is part of zlimit's API: docs/adr/0030 says what that promises.
package miniredis

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/zlimittest"
)

// Errors of direct calls, besides errors of the server that have no name here.
var (
	ErrKeyNotFound     = errors.New("ERR no such key")
	ErrWrongType       = errors.New("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrIntValueError   = errors.New("ERR value is not an integer or out of range")
	ErrFloatValueError = errors.New("ERR value is not a valid float")
)

// Tester is the part of testing.TB that RunT needs.
type Tester interface {
	Fatalf(format string, args ...any)
	Cleanup(fn func())
	Logf(format string, args ...any)
}

// Miniredis is a server for one test. Its methods may be called concurrently. Direct
// calls (Set, Get, ...) bypass the sockets and use the database that Select chose.
type Miniredis struct {
	*selected

	mu       sync.Mutex
	server   *zlimittest.Server // protected by mu, like the fields below; nil before the first start
	addr     string             // listening address, kept after Close; empty: none yet
	open     bool
	sessions map[int]*zlimit.Session // of direct calls, by database
	refusal  *zlimittest.Injected    // the fault of SetError
}

// selected has the methods that Miniredis shares with RedisDB.
type selected = RedisDB

// A RedisDB is a database, for direct calls.
type RedisDB struct {
	m  *Miniredis
	id atomic.Int64
}

// NewMiniRedis returns a server that is not started. Direct calls and Dial work on it.
func NewMiniRedis() *Miniredis {
	m := &Miniredis{sessions: make(map[int]*zlimit.Session)}
	m.selected = &RedisDB{m: m}
	return m
}

// Run starts a server on a free port of 127.0.0.1. The caller must Close it.
func Run() (*Miniredis, error) {
	m := NewMiniRedis()
	return m, m.Start()
}

// RunT starts a server and closes it when the test ends.
func RunT(t Tester) *Miniredis {
	m, err := Run()
	if err != nil {
		t.Fatalf("could not start miniredis: %v", err)
	}
	t.Cleanup(m.Close)
	return m
}

// Start starts a server on a free port or, after Close, on its previous port.
func (m *Miniredis) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start(m.addr)
}

// StartAddr starts a server at an address: "127.0.0.1:6379", ":0".
func (m *Miniredis) StartAddr(addr string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start(addr)
}

// Restart restarts a closed server on its previous port, with its keys.
func (m *Miniredis) Restart() error { return m.Start() }

// start starts a server. Requires mu.
func (m *Miniredis) start(addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	if err := m.ensureServer(); err != nil {
		return err
	}
	addr, err := m.server.Listen(addr)
	if err != nil {
		return err
	}
	m.addr = addr
	return nil
}

// ensureServer makes sure that a server runs, if only without a port. Requires mu.
func (m *Miniredis) ensureServer() error {
	if m.open {
		return nil
	}
	s, err := zlimittest.Start(zlimittest.Options{Frozen: true, After: m.server})
	if err != nil {
		return err
	}
	m.server, m.open = s, true
	clear(m.sessions)
	return nil
}

// Close closes the server and its connections. Direct calls still work, and Restart
// keeps the keys.
func (m *Miniredis) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.open {
		return
	}
	m.open = false
	if err := m.server.Close(); err != nil {
		panic("miniredis: " + err.Error())
	}
	clear(m.sessions)
}

// running returns the server, starting it without a port if necessary.
func (m *Miniredis) running() *zlimittest.Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server == nil {
		if err := m.ensureServer(); err != nil {
			panic("miniredis: " + err.Error())
		}
	}
	return m.server
}

// Dial opens an in-memory connection for a client's dialer, even before Start. It works
// in a bubble of testing/synctest.
func (m *Miniredis) Dial() (net.Conn, error) { return m.running().Dial() }

// Addr returns the TCP address, such as 127.0.0.1:12345.
func (m *Miniredis) Addr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addr
}

// Host returns the host of Addr.
func (m *Miniredis) Host() string {
	host, _, _ := net.SplitHostPort(m.Addr())
	return host
}

// Port returns the port of Addr.
func (m *Miniredis) Port() string {
	_, port, _ := net.SplitHostPort(m.Addr())
	return port
}

// DB returns a database by number.
func (m *Miniredis) DB(i int) *RedisDB {
	db := &RedisDB{m: m}
	db.id.Store(int64(i))
	return db
}

// Select chooses the database of direct calls.
func (m *Miniredis) Select(i int) { m.id.Store(int64(i)) }

// FlushAll empties every database.
func (m *Miniredis) FlushAll() { m.must("FLUSHALL") }

// SwapDB swaps two databases, and reports whether it did.
func (m *Miniredis) SwapDB(i, j int) bool {
	_, err := m.try("SWAPDB", i, j)
	return err == nil
}

// RequireAuth requires AUTH of new connections; empty: no longer.
func (m *Miniredis) RequireAuth(password string) {
	m.must("CONFIG", "SET", "requirepass", password)
}

// SetError makes every command of clients fail with this error; empty: no longer.
func (m *Miniredis) SetError(text string) {
	s := m.running()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refusal != nil {
		m.refusal.Remove()
		m.refusal = nil
	}
	if text != "" {
		m.refusal = s.Inject(zlimittest.Fault{
			Kind: zlimittest.Refuse, Text: text, On: "*",
			Times: zlimittest.Always,
		})
	}
}

// FastForward moves the clock. A key whose TTL reaches 0 expires, although Redis would
// keep it for that millisecond.
func (m *Miniredis) FastForward(d time.Duration) {
	m.moved(m.running().Inner().Engine().Clock().Advance(d.Milliseconds()))
}

// SetTime moves the clock to an instant in whole milliseconds, also backwards. Keys
// whose deadline has passed expire.
func (m *Miniredis) SetTime(t time.Time) {
	m.moved(m.running().Inner().Engine().Clock().Set(t.UnixMilli()))
}

// moved ends a move of the clock, which panics where the clock cannot show that.
func (m *Miniredis) moved(err error) {
	if err != nil {
		panic("miniredis: " + err.Error())
	}
	m.expire()
}

// expire removes the keys in their last millisecond.
func (m *Miniredis) expire() {
	m.running().Inner().Engine().Reclaim()
	for i := range 16 {
		db := m.DB(i)
		for _, k := range db.Keys() {
			if ms, _ := db.must("PTTL", k).(int64); ms == 0 {
				db.must("DEL", k)
			}
		}
	}
}

// CommandCount returns how many commands clients have sent.
func (m *Miniredis) CommandCount() int { return int(m.running().Commands()) }

// CurrentConnectionCount returns how many clients are connected.
func (m *Miniredis) CurrentConnectionCount() int { return m.running().Inner().Connections() }

// session returns the session of direct calls to a database.
func (m *Miniredis) session(id int) *zlimit.Session {
	server := m.running()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[id] == nil {
		limiter := server.Inner().Limiter()
		if !m.open {
			limiter = zlimit.Over(server.Inner().Engine()) // for the keys of a closed server
		}
		s := limiter.Session()
		if _, err := s.Do(context.Background(), "SELECT", id); err != nil {
			panic("miniredis: " + err.Error())
		}
		m.sessions[id] = s
	}
	return m.sessions[id]
}

// try runs a command in the database.
func (db *RedisDB) try(args ...any) (any, error) {
	reply, err := db.m.session(int(db.id.Load())).Do(context.Background(), args...)
	return reply, named(err)
}

// must runs a command that can fail only if the value has another type, which the
// caller has checked, or because of a bug in this package.
func (db *RedisDB) must(args ...any) any {
	reply, err := db.try(args...)
	if err != nil {
		panic("miniredis: " + err.Error())
	}
	return reply
}

// named maps an error to this package's variable for it.
func named(err error) error {
	for _, known := range []error{ErrWrongType, ErrIntValueError, ErrFloatValueError} {
		if err != nil && err.Error() == known.Error() {
			return known
		}
	}
	return err
}
