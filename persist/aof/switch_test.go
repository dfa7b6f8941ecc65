package aof_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// TestWaitEndsAfterASwitch: whoever waits under one policy is released although another came into force while
// the disk was busy.
func TestWaitEndsAfterASwitch(t *testing.T) {
	names := map[aof.Policy]string{aof.Always: "always", aof.EverySec: "everysec", aof.No: "no"}
	for from := range names {
		for to := range names {
			t.Run(fmt.Sprintf("%s to %s", names[from], names[to]), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var policy atomic.Uint32
					policy.Store(uint32(from))
					on := crashdisk.New(1)
					log, err := aof.Open(aof.Options{
						FS: on.FS(), Policy: func() aof.Policy { return aof.Policy(policy.Load()) },
					}, &aof.Loaded{}, false, nothing)
					require.NoError(t, err)
					busy := make(chan struct{})
					on.Hook(func(op crashdisk.Op) crashdisk.Fault {
						if op.Kind == crashdisk.Write {
							<-busy
						}
						return crashdisk.Fault{}
					})
					end := log.Append(group(0, "SET a 1"), 1)
					done := make(chan error, 1)
					go func() { done <- log.Wait(end, nil) }()
					synctest.Wait()
					policy.Store(uint32(to))
					close(busy)
					synctest.Wait()
					select {
					case err := <-done:
						require.NoError(t, err)
					default:
						t.Error("nobody ends the wait")
					}
					require.NoError(t, log.Close())
				})
			})
		}
	}
}
