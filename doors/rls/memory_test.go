package rls

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	enginetime "github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/engine"
)

const onePolicy = `
domain: edge
descriptors:
  - key: ip
    rate_limit: {unit: minute, requests_per_unit: 3}
`

// largeMessage is a request of 100 descriptors of 30 entries, 48 KB.
func largeMessage() (message []byte) {
	var entry, descriptor []byte
	entry = protowire.AppendBytes(protowire.AppendTag(entry, 1, protowire.BytesType), []byte("ip"))
	entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), []byte("10.0.0.1"))
	for range 30 {
		descriptor = protowire.AppendBytes(protowire.AppendTag(descriptor, 1, protowire.BytesType), entry)
	}
	message = protowire.AppendBytes(protowire.AppendTag(message, 1, protowire.BytesType), []byte("edge"))
	for range 100 {
		message = protowire.AppendBytes(protowire.AppendTag(message, 2, protowire.BytesType), descriptor)
	}
	return message
}

// TestSessionsForgetLargeRequests: a session that is kept holds less than 32 KB, whatever it has decided.
func TestSessionsForgetLargeRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.yaml")
	require.NoError(t, os.WriteFile(path, []byte(onePolicy), 0o600))
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs([]string{"--rl-policies", path}, nil))
	now := func() int64 { return 1_700_000_000_000_000 }
	e := engine.New(engine.Options{
		Config: cfg, Clock: enginetime.New(enginetime.Sources{Monotonic: now, Wall: now}),
	})
	require.NoError(t, e.LoadFiles())
	access := doors.Access{Engine: e, Ending: make(chan struct{}), Peer: func(addr string) engine.Peer {
		return engine.Peer{Addr: addr, FD: -1}
	}}
	held := func(keep bool) int64 {
		kept := sessions{}
		before := heap()
		for range maxIdle {
			client, err := access.Login(doors.Credentials{Addr: "192.0.2.1:5000"})
			require.NoError(t, err)
			s := &session{client: client}
			require.NoError(t, s.decide(largeMessage()))
			if keep {
				kept.idle = append(kept.idle, s)
				continue
			}
			require.Empty(t, kept.release(s))
		}
		after := heap()
		kept.close()
		return (after - before) / maxIdle
	}
	require.Less(t, held(false), int64(32<<10))
	require.Greater(t, held(true), int64(128<<10), "the measure sees what is not forgotten")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
