package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// A hitModel is what a limiter has recorded, as a map for each key: it knows which hits are
// lost because another one has the same member.
type hitModel struct {
	hits map[string]map[string]int64 // score by member, by key
	lost int
}

func (m *hitModel) add(key, member string, score int64) {
	if m.hits[key] == nil {
		m.hits[key] = make(map[string]int64)
	}
	if _, there := m.hits[key][member]; there {
		m.lost++
	}
	m.hits[key][member] = score
}

func (m *hitModel) trim(key string, through int64) {
	for member, score := range m.hits[key] {
		if score <= through {
			delete(m.hits[key], member)
		}
	}
}

// lostHits runs a random flow and returns how many hits the model has lost and the doctor
// has found.
func lostHits(t *testing.T, seed uint64) (lost, found int) {
	r := rand.New(rand.NewPCG(seed, seed))
	w := newScene(t)
	m := &hitModel{hits: make(map[string]map[string]int64)}
	units := []int64{1, 1000, 1_000_000, 1_000_000_000} // in a second
	clients := []string{"a", "b", "c"}
	member := func(now int64) string {
		if r.IntN(4) == 0 {
			return fmt.Sprint(now, "-", r.Int64())
		}
		return ms(now)
	}
	for range 400 {
		key := fmt.Sprint("limit:", r.IntN(3))
		perSecond := units[len(key)%2+r.IntN(2)*int(seed%2)]
		now := w.nowMs() * perSecond / 1000
		s := w.client(clients[r.IntN(len(clients))])
		one := member(now)
		switch r.IntN(7) {
		case 0:
			doWords(s, "ZREMRANGEBYSCORE", key, "0", ms(now-5*perSecond))
			m.trim(key, now-5*perSecond)
		case 1:
			w.hands.pass(r.Int64N(700))
		case 2:
			doWords(s, "ZADD", key, "CH", ms(now), ms(now), ms(now+1), ms(now+1), ms(now), ms(now))
			for _, at := range []int64{now, now + 1, now} {
				m.add(key, ms(at), at)
			}
		case 3: // several at once
			doWords(s, "MULTI")
			for i := range int64(3) {
				doWords(s, "ZADD", key, ms(now+i), ms(now+i))
				m.add(key, ms(now+i), now+i)
			}
			doWords(s, "EXEC")
		case 4:
			doWords(s, "EVAL", "return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])", "1", key, ms(now), one)
			m.add(key, one, now)
		default:
			doWords(s, "ZADD", key, ms(now), one)
			m.add(key, one, now)
		}
	}
	for _, f := range w.found() {
		if words := strings.Fields(f); words[0] == "merged-hits" {
			n, err := strconv.Atoi(words[1])
			require.NoError(t, err)
			found += n
		}
	}
	return m.lost, found
}

// TestDoctorFindsEveryLostHit checks that the merged hits that are found in random flows
// are those that are lost.
func TestDoctorFindsEveryLostHit(t *testing.T) {
	race.OneGoroutine(t)
	sum := 0
	for seed := range uint64(40) {
		lost, found := lostHits(t, seed)
		require.Equal(t, lost, found, "seed %d", seed)
		sum += lost
	}
	require.Greater(t, sum, 400, "the flows lose hits")
}

// TestDoctorWhileSwitched: sessions run while the doctor is turned on and off, reset and
// asked, and its findings are complete afterwards.
func TestDoctorWhileSwitched(t *testing.T) {
	e, _ := newEngine(t, "--rl-doctor", "yes")
	var all sync.WaitGroup
	const clients, hits = 4, 300
	for i := range clients {
		s := newSession(t, e)
		all.Go(func() {
			for n := range hits {
				doWords(s, "CLIENT", "SETNAME", fmt.Sprint("c", (i+n)%3))
				at := ms(startNowMs + int64(n/10))
				for _, line := range [][]string{
					{"ZREMRANGEBYSCORE", "k", "0", ms(startNowMs - 1000)},
					{"ZCARD", "k"},
					{"ZADD", "k", at, at},
					{"INCR", fmt.Sprint("n:", n)},
					{"EXPIRE", fmt.Sprint("n:", n-1), "60"},
					{"EVAL", "return redis.call('GET', KEYS[1])", "1", "n:1"},
					{"KEYS", "zzz*"},
				} {
					doWords(s, line...)
				}
			}
		})
	}
	admin := newSession(t, e)
	for i := range 200 {
		do(admin, "CONFIG SET rl-doctor "+[]string{"yes", "no"}[i%2])
		do(admin, "RL.DOCTOR")
		if i%20 == 0 {
			do(admin, "RL.DOCTOR RESET")
		}
		e.Tick()
	}
	all.Wait()
	do(admin, "CONFIG SET rl-doctor yes")
	do(admin, "RL.DOCTOR RESET")
	do(admin, fmt.Sprint("ZADD k ", startNowMs, " ", startNowMs))
	require.Contains(t, do(admin, "RL.DOCTOR"), "[[problem merged-hits count 1 pattern k ")
}

// TestDoctorOffCostsNothing checks that without rl-doctor a session has no observer, and
// that with it the commands of limiters do not allocate.
func TestDoctorOffCostsNothing(t *testing.T) {
	for _, on := range []string{"no", "yes"} {
		_, _, s := newServer(t, "--rl-doctor", on)
		lines := [][][]byte{
			args("ZREMRANGEBYSCORE k 0 1699999940000"), args("ZCARD k"),
			args("ZADD k 1700000000000 1700000000000"), args("INCR n"), args("EXPIRE n 60"),
		}
		run := func() {
			for _, line := range lines {
				s.Do(line)
			}
		}
		run()
		require.Zero(t, testing.AllocsPerRun(1000, run), "rl-doctor %s", on)
	}
}
