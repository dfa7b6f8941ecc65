package store

import (
	"math/bits"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

var closed = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// rest requires that nobody holds a lock or waits for one.
func rest(t *testing.T, s *Store) {
	t.Helper()
	for i := range s.locks {
		l := &s.locks[i].shardLock
		require.EqualValues(t, lockFree, l.state.Load(), "shard %d", i)
		require.Nil(t, l.first)
		require.Nil(t, l.last)
	}
}

func TestLockIsOneCacheLine(t *testing.T) {
	require.EqualValues(t, 64, unsafe.Sizeof(paddedLock{}))
}

func TestLockUnless(t *testing.T) {
	s := New()
	require.True(t, s.LockUnless(0b1010, closed), "what is free is taken, whatever giveUp says")
	require.False(t, s.LockUnless(0b1111, closed))
	require.True(t, s.LockUnless(0b0101, closed), "and nothing is kept by who gave up")
	s.Unlock(0b0101)

	giveUp, done := make(chan struct{}), make(chan bool)
	go func() { done <- s.LockUnless(AllShards, giveUp) }()
	giveUp <- struct{}{} // unbuffered: it has been waiting
	require.False(t, <-done)
	s.Unlock(0b1010)
	rest(t, s)

	s.Lock(1)
	go func() { done <- s.LockUnless(1, giveUp) }()
	go func() { s.Unlock(1) }()
	require.True(t, <-done)
	s.Unlock(1)
	rest(t, s)
}

func TestUnlockOfWhatNobodyHolds(t *testing.T) {
	require.Panics(t, func() { New().Unlock(1) })
}

// TestLockIsHandedOver plays the worst that can happen to one who waits: each
// time the lock falls free, somebody else is there first. That works once.
func TestLockIsHandedOver(t *testing.T) {
	var l shardLock
	l.lock()
	q := l.enqueue()
	behind := l.enqueue()
	l.unlock()
	l.lock() // before q has come
	l.unlock()
	l.lock()
	<-q.ready
	require.False(t, l.claim(q), "somebody holds it")
	l.unlock()
	require.False(t, l.lockUnless(closed), "it is q's now")
	<-q.ready
	require.True(t, l.claim(q))
	l.unlock()
	require.True(t, l.lockUnless(closed), "behind has not come yet")
	l.unlock()
	<-behind.ready
	require.True(t, l.claim(behind))
	l.unlock()
	require.EqualValues(t, lockFree, l.state.Load())
}

// TestLockGivenUp plays who leaves a queue when.
func TestLockGivenUp(t *testing.T) {
	for _, tc := range []struct {
		name string
		play func(l *shardLock, first, second *queued)
	}{
		{"the first, while the lock is held", func(l *shardLock, first, second *queued) {
			require.False(t, l.leave(first))
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, called already", func(l *shardLock, first, second *queued) {
			l.unlock()
			require.False(t, l.leave(first))
			<-second.ready // called in its stead
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, called, with the lock taken again", func(l *shardLock, first, second *queued) {
			l.unlock()
			l.lock()
			require.False(t, l.leave(first))
			require.Empty(t, second.ready)
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"the first, with the lock handed to it", func(l *shardLock, first, second *queued) {
			l.unlock()
			l.lock()
			<-first.ready
			require.False(t, l.claim(first))
			l.unlock()
			require.True(t, l.leave(first), "too late")
			l.unlock()
			<-second.ready
			require.True(t, l.claim(second))
			l.unlock()
		}},
		{"both, while the lock is held", func(l *shardLock, first, second *queued) {
			require.False(t, l.leave(second))
			require.False(t, l.leave(first))
			require.EqualValues(t, lockTaken, l.state.Load())
			l.unlock()
		}},
		{"both, with the first called", func(l *shardLock, first, second *queued) {
			l.unlock()
			require.False(t, l.leave(first))
			require.False(t, l.leave(second))
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

// TestLocksExclude has many callers of many sets, some of whom give up, and
// counts with plain variables what they do.
func TestLocksExclude(t *testing.T) {
	const callers, rounds = 12, 400
	s := New()
	var counters [NumShards]int // each protected by its shard
	var want [callers][NumShards]int
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			giveUp := make(chan struct{}, 1)
			for range rounds {
				set := ShardSet(0)
				switch r.IntN(8) {
				case 0:
					set = AllShards
				case 1, 2:
					set = ShardSet(r.Uint64() & r.Uint64() & r.Uint64())
				default:
					set = 1 << r.IntN(3) // few, so that they meet
				}
				select {
				case giveUp <- struct{}{}:
				default:
				}
				if r.IntN(2) == 0 {
					s.Lock(set)
				} else if !s.LockUnless(set, giveUp) {
					continue
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
	rest(t, s)
}

// TestAllShardsAreNotStarved: callers of single shards who never rest do not
// keep one who wants all of them out.
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
	rest(t, s)
}

// TestLockWithoutWaiting: the way of almost every command allocates nothing.
func TestLockWithoutWaiting(t *testing.T) {
	s := New()
	giveUp := make(chan struct{})
	require.Zero(t, testing.AllocsPerRun(100, func() {
		s.Lock(0b101)
		s.Unlock(0b101)
		s.LockUnless(0b101, giveUp)
		s.Unlock(0b101)
	}))
}

func BenchmarkLock(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		s := New()
		for b.Loop() {
			s.Lock(1)
			s.Unlock(1)
		}
	})
	b.Run("contended", func(b *testing.B) {
		s := New()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				s.Lock(1)
				s.Unlock(1)
			}
		})
	})
	b.Run("contended mutex", func(b *testing.B) {
		var mu sync.Mutex
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.Lock()
				mu.Unlock() //nolint:staticcheck // that is the comparison
			}
		})
	})
}
