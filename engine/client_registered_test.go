package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
)

// A registration is a command that makes the server remember names for a client.
type registration struct {
	command string // with the option before each name, if there is one
	each    string
	end     string
}

var registrations = map[string]registration{
	"WATCH":      {command: "WATCH", end: "UNWATCH"},
	"SUBSCRIBE":  {command: "SUBSCRIBE", end: "UNSUBSCRIBE"},
	"PSUBSCRIBE": {command: "PSUBSCRIBE", end: "PUNSUBSCRIBE"},
	"SSUBSCRIBE": {command: "SSUBSCRIBE", end: "SUNSUBSCRIBE"},
	"PREFIX":     {command: "CLIENT TRACKING ON BCAST", each: "PREFIX", end: "CLIENT TRACKING OFF"},
}

// call returns the command for names from number first on, each of size bytes.
func (r *registration) call(first, names, size int) [][]byte {
	out := args(r.command)
	for i := range names {
		out = append(out, args(r.each)...)
		out = append(out, fmt.Appendf(nil, "%0*d", size, first+i))
	}
	return out
}

// run runs a command and drops what it has sent the session.
func run(s *engine.Session, args [][]byte) {
	s.Do(args)
	s.Deliver(nil)
}

// TestRegistrationsTakeTheHeap compares the bytes counted for a client's registrations with the heap they
// take, in every figure, and requires 0 after they end.
func TestRegistrationsTakeTheHeap(t *testing.T) {
	if race.Enabled {
		t.Skip("the heap is compared, and the race detector adds to it")
	}
	const names = 5_000
	for name, r := range registrations {
		for _, size := range []int{10, 300} {
			t.Run(fmt.Sprintf("%s of %d bytes", name, size), func(t *testing.T) {
				v := newEvictions(t)
				s, watcher := v.open(), v.open()
				do(s, "HELLO 3")
				figures := func() [3]int64 {
					use := v.engine.MemoryUse()
					return [3]int64{int64(v.field(watcher, s, "tot-mem")), use.Clients, use.Used()}
				}
				call := r.call(0, names, size)
				empty, free := figures(), heapNow()
				run(s, call)
				took, counted := heapNow()-free, figures()
				for i, n := range counted {
					require.InEpsilon(t, took, n-empty[i], 0.2, i)
				}
				runtime.KeepAlive(call)
				run(s, args(r.end))
				require.Equal(t, empty, figures())
				require.Less(t, heapNow()-free, took/20, "the memory is free")
			})
		}
	}
}

// TestRegistrationsAreEvicted checks that a client that registers more than maxmemory-clients is closed,
// whether by one command or by many, and that another that registers little is not.
func TestRegistrationsAreEvicted(t *testing.T) {
	race.OneGoroutine(t)
	for name, r := range registrations {
		for _, each := range []int{1, 20_000} {
			t.Run(fmt.Sprintf("%s of %d", name, each), func(t *testing.T) {
				v := newEvictions(t)
				good, bad := v.open(), v.open()
				require.Equal(t, "OK", do(good, "CONFIG SET maxmemory-clients 128kb"))
				for _, s := range []*engine.Session{good, bad} {
					do(s, "HELLO 3")
				}
				run(good, r.call(100_000, 20, 10))
				registered := 0
				for ; registered < 12_000 && !v.killed[bad.ID()]; registered += each {
					run(bad, r.call(registered, each, 10))
					bad.Publish(engine.Buffers{})
				}
				require.Equal(t, map[int64]bool{bad.ID(): true}, v.killed)
				if each == 1 {
					t.Log("evicted after", registered)
					require.Greater(t, registered, 500, "each counts for what it takes")
				}
				bad.Close()
				require.Equal(t, "1", infoOf(good, "evicted_clients"))
				good.Publish(engine.Buffers{})
				require.Len(t, v.killed, 1)
			})
		}
	}
}

// TestClientFiguresAgree checks that mem_clients_normal is the sum of tot-mem.
func TestClientFiguresAgree(t *testing.T) {
	v := newEvictions(t)
	watcher := v.open()
	for name, r := range registrations {
		s := v.open()
		do(s, "HELLO 3")
		run(s, r.call(0, 1000, 20))
		sum := int64(0)
		for line := range strings.Lines(do(watcher, "CLIENT LIST")) {
			var n int64
			_, after, found := strings.Cut(line, " tot-mem=")
			require.True(t, found, line)
			_, err := fmt.Sscan(after, &n)
			require.NoError(t, err)
			sum += n
		}
		require.Equal(t, fmt.Sprint(sum), infoOf(watcher, "mem_clients_normal"), name)
	}
}
