package pubsub

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store/alloc"
)

// TestSubscriptionsModel compares a Broker with sets of names under random commands of sessions that
// subscribe, end while others hold the lock, and are killed.
func TestSubscriptionsModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var total atomic.Int64
	topics := map[string]int{} // by the calls of Topic
	heard := false
	b := &Broker{
		Heard: func(on bool) { heard = on },
		Topic: func(kind Kind, name string, on bool) {
			if k := fmt.Sprint(kind, name); on {
				topics[k]++
			} else {
				topics[k]--
			}
		},
	}
	newSubscriber := func() *Subscriber {
		s := new(Subscriber)
		s.Mail.Init(&total)
		return s
	}
	subscribers := make([]*Subscriber, 6)
	model := make([][Kinds]map[string]bool, len(subscribers))
	reset := func(i int) {
		for kind := range Kinds {
			model[i][kind] = map[string]bool{}
		}
	}
	for i := range subscribers {
		subscribers[i] = newSubscriber()
		reset(i)
	}
	other := newSubscriber()
	for range 5000 {
		i, kind := rnd.IntN(len(subscribers)), Kind(rnd.IntN(int(Kinds)))
		s, n := subscribers[i], rnd.IntN(40)
		name := fmt.Sprint(n, strings.Repeat("n", n*5))
		switch rnd.IntN(12) {
		case 0: // RESET
			b.Unsubscribe(s)
			b.Release(s)
			reset(i)
		case 1: // it ends while another session holds the lock
			b.Acquire(other)
			b.Unsubscribe(s)
			require.Zero(t, s.Bytes())
			b.Release(other)
			subscribers[i] = newSubscriber()
			reset(i)
		case 2: // CLIENT KILL, and later it ends
			b.Killed(s)
			b.Acquire(other)
			b.Release(other)
			b.Unsubscribe(s)
			b.Release(s)
			subscribers[i] = newSubscriber()
			reset(i)
		case 3, 4, 5:
			b.Acquire(s)
			b.unsubscribe(s, kind, name)
			b.Release(s)
			delete(model[i][kind], name)
		default:
			b.Acquire(s)
			b.subscribe(s, kind, []byte(name))
			b.Release(s)
			model[i][kind][name] = true
		}
		b.Acquire(other)
		requireSubscriptions(t, b, subscribers, model)
		count := 0
		for _, n := range topics {
			require.Contains(t, []int{0, 1}, n)
			count += n
		}
		counts := b.Topics()
		require.Equal(t, counts[Channels]+counts[Patterns]+counts[ShardChannels], count)
		require.Equal(t, counts[Channels]+counts[Patterns] > 0, heard)
		b.Release(other)
	}
	for _, s := range subscribers {
		b.Unsubscribe(s)
		b.Release(s)
		require.Zero(t, s.Bytes())
	}
	require.Equal(t, [Kinds]int{}, b.Topics())
}

// requireSubscriptions checks both sides of each subscription, and what Bytes returns. The lock must be held.
func requireSubscriptions(
	t *testing.T, b *Broker, subscribers []*Subscriber, model [][Kinds]map[string]bool,
) {
	t.Helper()
	listed := [Kinds]int{}
	for i, s := range subscribers {
		want := int64(0)
		if s.topics != nil {
			want = alloc.Pointers(3*64 + 8)
		}
		counts := s.Counts()
		for kind := range Kinds {
			require.Len(t, model[i][kind], counts[kind])
			if s.topics == nil {
				continue
			}
			own := &s.topics.kinds[kind]
			want += own.TableBytes()
			for n := range own.All() {
				require.True(t, model[i][kind][n.Key()])
				require.Contains(t, n.Value.Value.subscribers, s)
				want += int64(n.Bytes()) - 8 + int64(n.Value.Bytes()) + 8
			}
			listed[kind] += own.Len()
		}
		require.Equal(t, want, s.Bytes())
	}
	named := [Kinds]int{}
	for kind := range Kinds {
		for n := range b.topics[kind].All() {
			to := n.Value.subscribers
			require.NotEmpty(t, to)
			require.LessOrEqual(t, cap(to), max(4*len(to)+3, 8), "it shrinks")
			named[kind] += len(to)
		}
	}
	require.Equal(t, listed, named)
}
