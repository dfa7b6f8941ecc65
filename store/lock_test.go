package store

import (
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// requireIdle requires that no lock is held or waited for.
func requireIdle(t *testing.T, s *Store) {
	t.Helper()
	for i := range s.locks {
		l := &s.locks[i].shardLock
		require.EqualValues(t, lockFree, l.state.Load(), "shard %d", i)
		require.Nil(t, l.first)
		require.Nil(t, l.last)
	}
}

func TestLockUnless(t *testing.T) {
	s := New()
	require.True(t, s.LockOrCancel(0b1010, closed), "a free set is locked, whatever cancel says")
	require.False(t, s.LockOrCancel(0b1111, closed))
	require.True(t, s.LockOrCancel(0b0101, closed), "the canceled call released everything")
	s.Unlock(0b0101)

	cancel, done := make(chan struct{}), make(chan bool)
	go func() { done <- s.LockOrCancel(AllShards, cancel) }()
	cancel <- struct{}{} // unbuffered: it has been waiting
	require.False(t, <-done)
	s.Unlock(0b1010)
	requireIdle(t, s)

	s.Lock(1)
	go func() { done <- s.LockOrCancel(1, cancel) }()
	go func() { s.Unlock(1) }()
	require.True(t, <-done)
	s.Unlock(1)
	requireIdle(t, s)
}

// lockSlow leaves its waiter to the lock, so a lock without one was tried once.
func TestTryLockTriesOnce(t *testing.T) {
	s := New()
	s.Lock(0b10)
	require.False(t, s.TryLock(0b11))
	require.Nil(t, s.locks[1].spare, "the call waited")
	require.True(t, s.TryLock(0b01), "the call released what it had locked")
	require.False(t, s.LockOrCancel(0b10, closed))
	require.NotNil(t, s.locks[1].spare)
	s.Unlock(0b11)
	requireIdle(t, s)
}

func TestTryLockOfContended(t *testing.T) {
	var l shardLock
	l.lock()
	w := l.enqueue()
	require.False(t, l.tryLock(), "held")
	l.unlock()
	require.True(t, l.tryLock(), "w has not woken up yet")
	<-w.ready
	require.False(t, l.claim(w))
	l.unlock()
	require.False(t, l.tryLock(), "handed to w")
	<-w.ready
	require.True(t, l.claim(w))
	l.unlock()
	require.True(t, l.tryLock())
}

func TestSpinningFollowsGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, n := range []int{1, 2, 1, 4} {
		runtime.GOMAXPROCS(n)
		var l shardLock
		l.lock()
		require.False(t, l.lockUnless(closed))
		require.Equal(t, n > 1, spinning.Load(), "GOMAXPROCS %d", n)
	}
}

func TestUnlockOfUnlocked(t *testing.T) {
	require.Panics(t, func() { New().Unlock(1) })
}

// The worst case for a waiter is that each time the lock is unlocked, another goroutine acquires it first.
// That must happen only once.
func TestLockIsHandedOver(t *testing.T) {
	var l shardLock
	l.lock()
	w := l.enqueue()
	second := l.enqueue()
	l.unlock()
	l.lock() // before w wakes up
	l.unlock()
	l.lock()
	<-w.ready
	require.False(t, l.claim(w), "held by another")
	l.unlock()
	require.False(t, l.lockUnless(closed), "handed to w")
	<-w.ready
	require.True(t, l.claim(w))
	l.unlock()
	require.True(t, l.lockUnless(closed), "second has not woken up yet")
	l.unlock()
	<-second.ready
	require.True(t, l.claim(second))
	l.unlock()
	require.EqualValues(t, lockFree, l.state.Load())
}

// The lock stays usable whenever a waiter cancels.
func TestLockCanceled(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(l *shardLock, first, second *lockWaiter)
	}{
		{"the first, while the lock is held", func(l *shardLock, first, second *lockWaiter) {
			require.False(t, l.cancel(first))
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, woken already", func(l *shardLock, first, second *lockWaiter) {
			l.unlock()
			require.False(t, l.cancel(first))
			<-second.ready // woken instead
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, woken, with the lock held again", func(l *shardLock, first, second *lockWaiter) {
			l.unlock()
			l.lock()
			require.False(t, l.cancel(first))
			require.Empty(t, second.ready)
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, with the lock handed to it", func(l *shardLock, first, second *lockWaiter) {
			l.unlock()
			l.lock()
			<-first.ready
			require.False(t, l.claim(first))
			l.unlock()
			require.True(t, l.cancel(first), "too late")
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"both, while the lock is held", func(l *shardLock, first, second *lockWaiter) {
			require.False(t, l.cancel(second))
			require.False(t, l.cancel(first))
			require.EqualValues(t, lockHeld, l.state.Load())
			l.unlock()
		}},
		{"both, with the first woken", func(l *shardLock, first, second *lockWaiter) {
			l.unlock()
			require.False(t, l.cancel(first))
			require.False(t, l.cancel(second))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l shardLock
			l.lock()
			tc.play(&l, l.enqueue(), l.enqueue())
			require.EqualValues(t, lockFree, l.state.Load())
			require.Nil(t, l.first)
			require.Nil(t, l.last)
		})
	}
}

// Many goroutines lock random sets, some of them cancel, and each increments plain counters.
func TestLocksExclude(t *testing.T) {
	const callers, rounds = 12, 400
	s := New()
	var counters [NumShards]int // each protected by its shard
	var want [callers][NumShards]int
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			cancel := make(chan struct{}, 1)
			for range rounds {
				set := ShardSet(0)
				switch r.IntN(8) {
				case 0:
					set = AllShards
				case 1, 2:
					set = ShardSet(r.Uint64() & r.Uint64() & r.Uint64())
				default:
					set = 1 << r.IntN(3) // few, for contention
				}
				select {
				case cancel <- struct{}{}:
				default:
				}
				switch r.IntN(3) {
				case 0:
					s.Lock(set)
				case 1:
					if !s.LockOrCancel(set, cancel) {
						continue
					}
				default:
					if !s.TryLock(set) {
						continue
					}
				}
				for rest := uint64(set); rest != 0; rest &= rest - 1 {
					i := bits.TrailingZeros64(rest)
					counters[i]++
					want[g][i]++
				}
				s.Unlock(set)
			}
		})
	}
	wg.Wait()
	var sum [NumShards]int
	for g := range want {
		for i, n := range want[g] {
			sum[i] += n
		}
	}
	require.Equal(t, sum, counters)
	requireIdle(t, s)
}

// Callers that keep locking single shards must not starve one that wants all of them.
func TestAllShardsAreNotStarved(t *testing.T) {
	s := New()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := g; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				set := ShardSet(1) << (i % 4)
				s.Lock(set)
				s.Unlock(set)
			}
		})
	}
	for range 20 {
		s.Lock(AllShards)
		s.Unlock(AllShards)
	}
	close(stop)
	wg.Wait()
	requireIdle(t, s)
}

// The uncontended path must not allocate.
func TestLockWithoutWaiting(t *testing.T) {
	s := New()
	cancel := make(chan struct{})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Lock(0b101)
		s.Unlock(0b101)
		s.LockOrCancel(0b101, cancel)
		s.Unlock(0b101)
	}))
}
