package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// Moves in a ring: each waits for the element that the one before moves. One push changes
// keys of many shards at once, while others do the same elsewhere in the ring.
func TestBlockingMovesMeet(t *testing.T) {
	const ring, pushers, pushes = 12, 4, 200
	e, _ := newEngine(t)
	var moving, pushing sync.WaitGroup
	for i := range ring {
		w := newClient(e, engine.Peer{})
		moving.Go(func() {
			defer w.Close()
			for {
				got := w.do(fmt.Sprintf("BLMOVE key%d key%d LEFT RIGHT 0", i, i+1))
				if got == "stop" {
					return
				}
			}
		})
	}
	for p := range pushers {
		s := newClient(e, engine.Peer{})
		pushing.Go(func() {
			defer s.Close()
			r := rand.New(rand.NewPCG(uint64(p), 7))
			for i := range pushes {
				at := r.IntN(ring)
				switch i % 3 {
				case 0:
					s.do(fmt.Sprintf("RPUSH key%d x", at))
				case 1:
					s.do("MULTI")
					s.do(fmt.Sprintf("RPUSH key%d x", at))
					s.do(fmt.Sprintf("INCR n%d", at))
					s.do("EXEC")
				default:
					s.do(fmt.Sprintf("EVAL return(redis.call('RPUSH','key%d','x')) 0", at))
				}
			}
		})
	}
	pushing.Wait()
	b := newClient(e, engine.Peer{})
	defer b.Close()
	last := fmt.Sprintf("key%d", ring)
	for b.do("LLEN "+last) != fmt.Sprint(pushers*pushes) {
		runtime.Gosched() // who was served once moves the rest when it is back
	}
	b.do("RPUSH key0 stop") // goes through all of them
	moving.Wait()
	require.Equal(t, "stop", b.do("LINDEX "+last+" -1"))
	require.Contains(t, b.do("INFO clients"), "blocked_clients:0\r\n")
}

// No element is lost or delivered twice while waits are served, time out, or are ended by
// CLIENT UNBLOCK or the end of their session.
func TestBlockingRaces(t *testing.T) {
	const takers, elements = 6, 600
	e, _ := newEngine(t)
	taken := make([][]string, takers)
	var taking sync.WaitGroup
	for i := range takers {
		taking.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 9))
			w := newClient(e, engine.Peer{})
			defer func() { w.Close() }()
			for {
				line := []string{"BLPOP k j stop 0", "BRPOP j k stop 0", "BLPOP stop j k 0"}[r.IntN(3)]
				reply := do(w.Session, line)
				if b := w.Blocked(); b != nil {
					switch r.IntN(6) {
					case 0:
						go b.TimeOut()
					case 1:
						if !w.Ready() {
							id := w.ID()
							go func() {
								do(e.NewSession(engine.Peer{}),
									fmt.Sprintf("CLIENT UNBLOCK %d", id))
							}()
							go b.TimeOut()
						}
					}
					for !w.Ready() {
						<-w.woken
					}
					reply = show(w.Resume())
				}
				switch {
				case strings.HasPrefix(reply, "[stop"):
					return
				case strings.HasPrefix(reply, "["):
					taken[i] = append(taken[i], strings.Fields(strings.Trim(reply, "[]"))[1])
				}
				if r.IntN(20) == 0 {
					w.Close()
					w = newClient(e, engine.Peer{})
				}
			}
		})
	}
	b := newSession(t, e)
	for i := range elements {
		do(b, fmt.Sprintf("RPUSH %s %d", []string{"k", "j"}[i%2], i))
	}
	for do(b, "EXISTS k j") != "0" {
		runtime.Gosched()
	}
	for range takers {
		do(b, "RPUSH stop x")
	}
	taking.Wait()
	seen := make(map[string]bool)
	for _, list := range taken {
		for _, elem := range list {
			require.False(t, seen[elem], "%s was handed out twice", elem)
			seen[elem] = true
		}
	}
	require.Len(t, seen, elements)
	require.Contains(t, do(b, "INFO clients"), "blocked_clients:0\r\n")
}

// TestBlockedShowsItsCommand: who finds a client in the count of those that are blocked finds the command
// that it waits with in CLIENT LIST, too, before the client's connection has shown its state.
func TestBlockedShowsItsCommand(t *testing.T) {
	e, _, other := newServer(t)
	do(other, "CLIENT PAUSE 100000 WRITE")
	for line, want := range map[string]string{"BLPOP k 0": "blpop", "SET k v": "set"} {
		s := newClient(e, engine.Peer{})
		s.Do(args("PING"))
		s.Publish(engine.Buffers{})
		s.Do(args(line))
		require.Contains(t, do(other, fmt.Sprintf("CLIENT LIST ID %d", s.ID())), " cmd="+want+" ", line)
		s.Close()
	}
}
