package replication

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A switchedWriter is a connection that Kill ends.
type switchedWriter struct {
	mu     sync.Mutex
	b      bytes.Buffer
	closed bool
}

func (w *switchedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, io.ErrClosedPipe
	}
	return w.b.Write(b)
}

func (w *switchedWriter) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// Everything may be called at once. The race detector and the end of the test are the judges.
func TestMasterConcurrently(t *testing.T) {
	var stream Stream
	stream.Init()
	stream.SetSize(1 << 16)
	var shards sync.Mutex // stands for the locks of the keyspace
	m := NewMaster(&stream, MasterOptions{
		Snapshot: func(w io.Writer, _ Part, _ <-chan struct{}, begin func() Position) error {
			shards.Lock()
			begin()
			shards.Unlock()
			_, err := io.WriteString(w, copyOf("keys"))
			return err
		},
		Activated: stream.Activate, Log: discard,
	})
	var now atomic.Int64
	now.Store(second)
	settings := MasterSettings{PingUs: second, TimeoutUs: 5 * second, HardBytes: 1 << 20}
	stop := make(chan struct{})
	var others, replicas sync.WaitGroup
	repeat := func(f func(i int)) {
		others.Go(func() {
			for i := 0; !isClosed(stop); i++ {
				f(i)
			}
		})
	}
	repeat(func(i int) {
		shards.Lock()
		stream.Append(groupOf(i%2, "SET a "+strconv.Itoa(i)))
		shards.Unlock()
	})
	repeat(func(int) { m.Tick(now.Add(second/10), settings) })
	repeat(func(i int) {
		m.Good(now.Load(), second)
		m.Acked(int64(i))
		m.Replicas()
		stream.Memory()
		if i%100 == 0 {
			shards.Lock()
			stream.Fork()
			m.KillAll()
			shards.Unlock()
		}
	})
	for i := range 8 {
		replicas.Go(func() {
			from := nowhere
			for range 20 {
				w := &switchedWriter{}
				r := m.PSYNC("peer", from, Said{EOF: i%2 == 0, PSYNC2: true}, now.Load(), 0, w.kill)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = r.WriteTo(w)
				}()
				for j := range int64(20) {
					m.Ack(r, j, now.Load())
					r.Status()
				}
				if i%3 == 0 {
					w.kill()
				}
				from = stream.Position()
				m.Remove(r)
				<-ended
			}
		})
	}
	replicas.Wait()
	close(stop)
	others.Wait()
	m.Close()
	require.Empty(t, m.Replicas())
	_, more := stream.Memory()
	require.Zero(t, more)
}
