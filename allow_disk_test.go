package zlimit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// openOnBlockedDisk returns a Limiter whose append-only log waits in an operation of the given kind until
// release is called, and a channel that is closed when it starts to wait.
func openOnBlockedDisk(
	t *testing.T, fsync string, kind crashdisk.Kind,
) (l *zlimit.Limiter, blocked <-chan struct{}, release func()) {
	t.Helper()
	d := crashdisk.New(1)
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs([]string{"--appendonly", "yes", "--appendfsync", fsync}, nil))
	e := engine.New(engine.Options{Config: cfg, Clock: zlimit.SystemClock(), Disk: d.FS()})
	require.NoError(t, e.Open())
	require.NoError(t, e.Load(func() {}))
	l = zlimit.Over(e)

	began, released := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == kind && strings.Contains(op.Name, "incr") {
			once.Do(func() { close(began) })
			<-released
		}
		return crashdisk.Fault{}
	})
	release = sync.OnceFunc(func() { close(released) })
	t.Cleanup(func() {
		release()
		require.NoError(t, l.Close())
		require.NoError(t, e.Close())
	})
	return l, began, release
}

// waitContext is a Context that signals when Done is called.
type waitContext struct {
	context.Context
	waits chan struct{}
}

func (c waitContext) Done() <-chan struct{} {
	c.waits <- struct{}{}
	return c.Context.Done()
}

func newWaitContext(t *testing.T) (c waitContext, cancel func()) {
	t.Helper()
	inner, cancel := context.WithCancel(t.Context())
	return waitContext{inner, make(chan struct{})}, cancel
}

// A canceled context ends a call that waits for a sync, even if more calls wait than there are pooled
// sessions.
func TestAllowCanceledDuringSync(t *testing.T) {
	l, blocked, release := openOnBlockedDisk(t, "always", crashdisk.Sync)
	quota := zlimit.Quota{Limit: 1000, Window: time.Hour}
	ctx, cancel := newWaitContext(t)
	const calls = 500
	failed := make(chan error, calls)
	for range calls {
		go func() {
			_, err := l.Allow(ctx, "user:42", quota, 1)
			failed <- err
		}()
	}
	for range calls {
		<-ctx.waits
	}
	<-blocked
	cancel()
	for range calls {
		require.ErrorIs(t, <-failed, context.Canceled)
	}
	_, err := l.Allow(ctx, "user:42", quota, 1)
	require.ErrorIs(t, err, context.Canceled, "not even begun")
	_, err = l.Do(ctx, "PING")
	require.ErrorIs(t, err, context.Canceled)

	release()
	d, err := l.Allow(t.Context(), "user:42", quota, 1)
	require.NoError(t, err)
	require.Equal(t, int64(1), d.Allowed)
}

// A canceled context ends a call for which the log has no space. Such a call takes no units.
func TestAllowCanceledWithoutSpace(t *testing.T) {
	l, blocked, release := openOnBlockedDisk(t, "no", crashdisk.Write)
	large := strings.Repeat("x", 70<<20) // more than the log buffers
	_, err := l.Do(t.Context(), "SET", "large", large)
	require.NoError(t, err)
	<-blocked

	quota := zlimit.Quota{Limit: 10, Window: time.Hour}
	ctx, cancel := newWaitContext(t)
	failed := make(chan error, 2)
	go func() {
		_, err := l.Allow(ctx, "user:42", quota, 1)
		failed <- err
	}()
	go func() {
		_, err := l.Do(ctx, "SET", "k", "v")
		failed <- err
	}()
	<-ctx.waits
	<-ctx.waits
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.ErrorIs(t, <-failed, context.Canceled)
	got, err := l.Do(t.Context(), "EXISTS", "user:42", "k")
	require.NoError(t, err)
	require.Equal(t, int64(0), got)

	go release()
	d, err := l.Allow(t.Context(), "user:42", quota, 1)
	require.NoError(t, err)
	require.Equal(t, int64(9), d.Remaining)
}
