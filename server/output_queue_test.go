package server

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQueueGrowsInBlocks checks that queued bytes are copied once, so that copying
// megabytes does not delay other clients.
func TestQueueGrowsInBlocks(t *testing.T) {
	for _, size := range []int{10, 10_000, 64_000, 1_000_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			const total = 16_000_000
			var before, after runtime.MemStats
			o := &output{transport: &scanty{}}
			var want bytes.Buffer
			reply := bytes.Repeat([]byte("0123456789"), size/10)
			runtime.ReadMemStats(&before)
			for range total / size {
				o.enqueue(reply)
			}
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(total*5/4))

			require.Equal(t, total, o.queued.bytes)
			for range total / size {
				want.Write(reply)
			}
			var got bytes.Buffer
			for _, p := range o.queued.parts {
				got.Write(p.bytes)
			}
			require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
		})
	}
}
