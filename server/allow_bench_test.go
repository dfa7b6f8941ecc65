package server_test

import (
	"bufio"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/server"
)

// BenchmarkAllow is RL.ALLOW over loopback, 50 connections, 16 commands a
// pipeline. Its CPU profile is what cmd/zlimit-server is built with (make pgo).
func BenchmarkAllow(b *testing.B) {
	const clients, pipeline, lines = 50, 16, 6
	srv, err := server.Listen(server.Options{Config: config.New(), FreePort: true})
	require.NoError(b, err)
	go srv.Serve()
	defer srv.Close()
	var all sync.WaitGroup
	for client := range clients {
		nc, err := net.Dial("tcp", srv.Addr().String())
		require.NoError(b, err)
		defer nc.Close()
		var batch []byte
		for i := range pipeline {
			key := fmt.Sprintf("key:%012d", (client*7919+i*31)%10000)
			batch = fmt.Appendf(batch, "*4\r\n$8\r\nRL.ALLOW\r\n$%d\r\n%s\r\n$7\r\n1000000\r\n$5\r\n60000\r\n", len(key), key)
		}
		all.Go(func() {
			replies := bufio.NewReaderSize(nc, 1<<16)
			for range b.N / clients / pipeline {
				if _, err := nc.Write(batch); err != nil {
					b.Error(err)
					return
				}
				for range pipeline * lines {
					if _, err := replies.ReadSlice('\n'); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
